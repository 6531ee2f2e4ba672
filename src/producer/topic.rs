use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::ProducerError;
use super::partitioner::partition_for_key;
use super::worker::{self, Job};
use crate::record::{ProducerRecord, TopicPartition};

/// How long the number of a topic's partitions is believed.
const METADATA_AGE: Duration = Duration::from_secs(300);

/// After so many bytes records without a key go to another partition, as in Kafka's Java client (its `batch.size`): so that
/// they share batches, and all partitions get as much in the long run.
const STICKY_BYTES: usize = 16 << 10;

/// A topic's partitions, each with the queue of its worker once there is one.
pub(super) struct Topic {
    name: Arc<str>,
    learned: Instant,
    partitions: Vec<Partition>,
    sticky: Mutex<Sticky>,
}

#[derive(Clone)]
struct Partition {
    partition: TopicPartition,
    /// Shared with the topic as it was known before, so that there is one worker.
    queue: Arc<OnceLock<mpsc::UnboundedSender<Job>>>,
}

/// Where records without a key go now, and for how many bytes still.
#[derive(Default)]
struct Sticky {
    partition: usize,
    left: usize,
}

impl Topic {
    /// A topic of so many partitions, which goes on with the workers that it had when it was `known` before.
    pub(super) fn new(name: Arc<str>, partitions: i32, known: Option<&Self>) -> Self {
        let partition = |number: i32| match known.and_then(|known| known.partitions.get(number as usize)) {
            Some(known) => known.clone(),
            None => Partition { partition: TopicPartition::new(Arc::clone(&name), number), queue: Arc::default() },
        };
        Self {
            learned: Instant::now(),
            partitions: (0..partitions).map(partition).collect(),
            sticky: Mutex::default(),
            name,
        }
    }

    /// Whether the number of partitions is to be asked for again.
    pub(super) fn is_old(&self) -> bool {
        self.learned.elapsed() >= METADATA_AGE
    }

    /// Which partition a record of so many bytes goes to.
    pub(super) fn choose(&self, record: &ProducerRecord, bytes: usize) -> Result<usize, ProducerError> {
        let partitions = self.partitions.len();
        match (record.partition, &record.key) {
            (Some(partition), _) => match usize::try_from(partition) {
                Ok(index) if index < partitions => Ok(index),
                _ => Err(ProducerError::UnknownPartition {
                    topic: self.name.to_string(),
                    partition,
                    partitions: partitions as i32,
                }),
            },
            (None, Some(key)) => Ok(partition_for_key(key, partitions as i32) as usize),
            (None, None) => {
                let mut sticky = self.sticky.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(sticky.next(partitions, bytes, |below| rand::random_range(0..below)))
            }
        }
    }

    /// A partition and its queue.
    pub(super) fn queue(
        &self,
        index: usize,
        worker: impl FnOnce() -> worker::Context,
    ) -> (&TopicPartition, &mpsc::UnboundedSender<Job>) {
        let Partition { partition, queue } = &self.partitions[index];
        (partition, queue.get_or_init(|| worker().start(partition.clone())))
    }
}

impl Sticky {
    fn next(&mut self, partitions: usize, bytes: usize, random: impl FnOnce(usize) -> usize) -> usize {
        if self.left == 0 && partitions > 0 {
            *self = Self { partition: random(partitions), left: STICKY_BYTES };
        }
        self.left = self.left.saturating_sub(bytes);
        self.partition
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_without_a_key_stay_on_a_partition_for_some_bytes() {
        let mut sticky = Sticky::default();
        let mut choose = |bytes, random| sticky.next(4, bytes, |_| random);
        assert_eq!([choose(10_000, 3), choose(6_000, 0), choose(1_000, 1)], [3, 3, 3]);
        assert_eq!([choose(100_000, 2), choose(1, 0)], [2, 0]);
    }

    #[test]
    fn partitions_are_taken_as_asked_for_then_by_key_and_checked() {
        let topic = Topic::new("orders".into(), 3, None);
        let record = || ProducerRecord::to("orders");
        assert_eq!(topic.choose(&record().partition(2).key("k"), 1), Ok(2));
        assert_eq!(topic.choose(&record().key("k"), 1), Ok(partition_for_key(b"k", 3) as usize));
        for partition in [-1, 3] {
            let error = topic.choose(&record().partition(partition), 1).unwrap_err();
            assert_eq!(error, ProducerError::UnknownPartition { topic: "orders".to_owned(), partition, partitions: 3 });
        }
    }
}
