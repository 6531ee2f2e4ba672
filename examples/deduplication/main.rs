//! Payments that are made once, though Kafka delivers at least once: a unique key in the same database transaction.
//!
//! The handler ([`payments.rs`](./payments.rs)) opens a transaction, inserts a key for the delivery's record into the table `handled`,
//! pays only if that inserted a row, and commits ([`database.rs`](./database.rs)). So neither a handler that fails after its commit, nor
//! a crash before the offsets are committed, nor the replay of a dead letter pays twice. `docs/deduplication.md` says which key to
//! take when.
//!
//! It needs a PostgreSQL server, which `DATABASE_URL` names: `scripts/postgres start` starts a private one and prints its URL. It
//! works in a schema of its own there, which it removes in the end. Runs on the embedded broker; set `KAFKA_BOOTSTRAP` to run
//! it on a Kafka of yours, where it refuses to start if its topics or its group exist already, and removes what it made.

mod database;
mod error;
mod key;
mod payments;

use std::error::Error;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bezoar::broker::{ConnectionSettings, NewTopic, Plane, Ports};
use bezoar::consumer::Assignment;
use bezoar::embedded::Broker;
use bezoar::policy::{Backoff, DeadLetterTopics, Policies};
use bezoar::producer::Producer;
use bezoar::record::ProducerRecord;
use bezoar::replay::{DeadLetters, Filter, ReplayOptions, Selection};
use bezoar::{Consumer, Delivery, FactoryContext, Json, factory_fn};

use database::{Database, Postgres};
use error::ReceiptError;
use key::KeyBy;
use payments::{Order, Paid, Payments, Receipts};

const GROUP: &str = "payments";
const ORDERS: &str = "orders";
const DEAD_LETTERS: &str = "orders.dlq";
const REPLAYS: &str = "orders.dlq.replays";
/// Far more than any step takes.
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("deduplication: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("DATABASE_URL").map_err(|_| {
        "DATABASE_URL is not set: it takes a PostgreSQL server. `scripts/postgres start` starts a private one and prints its URL:\n\
         DATABASE_URL=$(scripts/postgres start) cargo run --example deduplication"
    })?;
    let given = std::env::var("KAFKA_BOOTSTRAP").ok();
    // Kept until the end: dropping it stops it.
    let embedded = if given.is_none() { Some(Broker::start().await?) } else { None };
    let bootstrap = given.or_else(|| embedded.as_ref().map(Broker::bootstrap)).unwrap_or_default();
    let ports = Plane::Native.connect(ConnectionSettings::new([&bootstrap])).await?;
    refuse_if_anything_exists(&ports).await?;

    let database = Database::at(&url, &format!("bezoar_deduplication_{}", std::process::id()))
        .map_err(|error| format!("DATABASE_URL cannot be used: {error}"))?;
    database.create().await.map_err(|error| format!("cannot make tables in the database of DATABASE_URL: {error}"))?;
    let shop = Shop { bootstrap, ports, database, has_addresses: Arc::default() };
    let outcome = shop.demonstrate().await;
    let cleaned = shop.clean_up().await;
    outcome?;
    cleaned
}

struct Shop {
    bootstrap: String,
    ports: Ports,
    database: Database,
    /// Whether the customer of order A-3 has an address, which receipts need.
    has_addresses: Arc<AtomicBool>,
}

impl Shop {
    async fn demonstrate(&self) -> Result<(), Box<dyn Error>> {
        self.ports.admin.create_topic(NewTopic::new(ORDERS, 1).replication(1)).await?;

        println!("A consumer pays. Once its handler fails after the payment:");
        self.order(r#"{"id": "A-1", "cents": 1200}"#).await?;
        self.order(r#"{"id": "A-2", "cents": 800}"#).await?;
        // So rarely does this one commit its offsets that it has not when it ends.
        let consumer = self.start(KeyBy::Origin, Duration::from_secs(3600)).await?;
        in_time("the first orders", consumer.caught_up()).await?;
        drop(consumer);

        println!("It is gone, as after a crash, before it committed its offsets. Another begins where it began:");
        let consumer = self.start(KeyBy::Origin, Duration::from_secs(1)).await?;
        in_time("the same orders", consumer.caught_up()).await?;

        println!("A handler fails for good after the payment, so the order becomes a dead letter:");
        self.order(r#"{"id": "A-3", "cents": 500}"#).await?;
        in_time("the order that fails", consumer.caught_up()).await?;

        println!("The cause is mended, the dead letter replayed:");
        self.has_addresses.store(true, Ordering::Release);
        let letters = DeadLetters::new(self.ports.clone(), [DEAD_LETTERS]);
        let all = Selection::Matching(Filter::default());
        let report = letters.replay(&all, &ReplayOptions::default(), |_| {}).await?;
        in_time("the replayed order", consumer.caught_up()).await?;
        println!("  replayed: {}", report.success);
        consumer.shutdown().await?;

        println!("A sender that got no answer sends an order twice: two records, so here the order is the key:");
        self.order(r#"{"id": "A-4", "cents": 700}"#).await?;
        self.order(r#"{"id": "A-4", "cents": 700}"#).await?;
        let consumer = self.start(KeyBy::Order, Duration::from_secs(1)).await?;
        in_time("the order that was sent twice", consumer.caught_up()).await?;
        consumer.shutdown().await?;

        println!("What was paid, by the database:");
        for (order, cents) in self.database.payments().await? {
            println!("  order {order}: {cents} cents");
        }
        Ok(())
    }

    async fn order(&self, order: &'static str) -> Result<(), Box<dyn Error>> {
        let producer = Producer::new(self.ports.clone(), tokio::runtime::Handle::current());
        producer.send(ProducerRecord::to(ORDERS).value(order)).await?;
        Ok(())
    }

    async fn start(&self, key_by: KeyBy, commit_interval: Duration) -> Result<Consumer, Box<dyn Error>> {
        let (database, receipts) = (self.database.clone(), self.receipts());
        // A connection per partition, on the runtime that all of them share.
        let payments = factory_fn(move |context: FactoryContext| {
            let (database, receipts) = (database.clone(), receipts.clone());
            async move {
                let ledger = Postgres::connect(database, context.runtime()).await?;
                Ok(Payments::new(ledger, key_by, receipts, Duration::from_secs(15)))
            }
        });
        let soon = Backoff::fixed(Duration::from_millis(50));
        let consumer = Consumer::builder(GROUP)
            .bootstrap(&self.bootstrap)
            // A member that crashed would have to be missed first.
            .assignment(Assignment::Manual)
            .policies(Policies::default().with_each(|_, policy| policy.backoff(soon)))
            .dead_letter_topics(DeadLetterTopics::single())
            .commit_interval(commit_interval)
            .topic(ORDERS, Json, payments)
            .start()
            .await?;
        Ok(consumer)
    }

    /// Receipts that say what they see. That of order A-2 fails at its first attempt, that of A-3 for want of an address.
    fn receipts(&self) -> Receipts {
        let has_addresses = Arc::clone(&self.has_addresses);
        Arc::new(move |order: &Order, delivery: &Delivery, paid: Paid| {
            let outcome = match order.id.as_str() {
                "A-2" if paid == Paid::Now => Err(ReceiptError::Busy),
                "A-3" if !has_addresses.load(Ordering::Acquire) => Err(ReceiptError::NoAddress),
                _ => Ok(()),
            };
            let paid = match paid {
                Paid::Now => "is paid for",
                Paid::Before => "was paid for already",
            };
            let receipt = match &outcome {
                Ok(()) => "receipt sent".to_owned(),
                Err(error) => format!("no receipt: {error}"),
            };
            println!("  {}, attempt {}: order {} {paid}, {receipt}", delivery.id(), delivery.attempt(), order.id);
            outcome
        })
    }

    async fn clean_up(&self) -> Result<(), Box<dyn Error>> {
        let group = self.ports.offsets.delete_group(GROUP.into()).await;
        let topics = [ORDERS, DEAD_LETTERS, REPLAYS].map(str::to_owned).to_vec();
        let topics = self.ports.admin.delete_topics(topics).await;
        self.database.remove().await?;
        topics?;
        Ok(group?)
    }
}

async fn in_time(what: &str, future: impl Future<Output = ()>) -> Result<(), String> {
    tokio::time::timeout(LIMIT, future).await.map_err(|_| format!("{what} were not settled within {LIMIT:?}"))
}

/// The topics and the group could be somebody's: nothing is touched then.
async fn refuse_if_anything_exists(ports: &Ports) -> Result<(), Box<dyn Error>> {
    let topics = ports.admin.topics([ORDERS, DEAD_LETTERS, REPLAYS].map(str::to_owned).to_vec()).await?;
    if let Some(topic) = topics.into_iter().flatten().next() {
        return Err(format!("topic {:?} exists already; this demonstration would mix with it", topic.name).into());
    }
    if ports.offsets.group_exists(GROUP.into()).await? {
        return Err(format!("group {GROUP:?} exists already; this demonstration would mix with it").into());
    }
    Ok(())
}
