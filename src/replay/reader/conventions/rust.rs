use crate::replay::Convention;
use crate::replay::reader::layout::{Field, Layout, Name, Repeats};

/// beavers. The origin is the first one's; the rest is the last failure's.
pub(crate) static BEAVERS: Layout = Layout {
    convention: Convention::Beavers,
    names: &[
        Name::text("beavers-dlq-origin-topic", Field::Topic),
        Name::text("beavers-dlq-origin-partition", Field::Partition),
        Name::text("beavers-dlq-origin-offset", Field::Offset),
        Name::text("beavers-dlq-origin-timestamp", Field::Timestamp),
        Name::text("beavers-dlq-subscription", Field::Group),
        Name::text("beavers-dlq-attempts", Field::Attempts),
        Name::text("beavers-dlq-failure", Field::ErrorType),
        Name::text("beavers-dlq-error", Field::Message),
        // How often it was dead-lettered.
        Name::rest("beavers-dlq-count"),
    ],
    needs: &[&[Field::Topic, Field::Partition, Field::Offset, Field::ErrorType]],
    repeats: Repeats::Appended,
    distinct: true,
};

/// krafka.
pub(crate) static KRAFKA: Layout = Layout {
    convention: Convention::Krafka,
    names: &[
        Name::text("__krafka.dlq.original.topic", Field::Topic),
        Name::text("__krafka.dlq.original.partition", Field::Partition),
        Name::text("__krafka.dlq.original.offset", Field::Offset),
        Name::text("__krafka.dlq.exception.message", Field::Message),
    ],
    needs: &[&[Field::Topic, Field::Partition, Field::Offset, Field::Message]],
    repeats: Repeats::Appended,
    distinct: true,
};

/// autumn. The consumer's name is that of its configuration.
pub(crate) static AUTUMN: Layout = Layout {
    convention: Convention::Autumn,
    names: &[
        Name::text("autumn.dlq.original-topic", Field::Topic),
        Name::text("autumn.dlq.original-partition", Field::Partition),
        Name::text("autumn.dlq.original-offset", Field::Offset),
        Name::text("autumn.dlq.consumer", Field::ConsumerId),
        Name::text("autumn.dlq.error", Field::Message),
    ],
    needs: &[&[Field::Topic, Field::Partition, Field::Offset, Field::Message]],
    repeats: Repeats::Appended,
    distinct: true,
};
