//! Feeds with somebody at their other end, and logs to read.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::{Feed, Source, SourceProblem};
use bezoar::embedded::{BatchWriter, Broker};
use bezoar::record::{RecordBatch, TopicPartition};
use tokio::sync::Notify;

/// Far more than anything here takes, even on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) async fn broker() -> Arc<Broker> {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 4).unwrap();
    Arc::new(broker)
}

pub(crate) fn orders(number: i32) -> TopicPartition {
    TopicPartition::new("orders", number)
}

/// Appends records, each a batch of its own.
pub(crate) fn append(broker: &Broker, partition: &TopicPartition, values: impl IntoIterator<Item = impl AsRef<[u8]>>) {
    for value in values {
        let batch = BatchWriter::new().timestamp(1_700_000_000_000).record(None, Some(value.as_ref()), vec![]).build();
        broker.append_raw(partition.topic(), partition.partition(), batch).unwrap();
    }
}

pub(crate) fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

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

    /// Reads a partition of the broker's into a feed of 16 MiB.
    pub(crate) fn begin(source: &Arc<dyn Source>, broker: &Broker, partition: &TopicPartition, offset: i64) -> Self {
        Self::begin_within(source, broker, partition, offset, 16 << 20)
    }

    pub(crate) fn begin_within(
        source: &Arc<dyn Source>,
        broker: &Broker,
        partition: &TopicPartition,
        offset: i64,
        limit: usize,
    ) -> Self {
        let reading = Self::new(partition, limit);
        source.add(partition.clone(), broker.topic_id(partition.topic()), offset, Arc::clone(&reading.feed));
        reading
    }

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
        let waited = tokio::time::timeout(PATIENCE, next).await;
        waited.unwrap_or_else(|_| panic!("nothing arrives; problems so far: {:?}", self.problems()))
    }

    /// The values of the next records, at least `count`, as text; each must stand at the offset that `from` says.
    pub(crate) async fn values(&self, count: usize, from: i64) -> Vec<String> {
        let mut values = Vec::new();
        while values.len() < count {
            for record in self.batch().await.iter() {
                assert_eq!(record.offset(), from + values.len() as i64);
                values.push(String::from_utf8(record.value().unwrap().to_vec()).unwrap());
            }
        }
        values
    }

    pub(crate) fn problems(&self) -> Vec<SourceProblem> {
        self.problems.lock().unwrap().clone()
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

    /// The problem that ended the reading.
    pub(crate) async fn stopped(&self) -> SourceProblem {
        let stops = |problem: &SourceProblem| !matches!(problem, SourceProblem::Retrying(_) | SourceProblem::Recovered);
        self.until(|problems| problems.last().is_some_and(stops)).await.pop().unwrap()
    }

    /// Waits for one streak of failures to begin and to end, and returns how it began.
    pub(crate) async fn one_streak(&self) -> bezoar::broker::BrokerError {
        let problems = self.until(|problems| problems.contains(&SourceProblem::Recovered)).await;
        let [SourceProblem::Retrying(error), SourceProblem::Recovered] = &problems[..] else { panic!("{problems:?}") };
        error.clone()
    }
}

/// Waits until `condition` holds.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let wait = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "not in time: {what}");
}
