use crate::replay::Convention;
use crate::replay::reader::layout::{Field, Layout, Name, Repeats};

/// The JSON envelope with the original record's coordinates, and what Bezoar adds to it.
pub(crate) static ENVELOPE: Layout = Layout {
    convention: Convention::Envelope,
    names: &[
        Name::json("original_topic", Field::Topic),
        Name::json("original_partition", Field::Partition),
        Name::json("original_offset", Field::Offset),
        Name::json("original_key", Field::OriginalKey),
        Name::json("original_value", Field::OriginalValue),
        Name::json("original_headers", Field::OriginalHeaders),
        Name::json("error_category", Field::Category),
        Name::json("error_type", Field::ErrorType),
        Name::json("error_message", Field::Message),
        Name::json("stack_trace", Field::Backtrace),
        Name::json("first_failed_at", Field::FirstFailedAt),
        Name::json("last_failed_at", Field::LastFailedAt),
        Name::json("retry_count", Field::Retries),
        Name::json("consumer_id", Field::ConsumerId),
        Name::json("consumer_version", Field::ConsumerVersion),
        Name::json("consumer_group", Field::Group),
        Name::json("original_topic_id", Field::TopicId),
        Name::json("original_timestamp", Field::Timestamp),
        Name::json("replay_count", Field::ReplayCount),
        Name::json("fingerprint", Field::Fingerprint),
        Name::json("truncated", Field::Truncated),
        Name::json("original_bytes", Field::OriginalBytes),
    ],
    needs: &[
        &[Field::Topic, Field::Partition, Field::Offset],
        &[Field::OriginalValue, Field::OriginalBytes],
        &[Field::Category, Field::ErrorType, Field::Message],
    ],
    repeats: Repeats::Appended,
    distinct: true,
};

/// The JSON envelope of simple consumers. The older ones name neither topic nor the error's type by itself.
pub(crate) static SIMPLE_ENVELOPE: Layout = Layout {
    convention: Convention::SimpleEnvelope,
    names: &[
        Name::json("topic", Field::Topic),
        Name::json("partition", Field::Partition),
        Name::json("offset", Field::Offset),
        Name::json("original_message", Field::OriginalValue),
        Name::json("error_type", Field::ErrorType),
        Name::json("error_message", Field::Message),
        Name::json("error", Field::Error),
        Name::json("stack_trace", Field::Backtrace),
        Name::json("failed_at", Field::LastFailedAt),
        Name::json("retry_count", Field::Retries),
        Name::json("consumer_id", Field::ConsumerId),
    ],
    needs: &[&[Field::OriginalValue], &[Field::ErrorType, Field::Message, Field::Error]],
    repeats: Repeats::Appended,
    distinct: true,
};
