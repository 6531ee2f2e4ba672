use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use std::time::SystemTime;

use tokio::sync::{mpsc, oneshot};

use super::origin::{OriginError, Origins};
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

    /// The id of the record that this one stems from first: the key for side effects that must not happen again when a record is
    /// replayed. It differs from [`Delivery::id`] only for records that were replayed from a dead letter, however often.
    ///
    /// Headers can be forged, so they are not believed by themselves. A record counts as a replay where it names a dead letter of
    /// this consumer's own topics, or of those in [`trusted_replays`](crate::consumer::ConsumerBuilder::trusted_replays), and the
    /// mark that the replay left for that dead letter in the topic `<dead-letter topic>.replays` names this very record. Any other
    /// is its own origin. So only who may write to that topic can say that a record is a replay.
    ///
    /// It asks the broker only for records that claim to be replays: marks are kept, up to some 20 MB for each dead-letter
    /// topic. In `testing::Harness` each record is its own origin.
    ///
    /// # Errors
    /// The marks cannot be read within 5 s. That is transient, and taken for such where the handler returns it.
    pub async fn origin(&self) -> Result<RecordId, OriginError> {
        self.outbox.origins.of(&self.record).await
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

/// What a partition's handler sends onward, and the acknowledgements that the delivery in progress waits for; and whom it asks
/// for origins. One per partition actor.
pub(crate) struct Outbox {
    producer: Producer,
    origins: Origins,
    queue: OnceLock<mpsc::UnboundedSender<Outgoing>>,
    /// Whether `pending` may hold something: deliveries that send nothing, which is most, need no lock.
    sent: AtomicBool,
    pending: Mutex<Vec<Pending>>,
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

/// A record sent onward by one delivery.
struct Pending {
    offset: i64,
    attempt: u32,
    acknowledged: Acknowledged,
}

impl Pending {
    fn is_of(&self, offset: i64, attempt: u32) -> bool {
        (self.offset, self.attempt) == (offset, attempt)
    }
}

impl Outbox {
    pub(crate) fn new(producer: Producer, origins: Origins) -> Self {
        Self { producer, origins, queue: OnceLock::new(), sent: AtomicBool::new(false), pending: Mutex::default() }
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

    fn track(&self, offset: i64, attempt: u32, acknowledged: Acknowledged) {
        self.lock().push(Pending { offset, attempt, acknowledged });
        self.sent.store(true, Ordering::Release);
    }

    /// Whether anything was sent that [`Outbox::acknowledged`] may have to wait for.
    pub(crate) fn has_sent(&self) -> bool {
        self.sent.load(Ordering::Acquire)
    }

    /// Waits until everything sent by the delivery of `offset` with this attempt number is acknowledged. What other
    /// deliveries left, or send by a kept clone, is not waited for.
    pub(crate) async fn acknowledged(&self, offset: i64, attempt: u32) -> Result<(), ProducerError> {
        if !self.sent.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        loop {
            // Left in the list until it is there, so that a timeout meanwhile sees what was waited for. New ones are
            // put behind it, so it stays the first.
            let next = poll_fn(|cx| match self.lock().first_mut() {
                Some(sent) if !sent.is_of(offset, attempt) => Poll::Ready(Some(Ok(Ok(())))),
                Some(sent) => Pin::new(&mut sent.acknowledged).poll(cx).map(Some),
                None => Poll::Ready(None),
            });
            let Some(acknowledged) = next.await else { return Ok(()) };
            self.lock().remove(0);
            acknowledged.unwrap_or(Err(ProducerError::Closed))?;
        }
    }

    /// How many of the records sent by the delivery of `offset` with this attempt number are not acknowledged yet.
    pub(crate) fn unacknowledged(&self, offset: i64, attempt: u32) -> usize {
        let mut pending = self.lock();
        let sent = pending.iter_mut().filter(|sent| sent.is_of(offset, attempt));
        sent.filter_map(|sent| sent.acknowledged.try_recv().err())
            .filter(|error| matches!(error, oneshot::error::TryRecvError::Empty))
            .count()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Pending>> {
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
