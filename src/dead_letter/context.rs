use std::sync::Arc;

use super::fingerprint::{Fingerprints, hash_from};
use super::names;
use super::text::put_number;
use crate::classifier::Evidence;
use crate::policy::Category;
use crate::record::{Record, RecordId};

/// Why and where a record failed. Optional fields are those that other conventions for dead letters lack; the writer
/// leaves out what is not set.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetterContext {
    /// Where the record was read from.
    pub source: RecordId,
    /// The record's own timestamp, in milliseconds since the Unix epoch.
    pub source_timestamp: Option<i64>,
    /// The consumer group.
    pub group: Option<Arc<str>>,
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
    pub consumer_id: Option<Arc<str>>,
    /// The version of the consumer that gave up.
    pub consumer_version: Option<Arc<str>>,
    /// How often the record was replayed.
    pub replay_count: u32,
    /// The same for all occurrences of one fault.
    pub fingerprint: String,
}

impl DeadLetterContext {
    /// What `record` and `evidence` say; group, attempts, times and consumer are left to be set. The replay count is
    /// taken from the record's headers.
    pub fn new(record: &Record, category: Category, evidence: &Evidence) -> Self {
        Self::of(record, category, evidence.clone(), &mut Fingerprints::default())
    }

    /// The same from evidence that nobody needs any more.
    pub(crate) fn of(record: &Record, category: Category, evidence: Evidence, fingerprints: &mut Fingerprints) -> Self {
        let Evidence { error_type, message, backtrace, location, .. } = evidence;
        let fingerprint = fingerprints.of(category, &error_type, &message, location.as_deref());
        Self {
            source_timestamp: Some(record.timestamp()),
            backtrace,
            replay_count: record.headers().text(names::REPLAY_COUNT).and_then(|count| count.parse().ok()).unwrap_or(0),
            ..Self::known(record.id(), category, error_type, message, fingerprint)
        }
    }

    /// The least that a dead letter says.
    pub(super) fn known(
        source: RecordId,
        category: Category,
        error_type: String,
        message: String,
        fingerprint: String,
    ) -> Self {
        Self {
            source,
            source_timestamp: None,
            group: None,
            attempts: None,
            fingerprint,
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
        let mut id = String::new();
        self.put_id(&mut id);
        id
    }

    /// Appends the short id.
    pub(super) fn put_id(&self, to: &mut String) {
        let partition = &self.source.partition;
        put_short_id(to, partition.topic(), partition.partition(), self.source.offset);
    }
}

/// A short id for display: the first 16 hexadecimal digits of the MD5 of `topic:partition:offset`. Fold duplicates by
/// the coordinates themselves, the topic's id and the group.
pub fn short_id(topic: &str, partition: i32, offset: i64) -> String {
    let mut id = String::new();
    put_short_id(&mut id, topic, partition, offset);
    id
}

fn put_short_id(to: &mut String, topic: &str, partition: i32, offset: i64) {
    let start = to.len();
    to.push_str(topic);
    for number in [i64::from(partition), offset] {
        to.push(':');
        put_number(to, number);
    }
    hash_from(to, start);
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
