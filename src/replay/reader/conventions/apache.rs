use crate::dead_letter::names::{self, connect};
use crate::replay::Convention;
use crate::replay::reader::layout::{Field, Layout, Name, Repeats};

/// Kafka's share groups. The original headers are left out, and key and value unless they are asked for.
pub(crate) static KIP_1191: Layout = Layout {
    convention: Convention::Kip1191,
    names: &[
        Name::text(names::TOPIC, Field::Topic),
        Name::text(names::PARTITION, Field::Partition),
        Name::text(names::OFFSET, Field::Offset),
        Name::text(names::GROUP, Field::Group),
        Name::text(names::DELIVERY_COUNT, Field::Attempts),
        Name::text(names::MESSAGE, Field::Message),
    ],
    needs: &[&[Field::Topic, Field::Partition, Field::Offset]],
    repeats: Repeats::Appended,
    distinct: true,
};

/// Kafka Connect's sinks. Each hop appends a set.
pub(crate) static CONNECT: Layout = Layout {
    convention: Convention::Connect,
    names: &[
        Name::text(connect::TOPIC, Field::Topic),
        Name::text(connect::PARTITION, Field::Partition),
        Name::text(connect::OFFSET, Field::Offset),
        // A sink's group is named after it.
        Name::text(connect::CONNECTOR, Field::Group),
        Name::rest(connect::TASK),
        Name::rest(connect::STAGE),
        Name::rest(connect::CLASS),
        Name::text(connect::EXCEPTION, Field::ErrorType),
        Name::text(connect::MESSAGE, Field::Message),
        Name::text(connect::STACKTRACE, Field::Backtrace),
    ],
    needs: &[&[Field::Topic, Field::Partition, Field::Offset, Field::ErrorType]],
    repeats: Repeats::Appended,
    distinct: true,
};

/// Kafka Streams (KIP-1034).
pub(crate) static STREAMS: Layout = Layout {
    convention: Convention::Streams,
    names: &[
        Name::text("__streams.errors.topic", Field::Topic),
        Name::text("__streams.errors.partition", Field::Partition),
        Name::text("__streams.errors.offset", Field::Offset),
        Name::text("__streams.errors.exception", Field::ErrorType),
        Name::text("__streams.errors.message", Field::Message),
        Name::text("__streams.errors.stacktrace", Field::Backtrace),
    ],
    needs: &[&[Field::Topic, Field::Partition, Field::Offset, Field::ErrorType]],
    repeats: Repeats::Appended,
    distinct: true,
};
