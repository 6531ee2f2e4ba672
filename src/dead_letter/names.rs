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
/// Which dead letter the record is a replay of, as `topic/partition/offset`. It is on replayed records.
pub const REPLAY_OF: &str = "bezoar.replay.of";
/// The id of the replay, which its mark in the replays topic has too. It is on replayed records.
pub const REPLAY_ID: &str = "bezoar.replay.id";
/// The version of the JSON envelope, where the value is one.
pub const ENVELOPE: &str = "bezoar.envelope";
/// What was left out of the record.
pub const TRUNCATED: &str = "bezoar.truncated";

/// The plain profile's name for the error's type.
pub const PLAIN_ERROR: &str = "error";
/// The plain profile's name for `topic/partition/offset`.
pub const PLAIN_SOURCE: &str = "source";

/// Spring Kafka's names for dead letters.
pub mod spring {
    /// Where the record was read from: the topic.
    pub const TOPIC: &str = "kafka_dlt-original-topic";
    /// Where the record was read from: the partition, four bytes, big-endian.
    pub const PARTITION: &str = "kafka_dlt-original-partition";
    /// Where the record was read from: the offset, eight bytes, big-endian.
    pub const OFFSET: &str = "kafka_dlt-original-offset";
    /// The record's own timestamp, eight bytes, big-endian.
    pub const TIMESTAMP: &str = "kafka_dlt-original-timestamp";
    /// What kind of timestamp that is.
    pub const TIMESTAMP_TYPE: &str = "kafka_dlt-original-timestamp-type";
    /// The consumer group.
    pub const GROUP: &str = "kafka_dlt-original-consumer-group";
    /// The error's type.
    pub const EXCEPTION: &str = "kafka_dlt-exception-fqcn";
    /// The type of its cause.
    pub const CAUSE: &str = "kafka_dlt-exception-cause-fqcn";
    /// The error's message.
    pub const MESSAGE: &str = "kafka_dlt-exception-message";
    /// Its stack trace.
    pub const STACKTRACE: &str = "kafka_dlt-exception-stacktrace";
    /// The type of the error in reading the key.
    pub const KEY_EXCEPTION: &str = "kafka_dlt-key-exception-fqcn";
    /// The message of the error in reading the key.
    pub const KEY_MESSAGE: &str = "kafka_dlt-key-exception-message";
    /// The stack trace of the error in reading the key.
    pub const KEY_STACKTRACE: &str = "kafka_dlt-key-exception-stacktrace";

    pub(crate) const ALL: [&str; 13] = [
        TOPIC,
        PARTITION,
        OFFSET,
        TIMESTAMP,
        TIMESTAMP_TYPE,
        GROUP,
        EXCEPTION,
        CAUSE,
        MESSAGE,
        STACKTRACE,
        KEY_EXCEPTION,
        KEY_MESSAGE,
        KEY_STACKTRACE,
    ];
}

/// Kafka Connect's names for dead letters. Numbers are decimal.
pub mod connect {
    /// Where the record was read from: the topic.
    pub const TOPIC: &str = "__connect.errors.topic";
    /// Where the record was read from: the partition.
    pub const PARTITION: &str = "__connect.errors.partition";
    /// Where the record was read from: the offset.
    pub const OFFSET: &str = "__connect.errors.offset";
    /// The connector.
    pub const CONNECTOR: &str = "__connect.errors.connector.name";
    /// The number of the connector's task.
    pub const TASK: &str = "__connect.errors.task.id";
    /// What was being done.
    pub const STAGE: &str = "__connect.errors.stage";
    /// Which class did it.
    pub const CLASS: &str = "__connect.errors.class.name";
    /// The error's type.
    pub const EXCEPTION: &str = "__connect.errors.exception.class.name";
    /// The error's message.
    pub const MESSAGE: &str = "__connect.errors.exception.message";
    /// Its stack trace.
    pub const STACKTRACE: &str = "__connect.errors.exception.stacktrace";

    pub(crate) const ALL: [&str; 10] =
        [TOPIC, PARTITION, OFFSET, CONNECTOR, TASK, STAGE, CLASS, EXCEPTION, MESSAGE, STACKTRACE];
}

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

/// Whether a header of this name is replaced in every dead letter.
pub(super) fn is_reserved(name: &[u8]) -> bool {
    // Most headers are told by how they begin.
    let may_be = name.starts_with(b"bezoar.") || name.starts_with(b"__dlq.");
    may_be && is_one_of(name, &RESERVED)
}

pub(super) fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|known| known.as_bytes() == name)
}
