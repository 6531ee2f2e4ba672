use ractor::RpcReplyPort;

use crate::broker::BrokerError;
use crate::record::TopicPartition;

/// What the offsets actor is told.
#[derive(Debug)]
pub(crate) enum OffsetsMessage {
    /// An ownership begins; `start` is committed already.
    Open { partition: TopicPartition, epoch: u64, start: i64 },
    /// The offsets `[from, to)` are settled. Ignored for another epoch than the open one.
    Settled { partition: TopicPartition, epoch: u64, from: i64, to: i64 },
    /// An ownership ends; what is settled but not committed is forgotten. Answered once no commit is under way that may
    /// hold an offset of it: only then may another start be committed.
    Close { partition: TopicPartition, epoch: u64, reply: RpcReplyPort<()> },
    /// Commit what has changed.
    Tick,
    /// A commit ended.
    Committed { offsets: Vec<(TopicPartition, i64)>, result: Result<Vec<Result<(), BrokerError>>, BrokerError> },
    /// Commit what is settled now; answered once it is committed and no earlier commit is under way.
    Flush(RpcReplyPort<()>),
    /// Where each partition stands.
    Snapshot(RpcReplyPort<Vec<PartitionOffsets>>),
}

/// Where a partition stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionOffsets {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset below which everything is settled.
    pub watermark: i64,
    /// The offset that was committed last.
    pub committed: i64,
    /// How many runs of settled offsets above the watermark wait for one below them: dead letters not acknowledged yet.
    pub gaps: usize,
}
