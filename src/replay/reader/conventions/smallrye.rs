use crate::replay::Convention;
use crate::replay::reader::layout::{Field, Layout, Name, Repeats};

/// SmallRye's dead-letter queue. `dead-letter-topic` is the source. A hop writes its set before those that it copies.
pub(crate) static DEAD_LETTER: Layout = Layout {
    convention: Convention::SmallRye,
    names: &[
        Name::text("dead-letter-topic", Field::Topic),
        Name::text("dead-letter-partition", Field::Partition),
        Name::text("dead-letter-offset", Field::Offset),
        Name::text("dead-letter-exception-class-name", Field::ErrorType),
        Name::text("dead-letter-reason", Field::Message),
        Name::text("dead-letter-cause", Field::Backtrace),
        Name::rest("dead-letter-cause-class-name"),
    ],
    needs: &[&[Field::Topic, Field::Partition, Field::Offset, Field::ErrorType]],
    repeats: Repeats::Prepended,
    distinct: true,
};

/// SmallRye's delayed retry topics, and the dead-letter topic at their end.
pub(crate) static DELAYED_RETRY: Layout = Layout {
    convention: Convention::SmallRye,
    names: &[
        Name::text("delayed-retry-topic", Field::Topic),
        Name::text("delayed-retry-partition", Field::Partition),
        Name::text("delayed-retry-offset", Field::Offset),
        Name::text("delayed-retry-original-timestamp", Field::Timestamp),
        Name::text("delayed-retry-count", Field::Retries),
        // When it was first processed: with retries, that is when the first attempt failed.
        Name::text("delayed-retry-first-processing-timestamp", Field::FirstFailedAt),
        Name::text("delayed-retry-exception-class-name", Field::ErrorType),
        Name::text("delayed-retry-reason", Field::Message),
        Name::text("delayed-retry-cause", Field::Backtrace),
        Name::rest("delayed-retry-cause-class-name"),
    ],
    needs: &[&[Field::Topic, Field::Partition, Field::Offset, Field::Retries]],
    repeats: Repeats::Prepended,
    distinct: true,
};
