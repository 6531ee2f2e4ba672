use crate::replay::Convention;
use crate::replay::reader::layout::{Field, Layout, Name, Repeats};

/// Watermill's poison queue.
pub(crate) static WATERMILL: Layout = Layout {
    convention: Convention::Watermill,
    names: &[
        Name::text("topic_poisoned", Field::Topic),
        Name::text("reason_poisoned", Field::Message),
        Name::text("handler_poisoned", Field::ConsumerId),
        Name::rest("subscriber_poisoned"),
    ],
    needs: &[&[Field::Topic, Field::Message]],
    repeats: Repeats::Appended,
    distinct: true,
};

/// Karafka, its names before 2.5 too.
pub(crate) static KARAFKA: Layout = Layout {
    convention: Convention::Karafka,
    names: &[
        Name::text("source_topic", Field::Topic),
        Name::text("source_partition", Field::Partition),
        Name::text("source_offset", Field::Offset),
        Name::text("source_consumer_group", Field::Group),
        Name::text("source_attempts", Field::Attempts),
        Name::rest("source_trace_id"),
        Name::text("original_topic", Field::Topic),
        Name::text("original_partition", Field::Partition),
        Name::text("original_offset", Field::Offset),
        Name::text("original_consumer_group", Field::Group),
        Name::text("original_attempts", Field::Attempts),
    ],
    needs: &[&[Field::Topic], &[Field::Partition], &[Field::Offset]],
    repeats: Repeats::Appended,
    distinct: false,
};

/// Sentry's arroyo. The topic is a matter of its configuration.
pub(crate) static ARROYO: Layout = Layout {
    convention: Convention::Arroyo,
    names: &[Name::text("original_partition", Field::Partition), Name::text("original_offset", Field::Offset)],
    needs: &[&[Field::Partition], &[Field::Offset]],
    repeats: Repeats::Appended,
    distinct: false,
};

/// Trendyol's kafka-cronsumer and kin, and others with `x-original-topic`.
pub(crate) static TRENDYOL: Layout = Layout {
    convention: Convention::Trendyol,
    names: &[
        Name::text("x-original-topic", Field::Topic),
        Name::text("x-retry-count", Field::Attempts),
        Name::text("x-retry-attempt-count", Field::Attempts),
        Name::text("x-error-message", Field::Message),
        // When it was last put into the retry topic.
        Name::nanos("x-produce-time", Field::LastFailedAt),
    ],
    needs: &[&[Field::Topic, Field::Attempts, Field::Message]],
    repeats: Repeats::Appended,
    distinct: false,
};
