//! Records that are produced and read all the time, numbered, so that each loss, duplicate and swap shows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use bezoar::broker::{ConnectionSettings, Feed, NewTopic, OffsetSpec, Plane, Ports, SourceProblem};
use bezoar::record::{ProducerRecord, TopicPartition};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// How long the load may make no progress, broker starts included, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(180);

/// How many calls of a partition are under way at once.
const IN_FLIGHT: usize = 8;

pub(crate) struct Load {
    topic: String,
    stop: Arc<AtomicBool>,
    partitions: Vec<Partition>,
}

struct Partition {
    read: Arc<AtomicI64>,
    /// Gives the number of records that were acknowledged.
    writer: JoinHandle<i64>,
    reader: JoinHandle<()>,
    /// Tells the reader how much there is to be read in all, once that is known.
    total: Arc<AtomicI64>,
}

impl Load {
    pub(crate) async fn start(plane: Plane, bootstrap: &str, partitions: i32, replicas: i16) -> Self {
        let mut settings = ConnectionSettings::new(bootstrap.split(','));
        settings.fetch_max_wait = Duration::from_millis(200);
        let ports = plane.connect(settings).await.unwrap();
        let topic = format!("load-{}", std::process::id());
        ports.admin.create_topic(NewTopic::new(&topic, partitions).replication(replicas)).await.unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let mut running = Vec::new();
        for partition in 0..partitions {
            let partition = TopicPartition::new(topic.as_str(), partition);
            let (read, total) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(i64::MAX)));
            let writer = tokio::spawn(write(ports.clone(), partition.clone(), Arc::clone(&stop), plane));
            let id = ports.admin.topics(vec![topic.clone()]).await.unwrap()[0].clone().unwrap().id;
            let feed = Arc::new(Feed::new(partition.clone(), 1 << 20, |problem| {
                let harmless = matches!(problem, SourceProblem::Retrying(_) | SourceProblem::Recovered);
                assert!(harmless, "the reader meets {problem:?}");
            }));
            ports.source.add(partition.clone(), id, 0, Arc::clone(&feed));
            let reader = read_all(ports.clone(), feed, Arc::clone(&read), Arc::clone(&total), plane);
            running.push(Partition { read, writer, reader: tokio::spawn(reader), total });
        }
        Self { topic, stop, partitions: running }
    }

    pub(crate) fn topic(&self) -> &str {
        &self.topic
    }

    /// Waits until so many more records were read of each partition.
    pub(crate) async fn progress(&self, records: i64) {
        for partition in &self.partitions {
            let goal = partition.read.load(Ordering::Relaxed) + records;
            let reached = timeout(PATIENCE, async {
                while partition.read.load(Ordering::Relaxed) < goal {
                    assert!(!partition.writer.is_finished() && !partition.reader.is_finished(), "the load ended early");
                    sleep(Duration::from_millis(20)).await;
                }
            });
            reached.await.expect("the load goes on");
        }
    }

    /// Ends the producing, and waits until all that was acknowledged was read.
    pub(crate) async fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        for partition in self.partitions {
            let acknowledged = timeout(PATIENCE, partition.writer).await.expect("producing ends").unwrap();
            partition.total.store(acknowledged, Ordering::Relaxed);
            timeout(PATIENCE, partition.reader).await.expect("all is read").unwrap();
            println!("{acknowledged} records acknowledged and read");
        }
    }
}

async fn write(ports: Ports, partition: TopicPartition, stop: Arc<AtomicBool>, plane: Plane) -> i64 {
    // Calls made one after the other keep their order though they are not awaited, where the producer sees to it.
    let in_flight = if plane == Plane::Native { IN_FLIGHT } else { 1 };
    let mut next = 0i64;
    let mut under_way = VecDeque::new();
    while !stop.load(Ordering::Relaxed) || !under_way.is_empty() {
        if !stop.load(Ordering::Relaxed) && under_way.len() < in_flight {
            let count = 1 + next % 7;
            let numbered = |number: i64| ProducerRecord::to(partition.shared_topic()).value(number.to_string());
            let records: Vec<ProducerRecord> = (next..next + count).map(numbered).collect();
            next += count;
            under_way.push_back(ports.produce.produce(partition.clone(), records));
            continue;
        }
        let Some(oldest) = under_way.pop_front() else { continue };
        let outcome = oldest.await;
        if let (Err(error), Plane::Rskafka) = (&outcome, plane) {
            // Not idempotent: what failed may be there or not, so the same numbers are sent again.
            panic!("rskafka gave up within its time: {error}");
        }
        outcome.unwrap();
    }
    next
}

async fn read_all(ports: Ports, feed: Arc<Feed>, read: Arc<AtomicI64>, total: Arc<AtomicI64>, plane: Plane) {
    let mut expected = 0i64;
    while expected < total.load(Ordering::Relaxed) {
        let Some(batch) = feed.front() else {
            sleep(Duration::from_millis(5)).await;
            continue;
        };
        for record in batch.iter() {
            let number: i64 = std::str::from_utf8(record.value().unwrap()).unwrap().parse().unwrap();
            if plane == Plane::Rskafka && number < expected {
                continue; // sent again after a lost answer
            }
            assert_eq!(number, expected, "at {}", record.id());
            expected += 1;
        }
        read.store(expected, Ordering::Relaxed);
        feed.pop_front();
    }
    if plane == Plane::Native {
        let end = ports.admin.offset(feed.partition().clone(), OffsetSpec::Latest).await.unwrap();
        assert_eq!(end, expected, "the log holds more than was acknowledged");
    }
    ports.source.remove(feed.partition());
    feed.close();
}
