use bytes::Bytes;
use tokio::time::Instant;

/// Records that are to be appended together.
pub(in super::super) struct Call<R, T> {
    pub(in super::super) records: Vec<R>,
    /// How many bytes they take in a batch at most.
    pub(in super::super) bytes: usize,
    pub(in super::super) enqueued: Instant,
    pub(in super::super) deadline: Instant,
    /// What it is answered through.
    pub(in super::super) reply: T,
}

/// A batch on its way to the broker.
pub(in super::super) struct Parcel<R> {
    pub(in super::super) batch: u64,
    pub(in super::super) body: Body<R>,
    pub(in super::super) stamp: Option<Stamp>,
    pub(in super::super) bytes: usize,
}

/// What a batch holds. The records stay beside what they were encoded as, since a batch that is refused is taken apart.
pub(in super::super) struct Body<R> {
    pub(in super::super) records: Vec<R>,
    pub(in super::super) encoded: Option<(Option<Stamp>, Bytes)>,
}

impl<R> Default for Body<R> {
    fn default() -> Self {
        Self { records: Vec::new(), encoded: None }
    }
}

/// The number of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Stamp {
    pub(in super::super) producer_id: i64,
    pub(in super::super) epoch: i16,
    /// The number of its first record.
    pub(in super::super) sequence: i32,
}

/// Calls that share a batch.
pub(super) struct Batch<R, T> {
    pub(super) id: u64,
    /// The calls; none once they ran out of time while the batch was under way.
    pub(super) calls: Vec<Part<T>>,
    pub(super) records: usize,
    pub(super) bytes: usize,
    pub(super) body: Body<R>,
    pub(super) sequence: i32,
    pub(super) status: Status,
    /// Whether an attempt went without an answer, so that it may be in the log.
    pub(super) doubt: bool,
}

/// A call within a batch.
pub(super) struct Part<T> {
    pub(super) records: usize,
    pub(super) bytes: usize,
    pub(super) enqueued: Instant,
    pub(super) deadline: Instant,
    pub(super) reply: T,
}

/// Where a batch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// To be sent, under its number.
    Waiting,
    /// Under way.
    Sent,
    /// In the log; kept while one before it is unsettled, since the broker counts it among its last five.
    Done,
    /// Certainly not in the log; to be numbered anew.
    Unnumbered,
}

impl<R, T> Batch<R, T> {
    pub(super) fn new(id: u64) -> Self {
        Self {
            id,
            calls: Vec::new(),
            records: 0,
            bytes: 0,
            body: Body::default(),
            sequence: 0,
            status: Status::Waiting,
            doubt: false,
        }
    }

    pub(super) fn add(&mut self, call: Call<R, T>) {
        let Call { mut records, bytes, enqueued, deadline, reply } = call;
        self.calls.push(Part { records: records.len(), bytes, enqueued, deadline, reply });
        self.records += records.len();
        self.bytes += bytes;
        if self.body.records.is_empty() {
            self.body.records = records;
        } else {
            self.body.records.append(&mut records);
        }
    }

    /// When its first call runs out of time.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.calls.first().map(|call| call.deadline)
    }

    /// Takes it apart into its calls.
    pub(super) fn split(self) -> impl Iterator<Item = Call<R, T>> {
        let mut records = self.body.records.into_iter();
        self.calls.into_iter().map(move |part| Call {
            records: records.by_ref().take(part.records).collect(),
            bytes: part.bytes,
            enqueued: part.enqueued,
            deadline: part.deadline,
            reply: part.reply,
        })
    }
}
