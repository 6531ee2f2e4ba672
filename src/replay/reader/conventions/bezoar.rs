use crate::dead_letter::names::*;
use crate::replay::Convention;
use crate::replay::reader::layout::{Field, Layout, Name, Repeats};

/// Bezoar's own headers: those of KIP-1191 and what they lack. Each is there once.
pub(crate) static BEZOAR: Layout = Layout {
    convention: Convention::Bezoar,
    names: &[
        Name::text(TOPIC, Field::Topic),
        Name::text(PARTITION, Field::Partition),
        Name::text(OFFSET, Field::Offset),
        Name::text(GROUP, Field::Group),
        Name::text(DELIVERY_COUNT, Field::Attempts),
        Name::text(MESSAGE, Field::Message),
        Name::rest(ID),
        Name::text(CATEGORY, Field::Category),
        Name::text(ERROR_TYPE, Field::ErrorType),
        Name::text(BACKTRACE, Field::Backtrace),
        Name::text(SOURCE_TIMESTAMP, Field::Timestamp),
        Name::text(SOURCE_TOPIC_ID, Field::TopicId),
        Name::text(FIRST_FAILED_AT, Field::FirstFailedAt),
        Name::text(LAST_FAILED_AT, Field::LastFailedAt),
        Name::text(CONSUMER_ID, Field::ConsumerId),
        Name::text(CONSUMER_VERSION, Field::ConsumerVersion),
        Name::text(FINGERPRINT, Field::Fingerprint),
        Name::text(ENVELOPE, Field::Envelope),
        Name::text(TRUNCATED, Field::Truncated),
    ],
    needs: &[&[Field::Category, Field::ErrorType, Field::Fingerprint]],
    repeats: Repeats::Appended,
    distinct: true,
};

/// What a replay adds to a record: no failure, and no part of the original.
pub(crate) static LINEAGE: Layout = Layout {
    convention: Convention::Unrecognized,
    names: &[
        Name::text(REPLAY_COUNT, Field::ReplayCount),
        Name::text(REPLAY_OF, Field::ReplayOf),
        Name::text(REPLAY_ID, Field::ReplayId),
    ],
    needs: &[],
    repeats: Repeats::Appended,
    distinct: true,
};
