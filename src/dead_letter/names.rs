//! The names of the headers that dead letters carry, for readers of one's own.

/// Where the record was read from: the topic.
pub const TOPIC: &str = "__dlq.errors.topic";
/// Where the record was read from: the partition, decimal.
pub const PARTITION: &str = "__dlq.errors.partition";
/// Where the record was read from: the offset, decimal.
pub const OFFSET: &str = "__dlq.errors.offset";
/// The consumer group.
pub const GROUP: &str = "__dlq.errors.group";
/// Attempts made, decimal.
pub const DELIVERY_COUNT: &str = "__dlq.errors.delivery.count";
/// The whole chain of errors.
pub const MESSAGE: &str = "__dlq.errors.message";
/// The short id for display.
pub const ID: &str = "bezoar.id";
/// The failure's category.
pub const CATEGORY: &str = "bezoar.category";
/// The error's type.
pub const ERROR_TYPE: &str = "bezoar.error.type";
/// The chain, one cause per line, and a backtrace.
pub const BACKTRACE: &str = "bezoar.error.backtrace";
/// The record's own timestamp.
pub const SOURCE_TIMESTAMP: &str = "bezoar.source.timestamp";
/// The id of the topic that the record was read from.
pub const SOURCE_TOPIC_ID: &str = "bezoar.source.topic.id";
/// When the first attempt failed.
pub const FIRST_FAILED_AT: &str = "bezoar.first-failed-at";
/// When the last attempt failed.
pub const LAST_FAILED_AT: &str = "bezoar.last-failed-at";
/// The consumer that gave up.
pub const CONSUMER_ID: &str = "bezoar.consumer.id";
/// The version of the consumer that gave up.
pub const CONSUMER_VERSION: &str = "bezoar.consumer.version";
/// The same for all occurrences of one fault.
pub const FINGERPRINT: &str = "bezoar.fingerprint";
/// How often the record was replayed, decimal.
pub const REPLAY_COUNT: &str = "bezoar.replay.count";
/// The version of the JSON envelope, where the value is one.
pub const ENVELOPE: &str = "bezoar.envelope";
/// What was left out of the record.
pub const TRUNCATED: &str = "bezoar.truncated";

/// The plain profile's name for the error's type.
pub const PLAIN_ERROR: &str = "error";
/// The plain profile's name for `topic/partition/offset`.
pub const PLAIN_SOURCE: &str = "source";

const RESERVED: [&str; 20] = [
    TOPIC,
    PARTITION,
    OFFSET,
    GROUP,
    DELIVERY_COUNT,
    MESSAGE,
    ID,
    CATEGORY,
    ERROR_TYPE,
    BACKTRACE,
    SOURCE_TIMESTAMP,
    SOURCE_TOPIC_ID,
    FIRST_FAILED_AT,
    LAST_FAILED_AT,
    CONSUMER_ID,
    CONSUMER_VERSION,
    FINGERPRINT,
    REPLAY_COUNT,
    ENVELOPE,
    TRUNCATED,
];

/// Whether a header of this name is replaced: in every dead letter, or where the plain profile is written.
pub(super) fn is_ours(name: &[u8], plain: bool) -> bool {
    // Most headers are told by how they begin.
    let may_be = name.starts_with(b"bezoar.") || name.starts_with(b"__dlq.");
    may_be && RESERVED.iter().any(|reserved| reserved.as_bytes() == name)
        || plain && (name == PLAIN_ERROR.as_bytes() || name == PLAIN_SOURCE.as_bytes())
}
