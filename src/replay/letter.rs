use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::convention::Convention;
use crate::dead_letter::short_id;
use crate::policy::Category;
use crate::record::{Header, RecordId, TopicPartition};

/// A dead letter as it was read, whoever wrote it: the original record, and why it failed. Headers can be forged: all of this is
/// what was claimed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// By which convention it was written.
    pub convention: Convention,
    /// Where the record came from first.
    pub origin: Origin,
    /// Where the record was read from last, where it has come through retry or dead-letter topics since: the latest hop.
    pub last_hop: Option<Origin>,
    /// The original key; `None` is null.
    pub key: Option<Bytes>,
    /// The original value; `None` is null, a tombstone if the [`fidelity`](Self::fidelity) is exact.
    pub value: Option<Bytes>,
    /// The original headers in their order, without those that the convention added, and those of earlier replays.
    pub headers: Vec<Header>,
    /// How far key, value and headers are those of the original.
    pub fidelity: Fidelity,
    /// What the last failure was classified as; [`Category::Unknown`] where the convention has none.
    pub category: Category,
    /// The error's type; empty where it is not known.
    pub error_type: String,
    /// The error's message; empty where it is not known.
    pub message: String,
    /// Causes and backtrace.
    pub backtrace: Option<String>,
    /// Attempts made, the last one included.
    pub attempts: Option<u32>,
    /// When the first attempt failed, in milliseconds since the Unix epoch.
    pub first_failed_at: Option<i64>,
    /// When the last attempt failed, in milliseconds since the Unix epoch.
    pub last_failed_at: Option<i64>,
    /// The consumer group.
    pub group: Option<Arc<str>>,
    /// The consumer that gave up.
    pub consumer_id: Option<Arc<str>>,
    /// The version of the consumer that gave up.
    pub consumer_version: Option<Arc<str>>,
    /// The same for all occurrences of one fault.
    pub fingerprint: String,
    /// How often the record had been replayed when it failed.
    pub replay_count: u32,
    /// The dead letter that the record was a replay of when it failed, as `topic/partition/offset`.
    pub replay_of: Option<String>,
    /// The id of that replay, which its mark has too.
    pub replay_id: Option<Uuid>,
    /// What could not be read and is left out, one `name: problem` each; empty as a rule.
    pub unreadable: Vec<String>,
}

impl DeadLetter {
    /// The short id for display, see [`short_id`]; `None` where topic, partition or offset are not known.
    pub fn id(&self) -> Option<String> {
        let Origin { topic, partition, offset, .. } = &self.origin;
        Some(short_id(topic.as_deref()?, (*partition)?, (*offset)?))
    }
}

/// Where a record came from, as far as it is told. Displays as `orders/0/17`, with `?` for what is not known.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Origin {
    /// The topic.
    pub topic: Option<Arc<str>>,
    /// The topic's id, which tells it from a later one of the same name.
    pub topic_id: Option<Uuid>,
    /// The partition, 0-based.
    pub partition: Option<i32>,
    /// The offset.
    pub offset: Option<i64>,
    /// The record's own timestamp, in milliseconds since the Unix epoch.
    pub timestamp: Option<i64>,
}

impl Origin {
    /// The record, where topic, partition and offset are all known.
    pub fn record(&self) -> Option<RecordId> {
        let partition = TopicPartition::new(Arc::clone(self.topic.as_ref()?), self.partition?);
        Some(RecordId { topic_id: self.topic_id, partition, offset: self.offset? })
    }
}

impl From<RecordId> for Origin {
    fn from(record: RecordId) -> Self {
        Self {
            topic: Some(record.partition.shared_topic()),
            topic_id: record.topic_id,
            partition: Some(record.partition.partition()),
            offset: Some(record.offset),
            timestamp: None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.topic.as_deref().unwrap_or("?"))?;
        match self.partition {
            Some(partition) => write!(f, "/{partition}")?,
            None => f.write_str("/?")?,
        }
        match self.offset {
            Some(offset) => write!(f, "/{offset}"),
            None => f.write_str("/?"),
        }
    }
}

/// How far key, value and headers of a dead letter are those of the original record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fidelity {
    /// Byte for byte, headers of reserved names aside.
    Exact,
    /// Some of it was left out, since a broker refused the whole: see [`Rung`](crate::dead_letter::Rung).
    Reduced(crate::dead_letter::Rung),
    /// The convention may leave out key and value (KIP-1191 as Kafka's share groups write it): a null may stand for what was
    /// not copied.
    Uncertain,
    /// Made from a JSON value: it means the same, but its bytes may be others.
    Rebuilt,
    /// Text in place of bytes that were no JSON (`{"raw": …}`), or a value that should be an envelope and is none: the original is
    /// not known.
    Lossy,
}
