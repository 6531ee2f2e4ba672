use ractor::RpcReplyPort;

use super::state::Watermark;
use crate::broker::{BrokerError, CommittedOffset, MemberIdentity};
use crate::record::TopicPartition;

/// What the offsets actor is told.
#[derive(Debug)]
pub(crate) enum OffsetsMessage {
    /// An ownership begins.
    Open { partition: TopicPartition, epoch: u64, beginning: Beginning },
    /// Commit the start of an ownership that began without; answered once it is committed or can never be. A member that is
    /// not let for now waits for its next identity.
    CommitStart { partition: TopicPartition, epoch: u64, reply: RpcReplyPort<Result<(), BrokerError>> },
    /// The offsets `[from, to)` are settled. Ignored for another epoch than the open one.
    Settled { partition: TopicPartition, epoch: u64, from: i64, to: i64 },
    /// The records from `from` on are of this leader epoch; told before any of them is settled.
    LeaderEpoch { partition: TopicPartition, epoch: u64, from: i64, leader_epoch: Option<i32> },
    /// An ownership ends; what is settled but not committed is forgotten. Answered once no commit is under way that may
    /// hold an offset of it: only then may another start be committed.
    Close { partition: TopicPartition, epoch: u64, reply: RpcReplyPort<()> },
    /// An ownership was lost: as [`OffsetsMessage::Close`], but nobody waits for what is under way. `stopping`: as the consumer stops.
    Lost { partition: TopicPartition, epoch: u64, stopping: bool },
    /// Commits carry this identity from now on; `None` outside of the group, when nothing is committed.
    Identity(Option<MemberIdentity>),
    /// Commit what has changed.
    Tick,
    /// Commit everything, so that what does not change does not expire.
    Again,
    /// A commit ended, made as this member.
    Committed {
        offsets: Vec<Watermark>,
        member: Option<MemberIdentity>,
        result: Result<Vec<Result<(), BrokerError>>, BrokerError>,
    },
    /// Commit what is settled now, of one ownership or of all. True once it is committed; false once it can't be.
    Flush { ownership: Option<(TopicPartition, u64)>, reply: RpcReplyPort<bool> },
    /// Where each partition stands.
    Snapshot(RpcReplyPort<Vec<PartitionOffsets>>),
}

/// Where an ownership begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// The first offset to process.
    pub(crate) start: i64,
    /// Whether the start is committed already.
    pub(crate) committed: bool,
    /// The leader epoch of the record below the start, where known.
    pub(crate) leader_epoch: Option<i32>,
    /// The metadata text that was committed beside it.
    pub(crate) metadata: String,
}

impl Beginning {
    /// At an offset that is committed already.
    pub(crate) fn committed(start: i64) -> Self {
        Self { committed: true, ..Self::chosen(start) }
    }

    /// At an offset that is to be committed.
    pub(crate) fn chosen(start: i64) -> Self {
        Self { start, committed: false, leader_epoch: None, metadata: String::new() }
    }
}

impl From<CommittedOffset> for Beginning {
    /// At the offset that the group has committed.
    fn from(committed: CommittedOffset) -> Self {
        let CommittedOffset { offset, metadata, leader_epoch, .. } = committed;
        Self { start: offset, committed: true, leader_epoch, metadata }
    }
}

/// Where a partition stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionOffsets {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset below which everything is settled.
    pub watermark: i64,
    /// The offset that was committed last; the start while nothing was.
    pub committed: i64,
    /// How many runs of settled offsets above the watermark wait for one below them: dead letters not acknowledged yet.
    pub gaps: usize,
}
