use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use std::time::SystemTime;

use tokio::sync::{mpsc, oneshot};

use crate::producer::{Produced, Producer, ProducerError};
use crate::record::{Headers, ProducerRecord, Record, RecordId};

/// One attempt to process one record: where it came from and how often it was tried. Owned and cheap to clone.
#[derive(Clone)]
pub struct Delivery {
    record: Record,
    attempt: u32,
    first_failure: Option<SystemTime>,
    outbox: Arc<Outbox>,
}

impl Delivery {
    pub(crate) fn new(record: Record, attempt: u32, first_failure: Option<SystemTime>, outbox: Arc<Outbox>) -> Self {
        Self { record, attempt, first_failure, outbox }
    }

    /// The source topic.
    pub fn topic(&self) -> &str {
        self.record.partition().topic()
    }

    /// The source partition, 0-based.
    pub fn partition(&self) -> i32 {
        self.record.partition().partition()
    }

    /// The record's offset.
    pub fn offset(&self) -> i64 {
        self.record.offset()
    }

    /// The record's key; `None` is Kafka's null.
    pub fn key(&self) -> Option<&[u8]> {
        self.record.key()
    }

    /// The record's headers, in order.
    pub fn headers(&self) -> Headers<'_> {
        self.record.headers()
    }

    /// The record's timestamp, in milliseconds since the Unix epoch.
    pub fn timestamp(&self) -> i64 {
        self.record.timestamp()
    }

    /// The whole record as Kafka stores it.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Which attempt this is: 1 for the first.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// When the record failed first in this ownership; `None` on the first attempt.
    pub fn first_failure(&self) -> Option<SystemTime> {
        self.first_failure
    }

    /// What identifies the record for good: the same for each redelivery, on every machine and after every crash.
    pub fn id(&self) -> RecordId {
        self.record.id()
    }

    /// The id of the record that this one stems from. It differs from [`Delivery::id`] only for records that come
    /// back through Bezoar's own retry topics and replays; other headers that claim an origin are never believed.
    pub fn origin(&self) -> RecordId {
        self.record.id()
    }

    /// Sends a record onward. Its acknowledgement is awaited before this delivery's record is settled, whether or not
    /// the returned future is: if it cannot be produced, the delivery fails as if the handler had returned the error
    /// (which is transient where trying again may help).
    ///
    /// After the handler has returned, a kept clone of the delivery still sends, but nothing waits for it any more.
    ///
    /// # Errors
    /// The future yields why the record could not be produced.
    pub fn produce(
        &self,
        record: ProducerRecord,
    ) -> impl Future<Output = Result<Produced, ProducerError>> + Send + use<> {
        let (result, produced) = oneshot::channel();
        let (done, waited) = oneshot::channel();
        self.outbox.track(self.offset(), self.attempt, waited);
        self.outbox.send(Outgoing { record, done, result });
        async move { produced.await.unwrap_or(Err(ProducerError::Closed)) }
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Delivery({}, attempt {})", self.id(), self.attempt)
    }
}

/// What a partition's handler sends onward, and the acknowledgements that the delivery in progress waits for. One per
/// partition actor.
pub(crate) struct Outbox {
    producer: Producer,
    queue: OnceLock<mpsc::UnboundedSender<Outgoing>>,
    pending: Mutex<Pending>,
}

struct Outgoing {
    record: ProducerRecord,
    done: oneshot::Sender<Result<(), ProducerError>>,
    result: oneshot::Sender<Result<Produced, ProducerError>>,
}

impl Outgoing {
    /// Either side may have lost interest.
    fn answer(
        done: oneshot::Sender<Result<(), ProducerError>>,
        result: oneshot::Sender<Result<Produced, ProducerError>>,
        outcome: Result<Produced, ProducerError>,
    ) {
        let _ = done.send(outcome.as_ref().map(|_| ()).map_err(Clone::clone));
        let _ = result.send(outcome);
    }
}

type Acknowledged = oneshot::Receiver<Result<(), ProducerError>>;

#[derive(Default)]
struct Pending {
    /// Offset and attempt of the delivery in progress.
    current: Option<(i64, u32)>,
    acknowledgements: Vec<Acknowledged>,
}

impl Outbox {
    pub(crate) fn new(producer: Producer) -> Self {
        Self { producer, queue: OnceLock::new(), pending: Mutex::default() }
    }

    /// Queues a record; one task, started with the first, keeps the order.
    fn send(&self, outgoing: Outgoing) {
        let queue = self.queue.get_or_init(|| {
            let (queue, outgoing) = mpsc::unbounded_channel();
            self.producer.runtime().spawn(forward(self.producer.clone(), outgoing));
            queue
        });
        // Closed only when the runtime is gone; the dropped reply then says so.
        let _ = queue.send(outgoing);
    }

    /// Begins a delivery: what an earlier one left is not waited for.
    pub(crate) fn begin(&self, offset: i64, attempt: u32) {
        *self.lock() = Pending { current: Some((offset, attempt)), acknowledgements: Vec::new() };
    }

    fn track(&self, offset: i64, attempt: u32, acknowledged: Acknowledged) {
        let mut pending = self.lock();
        if pending.current == Some((offset, attempt)) {
            pending.acknowledgements.push(acknowledged);
        }
    }

    /// Whether the delivery in progress has sent anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().acknowledgements.is_empty()
    }

    /// How many of the records sent by the delivery in progress are not acknowledged yet.
    pub(crate) fn unacknowledged(&self) -> usize {
        let mut pending = self.lock();
        let open = |sent: &mut Acknowledged| matches!(sent.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        pending.acknowledgements.iter_mut().filter_map(|sent| open(sent).then_some(())).count()
    }

    /// Waits until everything sent by the delivery in progress is acknowledged.
    pub(crate) async fn acknowledged(&self) -> Result<(), ProducerError> {
        loop {
            // Left in the list until it is there, so that a timeout meanwhile sees what was waited for.
            let next = poll_fn(|cx| match self.lock().acknowledgements.last_mut() {
                Some(sent) => Pin::new(sent).poll(cx).map(Some),
                None => Poll::Ready(None),
            });
            let Some(acknowledged) = next.await else { return Ok(()) };
            self.lock().acknowledgements.pop();
            acknowledged.unwrap_or(Err(ProducerError::Closed))?;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn forward(producer: Producer, mut queue: mpsc::UnboundedReceiver<Outgoing>) {
    while let Some(Outgoing { record, done, result }) = queue.recv().await {
        match producer.enqueue(record).await {
            Ok(enqueued) => {
                tokio::spawn(async move { Outgoing::answer(done, result, enqueued.acknowledged().await) });
            }
            Err(error) => Outgoing::answer(done, result, Err(error)),
        }
    }
}
