//! A topic of orders, and consumers that pay for them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::{ConnectionSettings, Feed, NewTopic, OffsetSpec, Plane, Ports};
use bezoar::consumer::{Assignment, ConsumerBuilder};
use bezoar::embedded::Broker;
use bezoar::policy::{Backoff, DeadLetterTopics, Policies};
use bezoar::record::{ProducerRecord, Record, TopicPartition};
use bezoar::{Consumer, Delivery, FactoryContext, HandlerFactory, Json, factory_fn};

use crate::error::ReceiptError;
use crate::key::KeyBy;
use crate::ledgers::{AnyLedger, Books};
use crate::payments::{Order, Paid, Payments, Receipts};

/// Far more than anything here takes, even on a machine that is busy.
pub(crate) const SOON: Duration = Duration::from_secs(90);

pub(crate) struct Shop {
    // Dropping it stops it.
    _embedded: Option<Broker>,
    pub(crate) bootstrap: String,
    pub(crate) ports: Ports,
    pub(crate) orders: String,
}

impl Shop {
    /// A topic of orders with as many partitions, on the broker of the tests.
    pub(crate) async fn open(partitions: i32) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let given = std::env::var("KAFKA_BOOTSTRAP").ok();
        let embedded = if given.is_none() { Some(Broker::start().await.unwrap()) } else { None };
        let bootstrap = given.unwrap_or_else(|| embedded.as_ref().unwrap().bootstrap());
        let ports = connect(&bootstrap).await;
        let orders = format!("orders-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        ports.admin.create_topic(NewTopic::new(&orders, partitions).replication(1)).await.unwrap();
        let shop = Self { _embedded: embedded, bootstrap, ports, orders };
        // A real broker needs a moment until its partitions have leaders.
        for partition in 0..partitions {
            let partition = shop.partition(partition);
            until("a created topic can be read", async || {
                shop.ports.admin.offset(partition.clone(), OffsetSpec::Latest).await.is_ok()
            })
            .await;
        }
        shop
    }

    /// Ports of their own.
    pub(crate) async fn connect(&self) -> Ports {
        connect(&self.bootstrap).await
    }

    pub(crate) fn partition(&self, partition: i32) -> TopicPartition {
        TopicPartition::new(self.orders.as_str(), partition)
    }

    /// The consumers' group.
    pub(crate) fn group(&self) -> String {
        format!("{}-payments", self.orders)
    }

    /// The topic of dead letters.
    pub(crate) fn dead_letters(&self) -> String {
        format!("{}.dlq", self.orders)
    }

    /// Sends orders to partition 0, each for 100 cents.
    pub(crate) async fn order(&self, ids: &[&str]) {
        let record = |id: &&str| ProducerRecord::to(self.orders.as_str()).value(order(id));
        self.send(0, ids.iter().map(record).collect()).await;
    }

    pub(crate) async fn send(&self, partition: i32, records: Vec<ProducerRecord>) {
        self.ports.produce.produce(self.partition(partition), records).await.unwrap();
    }

    /// A consumer with short waits, and what its handlers do.
    pub(crate) fn consumer(&self) -> ConsumerBuilder {
        Consumer::builder(self.group())
            .bootstrap(&self.bootstrap)
            .assignment(Assignment::Manual)
            .policies(
                Policies::default().with_each(|_, policy| policy.backoff(Backoff::fixed(Duration::from_millis(1)))),
            )
            .dead_letter_topics(DeadLetterTopics::single())
            .commit_interval(Duration::from_millis(20))
            .fetch_max_wait(Duration::from_millis(100))
    }

    /// Starts a consumer that pays.
    pub(crate) async fn pay(
        &self,
        builder: ConsumerBuilder,
        books: &Books,
        key_by: KeyBy,
        receipts: Receipts,
    ) -> Consumer {
        builder.topic(&self.orders, Json, payments(books, key_by, receipts, SOON)).start().await.unwrap()
    }

    /// How many orders in the first `partitions` partitions the group has committed.
    pub(crate) async fn committed(&self, partitions: i32) -> usize {
        let partitions = (0..partitions).map(|partition| self.partition(partition)).collect();
        let committed = self.ports.offsets.fetch(self.group(), partitions).await.unwrap();
        committed.into_iter().flatten().map(|committed| usize::try_from(committed.offset).unwrap()).sum()
    }

    /// All records of a topic's first partition.
    pub(crate) async fn read(&self, topic: &str) -> Vec<Record> {
        let partition = TopicPartition::new(topic, 0);
        let start = self.ports.admin.offset(partition.clone(), OffsetSpec::Earliest).await.unwrap();
        let end = self.ports.admin.offset(partition.clone(), OffsetSpec::Latest).await.unwrap();
        let feed = Arc::new(Feed::new(partition.clone(), 64 << 20, |_| {}));
        let (mut records, mut position) = (Vec::new(), start);
        self.ports.source.add(partition.clone(), None, start, Arc::clone(&feed));
        while position < end {
            until("what lies in a topic is read", async || feed.front().is_some()).await;
            let batch = feed.front().unwrap();
            position = batch.next_offset();
            records.extend(batch.iter());
            feed.pop_front();
        }
        self.ports.source.remove(&partition);
        feed.close();
        records
    }
}

async fn connect(bootstrap: &str) -> Ports {
    let mut settings = ConnectionSettings::new([bootstrap]);
    settings.fetch_max_wait = Duration::from_millis(100);
    Plane::Native.connect(settings).await.unwrap()
}

/// An order as it is sent.
pub(crate) fn order(id: &str) -> String {
    format!(r#"{{"id": "{id}", "cents": 100}}"#)
}

/// Handlers that pay from `books`.
pub(crate) fn payments(
    books: &Books,
    key_by: KeyBy,
    receipts: Receipts,
    patience: Duration,
) -> impl HandlerFactory<Handler = Payments<AnyLedger>> + use<> {
    let books = books.clone();
    factory_fn(move |context: FactoryContext| {
        let (books, receipts) = (books.clone(), Arc::clone(&receipts));
        async move { Ok(Payments::new(books.open(&context).await?, key_by, receipts, patience)) }
    })
}

/// Receipts that note what they are for, and may fail.
#[derive(Clone, Default)]
pub(crate) struct Noted(Arc<Mutex<BTreeMap<String, Vec<Paid>>>>);

impl Noted {
    /// Receipts that all work.
    pub(crate) fn all(&self) -> Receipts {
        self.unless(|_, _, _| None)
    }

    /// Receipts that fail with what `fails` says.
    pub(crate) fn unless(
        &self,
        fails: impl Fn(&Order, &Delivery, Paid) -> Option<ReceiptError> + Send + Sync + 'static,
    ) -> Receipts {
        let noted = Arc::clone(&self.0);
        Arc::new(move |order: &Order, delivery: &Delivery, paid: Paid| {
            noted.lock().unwrap().entry(order.id.clone()).or_default().push(paid);
            fails(order, delivery, paid).map_or(Ok(()), Err)
        })
    }

    /// What deliveries of an order found, in their order.
    pub(crate) fn of(&self, order: &str) -> Vec<Paid> {
        self.0.lock().unwrap().get(order).cloned().unwrap_or_default()
    }
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let held = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon(what, held).await;
}

/// Awaits something that should come soon.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.unwrap_or_else(|_| panic!("within {SOON:?}: {what}"))
}
