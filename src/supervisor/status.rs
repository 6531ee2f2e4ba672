use crate::broker::BrokerError;
use crate::record::TopicPartition;

/// Where a partition stands, and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionStatus {
    /// The partition.
    pub partition: TopicPartition,
    /// What it does.
    pub state: PartitionState,
    /// The offset to be delivered next, or being delivered. -1, as the two below, while it is being looked for where the
    /// partition starts.
    pub position: i64,
    /// The offset below which everything is settled.
    pub watermark: i64,
    /// The offset that was committed last; the start while nothing was.
    pub committed: i64,
    /// The offset after the last record that may be read, as of the last fetch; `None` where no fetch has told it yet.
    pub log_end: Option<i64>,
    /// How many offsets lie between the watermark and [`log_end`](Self::log_end): what is not settled yet, gaps in the log
    /// included. 0 where the log end known is older than the watermark.
    pub lag: Option<u64>,
    /// How many dead letters wait for the broker's acknowledgement.
    pub unacknowledged: usize,
    /// Whether a delivery is being waited for: its handler runs and has not ended.
    pub in_flight: bool,
    /// Whether it is paused, by itself or with the whole consumer.
    pub paused: bool,
    /// The record that failed and is to be delivered again: its offset, and how many attempts have failed.
    pub retrying: Option<(i64, u32)>,
}

/// What a partition does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartitionState {
    /// Its start offset is being looked for or committed, or its first handler made.
    Starting,
    /// Records are delivered as they come.
    Running,
    /// Nothing new is delivered until it is resumed.
    Paused,
    /// It has as many dead letters waiting for the broker as it may have, and goes on once that takes them.
    Held,
    /// Its handler was lost or could not be made, or it moves to another offset: it goes on after that.
    Restarting,
    /// It is being given up, to another member or because the consumer stops: what is in flight finishes.
    Revoking,
    /// It was given up by policy, and its records wait.
    Stopped,
}

/// Where a partition goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SeekTo {
    /// At this offset. It must lie in the log, or be its end.
    Offset(i64),
    /// At the first record in the log.
    Earliest,
    /// After the last record in the log: only what comes later is processed.
    Latest,
    /// At the first record with this timestamp (milliseconds since the Unix epoch) or a later one; where there is none, after
    /// the last.
    Timestamp(i64),
}

/// Why a partition did not go to another offset. It goes on as it was, unless it is given up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeekError {
    /// The consumer does not have the partition, or gives it up.
    #[error("{partition} is not assigned to this consumer, or is being given up: only what it has can seek")]
    NotAssigned {
        /// The partition.
        partition: TopicPartition,
    },
    /// Another move of the partition is under way, or it has not started yet.
    #[error("{partition} is starting, or moving to another offset already: try again once it runs")]
    Busy {
        /// The partition.
        partition: TopicPartition,
    },
    /// The offset is not in the log.
    #[error("offset {asked} of {partition} is not in the log, which holds {log_start} to {log_end} (exclusive)")]
    OutOfRange {
        /// The partition.
        partition: TopicPartition,
        /// The offset asked for.
        asked: i64,
        /// The first offset in the log.
        log_start: i64,
        /// The offset after the last.
        log_end: i64,
    },
    /// The broker could not say where that is.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// The consumer has ended.
    #[error("the consumer has ended")]
    Ended,
}
