//! A broker to test against, and what tests need around it. Nothing here waits for time to pass: only for conditions,
//! with bounds wide enough for a loaded machine.

#[path = "../support/mod.rs"]
mod shared;

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::{CommittedOffset, ConnectionSettings, Feed, NewTopic, OffsetSpec, Plane, Ports};
use bezoar::consumer::{Assignment, ConsumerBuilder};
use bezoar::embedded::{Broker, BrokerBuilder};
use bezoar::policy::DeadLetterTopics;
use bezoar::record::{ProducerRecord, Record, TopicPartition};
use bezoar::replay::DeadLetter;
use bezoar::{Consumer, Delivery, Event, EventStream};
use tokio::time::timeout;

pub(crate) use shared::{hasty, within};

/// How long a condition may take that should hold soon.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The broker of a test: the embedded one, or the one that `KAFKA_BOOTSTRAP` names.
pub(crate) struct Cluster {
    embedded: Option<Broker>,
    pub(crate) bootstrap: String,
    pub(crate) ports: Ports,
    unique: String,
}

impl Cluster {
    /// The real broker where there is one, else an embedded one.
    pub(crate) async fn start() -> Self {
        match std::env::var("KAFKA_BOOTSTRAP") {
            Ok(bootstrap) => Self::at(&bootstrap).await,
            Err(_) => Self::embedded().await,
        }
    }

    /// An embedded broker, for tests that inject faults or lay down what no producer writes.
    pub(crate) async fn embedded() -> Self {
        Self::of(Broker::builder()).await
    }

    /// An embedded broker that is set up for a test.
    pub(crate) async fn of(builder: BrokerBuilder) -> Self {
        let broker = builder.start().await.unwrap();
        let bootstrap = broker.bootstrap();
        Self::connect(Some(broker), bootstrap).await
    }

    /// The real broker at an address.
    pub(crate) async fn at(bootstrap: &str) -> Self {
        Self::connect(None, bootstrap.to_owned()).await
    }

    async fn connect(embedded: Option<Broker>, bootstrap: String) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut settings = ConnectionSettings::new([&bootstrap]);
        settings.fetch_max_wait = Duration::from_millis(100);
        let ports = Plane::Native.connect(settings).await.unwrap();
        Self { embedded, bootstrap, ports, unique }
    }

    /// The embedded broker of a test that was started with one.
    pub(crate) fn broker(&self) -> &Broker {
        self.embedded.as_ref().expect("the test runs on an embedded broker")
    }

    /// A name that no other test or run uses.
    pub(crate) fn name(&self, base: &str) -> String {
        format!("{base}-{}", self.unique)
    }

    /// Creates a topic and returns its name.
    pub(crate) async fn topic(&self, base: &str, partitions: i32) -> String {
        let name = self.name(base);
        self.create(NewTopic::new(&name, partitions).replication(1)).await;
        name
    }

    pub(crate) async fn create(&self, topic: NewTopic) {
        let (name, partitions) = (topic.name.clone(), topic.partitions);
        self.ports.admin.create_topic(topic).await.unwrap();
        // A real broker needs a moment until its partitions have leaders.
        let last = TopicPartition::new(name, partitions - 1);
        eventually("a created topic can be read", async || {
            self.ports.admin.offset(last.clone(), OffsetSpec::Latest).await.is_ok()
        })
        .await;
    }

    /// Appends records to a partition, as one batch.
    pub(crate) async fn append(&self, topic: &str, partition: i32, records: Vec<ProducerRecord>) {
        let partition = TopicPartition::new(topic, partition);
        self.ports.produce.produce(partition, records).await.unwrap();
    }

    /// Appends records that have only values.
    pub(crate) async fn values(&self, topic: &str, partition: i32, values: impl IntoIterator<Item = impl ToString>) {
        let records = values.into_iter().map(|value| ProducerRecord::to(topic).value(value.to_string())).collect();
        self.append(topic, partition, records).await;
    }

    /// The offset that a group has committed.
    /// Lets a group start at the log's start, whatever its reset policy.
    pub(crate) async fn commit_start(&self, group: &str, topic: &str, partition: i32) {
        let partition = TopicPartition::new(topic, partition);
        let start = CommittedOffset { partition, offset: 0, metadata: String::new(), leader_epoch: None };
        self.ports.offsets.commit(group.to_owned(), vec![start]).await.unwrap()[0].clone().unwrap();
    }

    pub(crate) async fn committed(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        let partition = TopicPartition::new(topic, partition);
        let mut committed = self.ports.offsets.fetch(group.to_owned(), vec![partition]).await.unwrap();
        committed.pop().flatten().map(|committed| committed.offset)
    }

    /// Waits until a group has committed exactly this offset.
    pub(crate) async fn until_committed(&self, group: &str, topic: &str, partition: i32, offset: i64) {
        eventually(&format!("{group} commits {offset} for {topic}/{partition}"), async || {
            self.committed(group, topic, partition).await == Some(offset)
        })
        .await;
    }

    /// All records of a topic, partition by partition.
    pub(crate) async fn read(&self, topic: &str) -> Vec<Record> {
        let found = self.ports.admin.topics(vec![topic.to_owned()]).await.unwrap().pop().flatten();
        let mut records = Vec::new();
        for partition in 0..found.map_or(0, |topic| topic.partitions) {
            records.extend(self.read_partition(&TopicPartition::new(topic, partition)).await);
        }
        records
    }

    async fn read_partition(&self, partition: &TopicPartition) -> Vec<Record> {
        let start = self.ports.admin.offset(partition.clone(), OffsetSpec::Earliest).await.unwrap();
        let end = self.ports.admin.offset(partition.clone(), OffsetSpec::Latest).await.unwrap();
        let feed = Arc::new(Feed::new(partition.clone(), 64 << 20, |_| {}));
        let (mut records, mut position) = (Vec::new(), start);
        self.ports.source.add(partition.clone(), None, start, Arc::clone(&feed));
        while position < end {
            eventually("what lies in a topic is read", async || feed.front().is_some()).await;
            let batch = feed.front().unwrap();
            position = batch.next_offset();
            records.extend(batch.iter());
            feed.pop_front();
        }
        self.ports.source.remove(partition);
        feed.close();
        records
    }

    /// All dead letters of a topic.
    pub(crate) async fn dead_letters(&self, topic: &str) -> Vec<DeadLetter> {
        let records = self.read(topic).await;
        let letter = |record: Record| DeadLetter::from_record(&record);
        records.into_iter().map(letter).collect()
    }

    /// A consumer with waits short enough for a test, one dead-letter topic, and answers awaited briefly.
    pub(crate) fn consumer(&self, group: &str) -> ConsumerBuilder {
        // Tests drop consumers and start others at once: members would wait for the session of those that did not leave.
        Consumer::builder(group)
            .bootstrap(&self.bootstrap)
            .assignment(Assignment::Manual)
            .policies(hasty())
            .dead_letter_topics(DeadLetterTopics::single())
            .commit_interval(Duration::from_millis(20))
            .fetch_max_wait(Duration::from_millis(100))
    }
}

/// Waits until `condition` holds.
pub(crate) async fn eventually(what: &str, condition: impl AsyncFn() -> bool) {
    within(SOON, what, condition).await;
}

/// Awaits something that should come soon.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.unwrap_or_else(|_| panic!("within {SOON:?}: {what}"))
}

/// Waits for an event that `wanted` finds something in.
pub(crate) async fn event<T>(events: &mut EventStream, what: &str, wanted: impl Fn(&Event) -> Option<T>) -> T {
    let found = async {
        loop {
            let event = events.next().await.unwrap_or_else(|| panic!("the events end before: {what}"));
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    };
    soon(what, found).await
}

/// One delivery, as a handler saw it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) attempt: u32,
}

/// What handlers saw, in the order in which they saw it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<Seen>>>);

impl Journal {
    pub(crate) fn note(&self, delivery: &Delivery) {
        let (partition, offset, attempt) = (delivery.partition(), delivery.offset(), delivery.attempt());
        self.0.lock().unwrap().push(Seen { partition, offset, attempt });
    }

    pub(crate) fn all(&self) -> Vec<Seen> {
        self.0.lock().unwrap().clone()
    }

    /// The deliveries of one partition: offset and attempt.
    pub(crate) fn of(&self, partition: i32) -> Vec<(i64, u32)> {
        let seen = self.0.lock().unwrap();
        seen.iter().filter(|seen| seen.partition == partition).map(|seen| (seen.offset, seen.attempt)).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Checks the order of one ownership: first attempts ascend strictly, and a retry repeats the offset before it.
    pub(crate) fn assert_in_order(&self) {
        let partitions: BTreeSet<i32> = self.all().iter().map(|seen| seen.partition).collect();
        for partition in partitions {
            for pair in self.of(partition).windows(2) {
                let ((before, attempt_before), (offset, attempt)) = (pair[0], pair[1]);
                let next = offset > before && attempt == 1;
                let retry = offset == before && attempt == attempt_before + 1;
                assert!(next || retry, "partition {partition}: {pair:?}");
            }
        }
    }
}
