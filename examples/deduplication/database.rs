use std::error::Error;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_postgres::{Client, Config, NoTls};

use super::error::PayError;
use super::key::Key;
use super::payments::{Ledger, Order, Paid};

/// A database with the tables of `schema.sql`, in a PostgreSQL schema of its own.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    config: Config,
    schema: String,
}

impl Database {
    /// The database at `url`, such as `postgres://user:password@host:5432/name`. Nothing is connected to yet.
    pub(crate) fn at(url: &str, schema: &str) -> Result<Self, tokio_postgres::Error> {
        let mut config: Config = url.parse()?;
        config.connect_timeout(Duration::from_secs(10)).application_name(schema);
        // A transaction that hangs (of a process that was suspended, say) must not hold a key for ever. Both are shorter than
        // what a handler waits for.
        config
            .options(format!("-c search_path={schema} -c lock_timeout=5s -c idle_in_transaction_session_timeout=10s"));
        Ok(Self { config, schema: schema.to_owned() })
    }

    /// Connects. All of it happens on `runtime`: a socket belongs to the runtime that it was opened on, and on a partition's
    /// lane it would stand still with any handler that blocks its thread.
    pub(crate) async fn connect(&self, runtime: &Handle) -> Result<Client, PayError> {
        let config = self.config.clone();
        let connecting = runtime.spawn(async move {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(async move {
                // The client says so too, when it is used next.
                if let Err(error) = connection.await {
                    tracing::warn!("the connection to the payments database ended: {error}");
                }
            });
            Ok(client)
        });
        connecting.await?
    }

    /// Makes the schema and its tables.
    pub(crate) async fn create(&self) -> Result<(), Box<dyn Error>> {
        let client = self.connect(&Handle::current()).await?;
        client.batch_execute(&format!("CREATE SCHEMA {}; {}", self.schema, include_str!("schema.sql"))).await?;
        Ok(())
    }

    /// Removes the schema with all that is in it.
    pub(crate) async fn remove(&self) -> Result<(), Box<dyn Error>> {
        let client = self.connect(&Handle::current()).await?;
        client.batch_execute(&format!("DROP SCHEMA {} CASCADE", self.schema)).await?;
        Ok(())
    }

    /// All payments that were made, in the order in which they were made.
    pub(crate) async fn payments(&self) -> Result<Vec<(String, i64)>, Box<dyn Error>> {
        let client = self.connect(&Handle::current()).await?;
        let rows = client.query("SELECT order_id, cents FROM payments ORDER BY id", &[]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }
}

/// Payments in a database, over a connection of one handler's own.
pub(crate) struct Postgres {
    database: Database,
    runtime: Handle,
    /// `None` after a payment that was given up in the middle: what its connection is doing is not known.
    client: Option<Client>,
}

impl Postgres {
    /// Connects, so that a handler is made only where the database answers. What is told to a factory has the runtime.
    pub(crate) async fn connect(database: Database, runtime: &Handle) -> Result<Self, PayError> {
        let client = Some(database.connect(runtime).await?);
        Ok(Self { database, runtime: runtime.clone(), client })
    }
}

impl Ledger for Postgres {
    async fn pay_once(&mut self, key: &Key, order: &Order) -> Result<Paid, PayError> {
        let mut client = match self.client.take() {
            Some(client) if !client.is_closed() => client,
            _ => self.database.connect(&self.runtime).await?,
        };
        let paid = pay_once(&mut client, key.to_string(), order).await;
        self.client = Some(client);
        paid
    }
}

pub(crate) async fn pay_once(client: &mut Client, key: String, order: &Order) -> Result<Paid, PayError> {
    let now = format!("{} for {} cents", order.id, order.cents);
    // Dropped without a commit, it is rolled back.
    let transaction = client.transaction().await?;
    // If another transaction has inserted the same key, this waits until it is over.
    let insert = "INSERT INTO handled (effect, key, content) VALUES ('payment', $1, $2) ON CONFLICT DO NOTHING";
    if transaction.execute(insert, &[&key, &now]).await? == 0 {
        let select = "SELECT content FROM handled WHERE effect = 'payment' AND key = $1";
        let before: String = transaction.query_one(select, &[&key]).await?.get(0);
        return if before == now { Ok(Paid::Before) } else { Err(PayError::Differs { key, before, now }) };
    }
    let pay = "INSERT INTO payments (order_id, cents) VALUES ($1, $2)";
    transaction.execute(pay, &[&order.id, &order.cents]).await?;
    transaction.commit().await?;
    Ok(Paid::Now)
}
