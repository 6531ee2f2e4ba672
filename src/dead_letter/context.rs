use bytes::Bytes;

use super::fingerprint::{fingerprint, short_hash};
use super::names;
use super::rung::Rung;
use crate::classifier::Evidence;
use crate::policy::Category;
use crate::record::{Header, Record, RecordId};

/// A record plus its failure context.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The original key; `None` is null.
    pub key: Option<Bytes>,
    /// The original value; `None` is null, a tombstone if the [`rung`](Self::rung) keeps values.
    pub value: Option<Bytes>,
    /// The original headers in their order. Those with reserved names are left out when it is written.
    pub headers: Vec<Header>,
    /// Why and where it failed.
    pub context: DeadLetterContext,
    /// How much of the original is there: [`Rung::Full`], except where a broker refused that.
    pub rung: Rung,
}

impl DeadLetter {
    /// The dead letter of `record`. Key and value are not copied.
    pub fn new(record: &Record, context: DeadLetterContext) -> Self {
        Self {
            key: record.key_bytes(),
            value: record.value_bytes(),
            headers: record.owned_headers(),
            context,
            rung: Rung::Full,
        }
    }
}

/// Why and where a record failed. Optional fields are those that other conventions for dead letters lack; the writer
/// leaves out what is not set.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetterContext {
    /// Where the record was read from.
    pub source: RecordId,
    /// The record's own timestamp, in milliseconds since the Unix epoch.
    pub source_timestamp: Option<i64>,
    /// The consumer group.
    pub group: Option<String>,
    /// Attempts made, the last one included.
    pub attempts: Option<u32>,
    /// The failure's category.
    pub category: Category,
    /// The error's type.
    pub error_type: String,
    /// The whole chain of errors; cut to its limit when written.
    pub message: String,
    /// The chain, one cause per line, and a backtrace; cut to its limit when written.
    pub backtrace: Option<String>,
    /// When the first attempt failed, in milliseconds since the Unix epoch.
    pub first_failed_at: Option<i64>,
    /// When the last attempt failed, in milliseconds since the Unix epoch.
    pub last_failed_at: Option<i64>,
    /// The consumer that gave up.
    pub consumer_id: Option<String>,
    /// The version of the consumer that gave up.
    pub consumer_version: Option<String>,
    /// How often the record was replayed.
    pub replay_count: u32,
    /// The same for all occurrences of one fault.
    pub fingerprint: String,
}

impl DeadLetterContext {
    /// What `record` and `evidence` say; group, attempts, times and consumer are left to be set. The replay count is
    /// taken from the record's headers.
    pub fn new(record: &Record, category: Category, evidence: &Evidence) -> Self {
        let Evidence { error_type, message, backtrace, location, .. } = evidence;
        Self {
            source_timestamp: Some(record.timestamp()),
            backtrace: backtrace.clone(),
            replay_count: record.headers().text(names::REPLAY_COUNT).and_then(|count| count.parse().ok()).unwrap_or(0),
            ..Self::at(record.id(), category, error_type.clone(), message.clone(), location.as_deref())
        }
    }

    /// The least that a dead letter says.
    pub(super) fn bare(source: RecordId, category: Category, error_type: String, message: String) -> Self {
        Self::at(source, category, error_type, message, None)
    }

    /// The same of a fault whose place is known.
    fn at(source: RecordId, category: Category, error_type: String, message: String, location: Option<&str>) -> Self {
        Self {
            source,
            source_timestamp: None,
            group: None,
            attempts: None,
            fingerprint: fingerprint(category, &error_type, &message, location),
            category,
            error_type,
            message,
            backtrace: None,
            first_failed_at: None,
            last_failed_at: None,
            consumer_id: None,
            consumer_version: None,
            replay_count: 0,
        }
    }

    /// The short id for display, see [`short_id`].
    pub fn id(&self) -> String {
        let partition = &self.source.partition;
        short_id(partition.topic(), partition.partition(), self.source.offset)
    }
}

/// A short id for display: the first 16 hexadecimal digits of the MD5 of `topic:partition:offset`. Fold duplicates by
/// the coordinates themselves, the topic's id and the group.
pub fn short_id(topic: &str, partition: i32, offset: i64) -> String {
    short_hash(format!("{topic}:{partition}:{offset}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_sixteen_digits_of_an_md5() {
        // printf 'orders:0:1' | md5sum
        assert_eq!(short_id("orders", 0, 1), "f7c8e5b8af658283");
    }
}
