//! Ledgers to pay from: one in memory, and one in PostgreSQL where there is a server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bezoar::FactoryContext;

use crate::database::{Database, Postgres};
use crate::error::PayError;
use crate::key::Key;
use crate::payments::{Ledger, Order, Paid};

/// Where the payments of one test are kept, whoever makes them.
#[derive(Clone)]
pub(crate) enum Books {
    Memory(Memory),
    Postgres(Box<Database>),
}

impl Books {
    /// One of each kind that there is.
    pub(crate) async fn of_each_kind() -> Vec<Self> {
        let mut books = vec![Self::Memory(Memory::default())];
        books.extend(postgres().await.map(Self::from));
        books
    }

    pub(crate) async fn open(&self, context: &FactoryContext) -> Result<AnyLedger, PayError> {
        Ok(match self {
            Self::Memory(memory) => AnyLedger::Memory(memory.clone()),
            Self::Postgres(database) => {
                let ledger = Postgres::connect((**database).clone(), context.runtime()).await?;
                AnyLedger::Postgres(Box::new(ledger))
            }
        })
    }

    /// The orders that were paid for, each as often as it was, in alphabetical order.
    pub(crate) async fn paid(&self) -> Vec<String> {
        let payments = match self {
            Self::Memory(memory) => memory.0.lock().unwrap().payments.clone(),
            Self::Postgres(database) => database.payments().await.unwrap(),
        };
        let mut paid: Vec<String> = payments.into_iter().map(|(order, _)| order).collect();
        paid.sort();
        paid
    }

    pub(crate) async fn close(self) {
        if let Self::Postgres(database) = self {
            database.remove().await.unwrap();
        }
    }
}

impl From<Database> for Books {
    fn from(database: Database) -> Self {
        Self::Postgres(Box::new(database))
    }
}

/// The server's address, where one is there to test with.
pub(crate) fn server() -> Option<String> {
    let url = std::env::var("DATABASE_URL").ok();
    if url.is_none() {
        println!("PostgreSQL skipped: it takes DATABASE_URL (see scripts/postgres)");
    }
    url
}

/// Tables of their own, where there is a server.
pub(crate) async fn postgres() -> Option<Database> {
    let database = Database::at(&server()?, &schema()).unwrap();
    database.create().await.unwrap();
    Some(database)
}

/// The name of a schema that no other test uses.
pub(crate) fn schema() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("deduplication_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// What a database would do, as far as the recipe relies on it: both inserts or none, and the key once.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Tables>>);

#[derive(Default)]
struct Tables {
    handled: BTreeMap<String, String>,
    payments: Vec<(String, i64)>,
}

impl Ledger for Memory {
    async fn pay_once(&mut self, key: &Key, order: &Order) -> Result<Paid, PayError> {
        let mut tables = self.0.lock().unwrap();
        let (key, now) = (key.to_string(), format!("{} for {} cents", order.id, order.cents));
        match tables.handled.get(&key).cloned() {
            Some(before) if before == now => Ok(Paid::Before),
            Some(before) => Err(PayError::Differs { key, before, now }),
            None => {
                tables.handled.insert(key, now);
                tables.payments.push((order.id.clone(), order.cents));
                Ok(Paid::Now)
            }
        }
    }
}

/// A ledger of either kind.
pub(crate) enum AnyLedger {
    Memory(Memory),
    Postgres(Box<Postgres>),
}

impl Ledger for AnyLedger {
    async fn pay_once(&mut self, key: &Key, order: &Order) -> Result<Paid, PayError> {
        match self {
            Self::Memory(memory) => memory.pay_once(key, order).await,
            Self::Postgres(postgres) => postgres.pay_once(key, order).await,
        }
    }
}
