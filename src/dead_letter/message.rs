use std::backtrace::Backtrace;
use std::fmt;
use std::sync::Arc;

use super::encode::Original;
use super::{DeadLetterContext, Rung};
use crate::broker::BrokerError;
use crate::classifier::PublishVerdict;
use crate::partition::Ownership;
use crate::record::{Header, Record, TopicPartition};

/// What the dead-letter actor is told.
#[derive(Debug)]
pub(crate) enum DeadLetterMessage {
    /// Publish dead letters in their order; their records are settled once the broker acknowledges them.
    Publish { target: Target, jobs: Jobs },
    /// Dead letters under way are not acknowledged yet, and this is why.
    Delayed { target: Target, partition: TopicPartition, error: BrokerError, waiting: usize },
    /// An attempt to publish ended.
    Published { target: Target, jobs: Jobs, outcome: Outcome },
    /// A wait before publishing again is over.
    Resume(Target),
}

/// One dead letter on its way.
pub(crate) struct Job {
    pub(crate) ownership: Arc<Ownership>,
    pub(crate) record: Record,
    /// See [`size_of`](Self::size_of). Taken where the record is in the cache already.
    pub(crate) size: usize,
    /// The headers to publish in place of the record's own: those that the redactor left.
    pub(crate) headers: Option<Vec<Header>>,
    pub(crate) context: DeadLetterContext,
    /// A panic's backtrace, not yet rendered since that takes a millisecond or two.
    pub(crate) backtrace: Option<Backtrace>,
    pub(crate) alert: bool,
    pub(crate) page: bool,
    /// How much of it is published; lowered when the broker refuses it.
    pub(crate) rung: Rung,
    /// Whether it was refused in a batch, and goes alone to find out which one was meant.
    pub(crate) alone: bool,
}

/// How many headers a dead letter has as a rule, the record's own included.
const HEADERS: usize = 24;

/// Several jobs.
#[allow(clippy::vec_box)] // a job is large, and moves from queue to batch to answer: by its box
pub(crate) type Jobs = Vec<Box<Job>>;

impl Job {
    /// The size of a record, in bytes.
    pub(crate) fn size_of(record: &Record) -> usize {
        let length = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
        let headers = record.headers().iter().map(|header| header.name.len() + length(header.value));
        length(record.key()) + length(record.value()) + headers.sum::<usize>()
    }

    /// What it carries on of its record.
    pub(super) fn original(&self) -> Original {
        let mut headers = Vec::with_capacity(HEADERS);
        match &self.headers {
            Some(redacted) => headers.extend_from_slice(redacted),
            None => headers.extend(self.record.owned_headers()),
        }
        Original { key: self.record.key_bytes(), value: self.record.value_bytes(), headers }
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Job({})", self.context.source)
    }
}

/// A queue of dead letters: those of one source partition number for one topic, published in order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Target {
    pub(crate) topic: String,
    pub(crate) source_partition: i32,
}

/// How an attempt to publish ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Acknowledged: where, and the offsets in order.
    Acknowledged { partition: TopicPartition, offsets: Vec<i64> },
    /// Not acknowledged: why, and what is done about it.
    Refused {
        /// Where it should have gone; the source's partition where the topic's partitions are not known.
        partition: TopicPartition,
        error: BrokerError,
        verdict: PublishVerdict,
    },
    /// Nothing was sent: the lease of the member ended, or the partition was lost, since the batch was taken.
    Withheld,
}
