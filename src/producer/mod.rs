//! A plain producer: records with acknowledgements, batched per partition while the batch before is in flight.

mod error;
mod partitioner;
mod topic;
mod worker;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};

pub use error::ProducerError;
pub(crate) use partitioner::partition_for_key;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use self::topic::Topic;
use crate::broker::{BrokerError, ConnectionSettings, Ports, ProduceSettings, native};
use crate::record::{ProducerRecord, TopicPartition};

/// Where a record was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Produced {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset it got; -1 where the broker does not tell: it knew the record from an attempt before, but not its place.
    pub offset: i64,
}

/// The largest buffer, which is what fits the arithmetic on every platform.
const LARGEST_BUFFER: usize = 1 << 30;

/// Produces records; cheap to clone. Records for one partition sent from one task are appended in that order; they are
/// batched while the batch before is in flight. All in-sync replicas acknowledge.
///
/// Records that are not acknowledged yet are held up to a number of bytes
/// ([`ProduceSettings::buffer_bytes`]); who sends more waits until there is room.
#[derive(Clone)]
pub struct Producer {
    inner: Arc<Inner>,
}

struct Inner {
    ports: Ports,
    runtime: Handle,
    topics: RwLock<HashMap<Arc<str>, Arc<Topic>>>,
    /// The buffer: a permit for each byte that is free.
    room: Arc<Semaphore>,
    buffer_bytes: usize,
}

impl Producer {
    /// Connects a producer of its own over the native plane, on the current tokio runtime. For another plane:
    /// [`Producer::new`] with the ports of [`Plane::connect`](crate::broker::Plane::connect).
    ///
    /// # Errors
    /// As for [`native::connect`].
    pub async fn connect(settings: ConnectionSettings) -> Result<Self, BrokerError> {
        let buffer_bytes = settings.produce.buffer_bytes;
        Ok(Self::with_buffer(native::connect(settings).await?.ports(), Handle::current(), buffer_bytes))
    }

    /// A producer over `ports` whose tasks run on `runtime`, with the default buffer.
    pub fn new(ports: Ports, runtime: Handle) -> Self {
        Self::with_buffer(ports, runtime, ProduceSettings::default().buffer_bytes)
    }

    /// A producer over `ports` whose tasks run on `runtime`, which holds so many bytes of records that are not acknowledged yet
    /// (at least 1, and at most 1 GiB).
    pub fn with_buffer(ports: Ports, runtime: Handle, buffer_bytes: usize) -> Self {
        let buffer_bytes = buffer_bytes.clamp(1, LARGEST_BUFFER);
        Self {
            inner: Arc::new(Inner {
                ports,
                runtime,
                topics: RwLock::default(),
                room: Arc::new(Semaphore::new(buffer_bytes)),
                buffer_bytes,
            }),
        }
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.inner.runtime
    }

    /// Sends a record and waits for its acknowledgement. A record without a partition goes where the Java client
    /// would send its key; one without a key goes to a partition chosen at random, as do those after it for some 16 KiB.
    ///
    /// A record whose future is dropped may be appended all the same.
    ///
    /// # Errors
    /// Why the record was not acknowledged. After an error that is retriable it may have been appended all the same.
    pub fn send(&self, record: ProducerRecord) -> impl Future<Output = Result<Produced, ProducerError>> + Send + use<> {
        let producer = self.clone();
        async move { producer.enqueue(record).await?.acknowledged().await }
    }

    /// Puts a record into its partition's queue, which decides its place among the others.
    pub(crate) async fn enqueue(&self, record: ProducerRecord) -> Result<Enqueued, ProducerError> {
        let inner = &*self.inner;
        let topic = match self.known(&record.topic) {
            Some(topic) => topic,
            None => self.ask(&record.topic).await?,
        };
        let size = worker::size(&record);
        let index = topic.choose(&record, size)?;
        // One that is larger than the buffer has it for itself.
        let bytes = size.min(inner.buffer_bytes) as u32;
        let room = inner.room.acquire_many(bytes).await.map_err(|_| ProducerError::Closed)?;
        let (reply, answer) = oneshot::channel();
        let (partition, queue) = topic.queue(index, || worker::Context {
            port: Arc::clone(&inner.ports.produce),
            room: Arc::clone(&inner.room),
            runtime: inner.runtime.clone(),
        });
        queue.send(worker::Job { record, bytes, reply }).map_err(|_| ProducerError::Closed)?;
        // The worker gives it back.
        room.forget();
        Ok(Enqueued { partition: partition.clone(), answer })
    }

    fn known(&self, name: &Arc<str>) -> Option<Arc<Topic>> {
        let topics = self.inner.topics.read().unwrap_or_else(PoisonError::into_inner);
        topics.get(name).filter(|topic| !topic.is_old()).cloned()
    }

    async fn ask(&self, name: &Arc<str>) -> Result<Arc<Topic>, ProducerError> {
        let mut found = self.inner.ports.admin.topics(vec![name.to_string()]).await?;
        let metadata = found.pop().flatten().ok_or_else(|| ProducerError::UnknownTopic { topic: name.to_string() })?;
        let mut topics = self.inner.topics.write().unwrap_or_else(PoisonError::into_inner);
        let known = topics.get(name).map(|known| &**known);
        let topic = Arc::new(Topic::new(Arc::clone(name), metadata.partitions, known));
        topics.insert(Arc::clone(name), Arc::clone(&topic));
        Ok(topic)
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
