use crate::dead_letter::names::spring;
use crate::replay::Convention;
use crate::replay::reader::layout::{Field, Layout, Name, Repeats};

/// Spring Kafka's dead-letter publishing. Each hop appends a set. What a listener throws comes wrapped: its own type is that of
/// the cause.
pub(crate) static SPRING: Layout = Layout {
    convention: Convention::Spring,
    names: &[
        Name::text(spring::TOPIC, Field::Topic),
        Name::int(spring::PARTITION, Field::Partition),
        Name::long(spring::OFFSET, Field::Offset),
        Name::long(spring::TIMESTAMP, Field::Timestamp),
        Name::rest(spring::TIMESTAMP_TYPE),
        Name::text(spring::GROUP, Field::Group),
        Name::text(spring::CAUSE, Field::ErrorType),
        Name::text(spring::EXCEPTION, Field::ErrorType),
        Name::text(spring::MESSAGE, Field::Message),
        Name::text(spring::STACKTRACE, Field::Backtrace),
        // Failures of keys stand beside those of values, and count where there are no such.
        Name::text(spring::KEY_EXCEPTION, Field::ErrorType),
        Name::text(spring::KEY_MESSAGE, Field::Message),
        Name::text(spring::KEY_STACKTRACE, Field::Backtrace),
    ],
    needs: &[&[Field::Topic, Field::Partition, Field::Offset, Field::ErrorType]],
    repeats: Repeats::Appended,
    distinct: true,
};

/// Spring Kafka's retry topics, and the dead-letter topic at their end. The originals are those of the first topic.
pub(crate) static SPRING_RETRY: Layout = Layout {
    convention: Convention::SpringRetry,
    names: &[
        Name::text("kafka_original-topic", Field::Topic),
        Name::int("kafka_original-partition", Field::Partition),
        Name::long("kafka_original-offset", Field::Offset),
        Name::long("kafka_original-timestamp", Field::Timestamp),
        Name::minimal("retry_topic-original-timestamp", Field::Timestamp),
        Name::rest("kafka_original-timestamp-type"),
        Name::text(spring::GROUP, Field::Group),
        Name::int_or_byte("retry_topic-attempts", Field::Attempts),
        // When the last attempt failed is not told; when the next one is due is.
        Name::rest("retry_topic-backoff-timestamp"),
        Name::text("kafka_exception-cause-fqcn", Field::ErrorType),
        Name::text("kafka_exception-fqcn", Field::ErrorType),
        Name::text("kafka_exception-message", Field::Message),
        Name::text("kafka_exception-stacktrace", Field::Backtrace),
        Name::text("kafka_key-exception-fqcn", Field::ErrorType),
        Name::text("kafka_key-exception-message", Field::Message),
        Name::text("kafka_key-exception-stacktrace", Field::Backtrace),
    ],
    needs: &[&[Field::Topic, Field::Partition, Field::Offset, Field::Attempts]],
    repeats: Repeats::Appended,
    distinct: true,
};
