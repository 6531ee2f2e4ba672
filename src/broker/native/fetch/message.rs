use tokio::time::Instant;

use super::reading::Reading;
use crate::record::TopicPartition;

/// From the source to its manager.
pub(super) enum Command {
    /// Read this.
    Read(Reading),
    /// Some partition was removed: look which.
    Look,
}

/// From the manager to the loop of a broker.
pub(super) enum Order {
    /// Read this.
    Read(Reading),
    /// Metadata speaks against reading this partition here.
    GiveBack(TopicPartition),
}

/// From the loops, and from whoever else had a reading, to the manager.
pub(super) enum Report {
    /// A reading has left the loop of a broker, or comes from elsewhere where there is none.
    Back { broker: Option<i32>, reading: Reading, then: Then },
    /// Whether the loop of a broker names topics by name, so that nothing there tells one topic from another.
    ByName { broker: i32, by_name: bool },
}

/// What becomes of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Nobody wants it any more, or it cannot go on.
    End,
    /// It goes on at this time; with metadata of after its failure where that is `stale`.
    Again { due: Instant, stale: bool },
    /// Its leader is to be asked whether it can go on.
    Doubt(Doubt),
}

/// What a broker said that would end a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The offset is not in the log.
    OutOfRange,
    /// The log was cut back, and differs from here on from what was read.
    Truncated { diverged_at: i64 },
}
