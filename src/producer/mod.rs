//! A plain producer: records with acknowledgements, batched per partition while the batch before is in flight.

mod error;
mod partitioner;
mod worker;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use error::ProducerError;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::broker::{BrokerError, ConnectionSettings, Ports, native};
use crate::record::{ProducerRecord, TopicPartition};

/// Where a record was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Produced {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset it got.
    pub offset: i64,
}

/// Produces records; cheap to clone. Records for one partition sent from one task are appended in that order; they are
/// batched while the batch before is in flight. All in-sync replicas acknowledge.
#[derive(Clone)]
pub struct Producer {
    inner: Arc<Inner>,
}

struct Inner {
    ports: Ports,
    runtime: Handle,
    partitions: Mutex<HashMap<Arc<str>, (i32, Instant)>>,
    workers: Mutex<HashMap<TopicPartition, mpsc::Sender<worker::Job>>>,
    turn: AtomicU32,
}

/// How long the number of a topic's partitions is believed.
const METADATA_AGE: Duration = Duration::from_secs(300);

impl Producer {
    /// Connects a producer of its own over the native plane, on the current tokio runtime. For another plane:
    /// [`Producer::new`] with the ports of [`Plane::connect`](crate::broker::Plane::connect).
    ///
    /// # Errors
    /// [`BrokerError::Unreachable`] where no address answers.
    pub async fn connect(settings: ConnectionSettings) -> Result<Self, BrokerError> {
        Ok(Self::new(native::connect(settings).await?.ports(), Handle::current()))
    }

    /// A producer over `ports` whose tasks run on `runtime`.
    pub fn new(ports: Ports, runtime: Handle) -> Self {
        Self {
            inner: Arc::new(Inner {
                ports,
                runtime,
                partitions: Mutex::default(),
                workers: Mutex::default(),
                turn: AtomicU32::new(0),
            }),
        }
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.inner.runtime
    }

    /// Sends a record and waits for its acknowledgement. A record without a partition goes where the Java client
    /// would send its key; one without a key goes to the partitions in turn.
    ///
    /// # Errors
    /// Why the record was not acknowledged. After an error that is retriable it may have been appended all the same.
    pub fn send(&self, record: ProducerRecord) -> impl Future<Output = Result<Produced, ProducerError>> + Send + use<> {
        let producer = self.clone();
        async move { producer.enqueue(record).await?.acknowledged().await }
    }

    /// Puts a record into its partition's queue, which decides its place among the others.
    pub(crate) async fn enqueue(&self, record: ProducerRecord) -> Result<Enqueued, ProducerError> {
        let partition = self.partition(&record).await?;
        let (reply, answer) = oneshot::channel();
        let queue = self.queue(&partition);
        queue.send(worker::Job { record, reply }).await.map_err(|_| ProducerError::Closed)?;
        Ok(Enqueued { partition, answer })
    }

    async fn partition(&self, record: &ProducerRecord) -> Result<TopicPartition, ProducerError> {
        let partitions = self.partition_count(&record.topic).await?;
        let partition = match (record.partition, &record.key) {
            (Some(partition), _) if !(0..partitions).contains(&partition) => {
                let topic = record.topic.to_string();
                return Err(ProducerError::UnknownPartition { topic, partition, partitions });
            }
            (Some(partition), _) => partition,
            (None, Some(key)) => partitioner::partition_for_key(key, partitions),
            (None, None) => (self.inner.turn.fetch_add(1, Ordering::Relaxed) % partitions.max(1) as u32) as i32,
        };
        Ok(TopicPartition::new(Arc::clone(&record.topic), partition))
    }

    async fn partition_count(&self, topic: &Arc<str>) -> Result<i32, ProducerError> {
        let known = self.inner.partitions.lock().unwrap_or_else(PoisonError::into_inner).get(topic).copied();
        if let Some((partitions, read)) = known
            && read.elapsed() < METADATA_AGE
        {
            return Ok(partitions);
        }
        let mut found = self.inner.ports.admin.topics(vec![topic.to_string()]).await?;
        let metadata = found.pop().flatten().ok_or_else(|| ProducerError::UnknownTopic { topic: topic.to_string() })?;
        let mut partitions = self.inner.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        partitions.insert(Arc::clone(topic), (metadata.partitions, Instant::now()));
        Ok(metadata.partitions)
    }

    fn queue(&self, partition: &TopicPartition) -> mpsc::Sender<worker::Job> {
        let mut workers = self.inner.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = workers.get(partition) {
            return queue.clone();
        }
        let (queue, jobs) = mpsc::channel(worker::QUEUE);
        self.inner.runtime.spawn(worker::run(Arc::clone(&self.inner.ports.produce), partition.clone(), jobs));
        workers.insert(partition.clone(), queue.clone());
        queue
    }
}

/// A record in its partition's queue.
pub(crate) struct Enqueued {
    partition: TopicPartition,
    answer: oneshot::Receiver<Result<i64, BrokerError>>,
}

impl Enqueued {
    /// Waits for the acknowledgement.
    pub(crate) async fn acknowledged(self) -> Result<Produced, ProducerError> {
        let offset = self.answer.await.map_err(|_| ProducerError::Closed)??;
        Ok(Produced { partition: self.partition, offset })
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Producer")
    }
}
