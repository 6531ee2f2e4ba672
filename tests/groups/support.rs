//! What all trials stand on: a broker, topics, and waiting for conditions with bounds wide enough for a loaded machine.

#[path = "../support/mod.rs"]
mod shared;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bezoar::broker::{CommittedOffset, ConnectionSettings, Feed, NewTopic, OffsetSpec, Plane, Ports};
use bezoar::record::{ProducerRecord, Record, TopicPartition};

pub(crate) use shared::{hasty, within};

/// How long a condition may take that should hold soon.
pub(crate) const SOON: Duration = Duration::from_secs(120);

/// Trials start processes and take seconds of two cores: only one runs at a time.
static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

pub(crate) async fn turn() -> tokio::sync::MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().await
}

/// What a test does at a broker, whichever it is.
pub(crate) struct Client {
    pub(crate) bootstrap: String,
    pub(crate) ports: Ports,
    unique: String,
}

impl Client {
    pub(crate) async fn connect(bootstrap: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("{}-{}", uuid::Uuid::new_v4().simple(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut settings = ConnectionSettings::new([bootstrap]);
        settings.fetch_max_wait = Duration::from_millis(100);
        let ports = Plane::Native.connect(settings).await.unwrap();
        Self { bootstrap: bootstrap.to_owned(), ports, unique }
    }

    /// A name that no other test or run uses.
    pub(crate) fn name(&self, base: &str) -> String {
        format!("{base}-{}", self.unique)
    }

    /// Creates a topic that keeps its records, and returns its name.
    pub(crate) async fn topic(&self, base: &str, partitions: i32) -> String {
        let name = self.name(base);
        let topic = NewTopic::new(&name, partitions).replication(1).config("retention.ms", "-1");
        self.ports.admin.create_topic(topic).await.unwrap();
        // A real broker needs a moment until its partitions have leaders.
        for number in 0..partitions {
            let partition = TopicPartition::new(name.as_str(), number);
            eventually("a created topic can be read", async || {
                self.ports.admin.offset(partition.clone(), OffsetSpec::Latest).await.is_ok()
            })
            .await;
        }
        name
    }

    /// Appends records that have only values, as one batch.
    pub(crate) async fn values(&self, topic: &str, partition: i32, values: impl IntoIterator<Item = impl ToString>) {
        let records = values.into_iter().map(|value| ProducerRecord::to(topic).value(value.to_string())).collect();
        self.ports.produce.produce(TopicPartition::new(topic, partition), records).await.unwrap();
    }

    /// The offset that the next record of a partition will get; `None` while the broker is away.
    pub(crate) async fn end(&self, topic: &str, partition: i32) -> Option<i64> {
        self.ports.admin.offset(TopicPartition::new(topic, partition), OffsetSpec::Latest).await.ok()
    }

    /// What a group has committed for each partition; `None` while the broker is away.
    pub(crate) async fn committed(&self, group: &str, topic: &str, partitions: i32) -> Option<Vec<Option<i64>>> {
        let wanted = (0..partitions).map(|number| TopicPartition::new(topic, number)).collect();
        let found = self.ports.offsets.fetch(group.to_owned(), wanted).await.ok()?;
        Some(found.into_iter().map(|committed| committed.map(|CommittedOffset { offset, .. }| offset)).collect())
    }

    /// All records of a topic, partition by partition; none where there is no such topic.
    pub(crate) async fn read(&self, topic: &str) -> Vec<Record> {
        let found = self.ports.admin.topics(vec![topic.to_owned()]).await.unwrap().pop().flatten();
        let mut records = Vec::new();
        for number in 0..found.map_or(0, |topic| topic.partitions) {
            let partition = TopicPartition::new(topic, number);
            let end = self.end(topic, number).await.unwrap();
            let feed = Arc::new(Feed::new(partition.clone(), 64 << 20, |_| {}));
            let mut position = 0;
            self.ports.source.add(partition.clone(), None, 0, Arc::clone(&feed));
            while position < end {
                eventually("what lies in a topic is read", async || feed.front().is_some()).await;
                let batch = feed.front().unwrap();
                position = batch.next_offset();
                records.extend(batch.iter());
                feed.pop_front();
            }
            self.ports.source.remove(&partition);
            feed.close();
        }
        records
    }
}

/// Waits until `condition` holds.
pub(crate) async fn eventually(what: &str, condition: impl AsyncFn() -> bool) {
    within(SOON, what, condition).await;
}
