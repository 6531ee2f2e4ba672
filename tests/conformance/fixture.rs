//! What each test starts from: a broker, an adapter's ports, names of its own, and a reader of feeds.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::{ConnectionSettings, Feed, NewTopic, OffsetSpec, Plane, Ports, SourceProblem};
use bezoar::embedded::Broker;
use bezoar::record::{Header, ProducerRecord, Record, RecordBatch, TopicPartition};
use tokio::sync::Notify;

/// Far more than anything here takes, even on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Fixture {
    plane: Plane,
    pub(crate) ports: Ports,
    pub(crate) address: String,
    /// The embedded broker, where that is the one.
    pub(crate) embedded: Option<Broker>,
}

impl Fixture {
    pub(crate) async fn rskafka() -> Self {
        Self::of(Plane::Rskafka).await
    }

    pub(crate) async fn native() -> Self {
        Self::of(Plane::Native).await
    }

    async fn of(plane: Plane) -> Self {
        let embedded = match std::env::var("KAFKA_BOOTSTRAP") {
            Ok(_) => None,
            Err(_) => Some(Broker::start().await.unwrap()),
        };
        let address = match &embedded {
            Some(broker) => broker.bootstrap(),
            None => std::env::var("KAFKA_BOOTSTRAP").unwrap(),
        };
        let ports = plane.connect(settings(&address)).await.unwrap();
        Self { plane, ports, address, embedded }
    }

    /// The adapter once more, with other settings.
    pub(crate) async fn with(&self, change: impl FnOnce(&mut ConnectionSettings)) -> Ports {
        let mut settings = settings(&self.address);
        change(&mut settings);
        self.plane.connect(settings).await.unwrap()
    }

    /// Creates a topic with a name of its own, which keeps records of any age.
    pub(crate) async fn topic(&self, partitions: i32) -> String {
        let name = unique("topic");
        self.create(&name, partitions).await;
        // A leader is announced a moment before it serves: tests that count problems must not meet that.
        for number in 0..partitions {
            self.ports.admin.offset(partition(&name, number), OffsetSpec::Latest).await.unwrap();
        }
        name
    }

    pub(crate) async fn create(&self, name: &str, partitions: i32) {
        let topic = NewTopic::new(name, partitions).replication(1).config("retention.ms", "-1");
        self.ports.admin.create_topic(topic).await.unwrap();
    }

    pub(crate) async fn produce(&self, partition: &TopicPartition, records: Vec<ProducerRecord>) -> Vec<i64> {
        self.ports.produce.produce(partition.clone(), records).await.unwrap()
    }

    /// Reads a partition into a feed of 64 MiB.
    pub(crate) async fn read(&self, partition: &TopicPartition, offset: i64) -> Reading {
        self.read_over(&self.ports, partition, offset, 64 << 20).await
    }

    /// Reads a partition over other ports, into a feed of `limit` bytes.
    pub(crate) async fn read_over(
        &self,
        ports: &Ports,
        partition: &TopicPartition,
        offset: i64,
        limit: usize,
    ) -> Reading {
        let reading = Reading::new(partition, limit);
        let id = self.topic_id(partition.topic()).await;
        ports.source.add(partition.clone(), id, offset, Arc::clone(&reading.feed));
        reading
    }

    pub(crate) async fn topic_id(&self, name: &str) -> Option<uuid::Uuid> {
        self.ports.admin.topics(vec![name.to_owned()]).await.unwrap()[0].as_ref().unwrap().id
    }
}

pub(crate) fn settings(address: &str) -> ConnectionSettings {
    ConnectionSettings::new([address])
}

/// A name that no other test or run has.
pub(crate) fn unique(what: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{what}-{}-{}", uuid::Uuid::new_v4().simple(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn partition(topic: &str, number: i32) -> TopicPartition {
    TopicPartition::new(topic, number)
}

pub(crate) fn record(value: &str) -> ProducerRecord {
    ProducerRecord::to("").value(value.to_owned())
}

pub(crate) fn records(values: impl IntoIterator<Item = i32>) -> Vec<ProducerRecord> {
    values.into_iter().map(|value| record(&value.to_string())).collect()
}

/// A record as read, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<Header>,
}

impl From<Record> for Owned {
    fn from(record: Record) -> Self {
        Self {
            offset: record.offset(),
            timestamp: record.timestamp(),
            key: record.key().map(<[u8]>::to_vec),
            value: record.value().map(<[u8]>::to_vec),
            headers: record.headers().to_vec(),
        }
    }
}

/// A feed with somebody at its other end.
pub(crate) struct Reading {
    pub(crate) feed: Arc<Feed>,
    arrived: Arc<Notify>,
    problems: Arc<Mutex<Vec<SourceProblem>>>,
}

impl Reading {
    pub(crate) fn new(partition: &TopicPartition, limit: usize) -> Self {
        let arrived = Arc::new(Notify::new());
        let problems = Arc::new(Mutex::new(Vec::new()));
        let feed = Feed::new(partition.clone(), limit, {
            let (arrived, problems) = (Arc::clone(&arrived), Arc::clone(&problems));
            move |problem| {
                problems.lock().unwrap().push(problem);
                arrived.notify_one();
            }
        });
        feed.on_ready({
            let arrived = Arc::clone(&arrived);
            move || arrived.notify_one()
        });
        Self { feed: Arc::new(feed), arrived, problems }
    }

    /// The next batch, records or not.
    pub(crate) async fn batch(&self) -> RecordBatch {
        let next = async {
            loop {
                if let Some(batch) = self.feed.front() {
                    self.feed.pop_front();
                    return batch;
                }
                self.arrived.notified().await;
            }
        };
        tokio::time::timeout(PATIENCE, next)
            .await
            .unwrap_or_else(|_| panic!("nothing arrives; problems so far: {:?}", self.problems()))
    }

    /// The next records, at least `count`.
    pub(crate) async fn records(&self, count: usize) -> Vec<Owned> {
        let mut records = Vec::new();
        while records.len() < count {
            records.extend(self.batch().await.iter().map(Owned::from));
        }
        records
    }

    /// The records up to where the feed knows that everything below `offset` was passed, which must come as one batch's end.
    pub(crate) async fn records_until(&self, offset: i64) -> Vec<Owned> {
        let mut records = Vec::new();
        loop {
            let batch = self.batch().await;
            records.extend(batch.iter().map(Owned::from));
            if batch.next_offset() >= offset {
                assert_eq!(batch.next_offset(), offset);
                return records;
            }
        }
    }

    /// The values of the next `count` records, as text.
    pub(crate) async fn values(&self, count: usize) -> Vec<String> {
        let records = self.records(count).await;
        records.into_iter().map(|record| String::from_utf8(record.value.unwrap()).unwrap()).collect()
    }

    pub(crate) fn problems(&self) -> Vec<SourceProblem> {
        self.problems.lock().unwrap().clone()
    }

    /// What stopped the reading, if anything did.
    pub(crate) fn stopped(&self) -> Option<SourceProblem> {
        let stops = |problem: &SourceProblem| !matches!(problem, SourceProblem::Retrying(_) | SourceProblem::Recovered);
        self.problems().into_iter().find(stops)
    }

    /// All records until the reading stops, and what stopped it; nothing may arrive after that.
    pub(crate) async fn drained(&self) -> (Vec<Owned>, SourceProblem) {
        let mut records = Vec::new();
        let draining = async {
            loop {
                // Nothing is pushed once a stop is reported, so it must be looked for first.
                let stopped = self.stopped();
                while let Some(batch) = self.feed.front() {
                    records.extend(batch.iter().map(Owned::from));
                    self.feed.pop_front();
                }
                match stopped {
                    Some(problem) => return problem,
                    None => self.arrived.notified().await,
                }
            }
        };
        let Ok(problem) = tokio::time::timeout(PATIENCE, draining).await else {
            panic!("it does not stop; problems so far: {:?}", self.problems())
        };
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(self.feed.front().is_none(), "something arrived after {problem:?}");
        (records, problem)
    }

    /// Waits until the problems reported satisfy `enough`.
    pub(crate) async fn until(&self, enough: impl Fn(&[SourceProblem]) -> bool) -> Vec<SourceProblem> {
        let wait = async {
            while !enough(&self.problems()) {
                self.arrived.notified().await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, wait).await;
        let problems = self.problems();
        assert!(enough(&problems), "problems so far: {problems:?}");
        problems
    }
}

/// Waits until `condition` holds.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let wait = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "not in time: {what}");
}
