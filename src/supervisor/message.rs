use std::time::Duration;

use ractor::{ActorCell, RpcReplyPort};

use super::state::{Seeker, Why};
use super::status::{PartitionStatus, SeekError, SeekTo};
use super::survey::Survey;
use crate::broker::{BrokerError, ErrorCode, SourceProblem};
use crate::group::GroupNotice;
use crate::group::Tenure;
use crate::offsets::{Beginning, PartitionOffsets};
use crate::record::TopicPartition;

/// Which ownership a message is about; one of an earlier epoch is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnershipKey {
    pub(crate) partition: TopicPartition,
    pub(crate) epoch: u64,
}

/// Which claim a message is about; one of another number is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClaimKey {
    pub(crate) partition: TopicPartition,
    pub(crate) number: u64,
}

/// What the supervisor is told, apart from its children's ends.
#[derive(Debug)]
pub(crate) enum SupervisorMessage {
    /// An attempt to start an incarnation ended.
    Spawned { key: OwnershipKey, result: Result<ActorCell, String> },
    /// The next incarnation may start.
    Start(OwnershipKey),
    /// The restart of a partition met a failure of the framework.
    RestartFailed { key: OwnershipKey, reason: String },
    /// The source cannot decide by itself.
    Source { key: OwnershipKey, problem: SourceProblem },
    /// The start of an ownership is committed, or never can be.
    Opened { key: OwnershipKey, result: Result<(), BrokerError> },
    /// A partition starts anew at another offset.
    Reassign { key: OwnershipKey, result: Result<Reassignment, String> },
    /// Where a partition is to go on, as it was asked to.
    Found { key: OwnershipKey, result: Result<i64, SeekError>, seeker: Seeker },
    /// The consumer must stop.
    Halt(String),
    /// Partitions to process.
    Assign(Vec<Assignment>),
    /// Stop cleanly within the deadline.
    Drain { deadline: Duration },
    /// The drain's deadline has come: what still runs is dropped.
    DrainDeadline,
    /// Everything has stopped and what could be committed is.
    Drained(Summary),
    /// What there was before the group is joined; or why it cannot be.
    Surveyed(Result<Survey, String>),
    /// Where partitions of the group's start; or why the consumer cannot process one.
    Resolved(Vec<Resolved>),
    /// A revoked partition has had its time.
    Overdue(OwnershipKey),
    /// A revoked partition is settled as far as it will be, and committed up to this offset.
    GivenUp { key: OwnershipKey, committed: i64 },
    /// The group refused a commit.
    CommitRefused(ErrorCode),
    /// The group is left.
    Left(Summary),
    /// Takes this for the group actor, which a test plays; answered with the lease.
    #[cfg(test)]
    Scripted(ractor::ActorRef<crate::group::GroupMessage>, RpcReplyPort<std::sync::Arc<crate::group::Lease>>),
    /// The group actor has news.
    Group(GroupNotice),
    /// Delivers nothing new until it is called again with `paused` false. `None` is the whole consumer, partitions that come
    /// later included; a partition's own pause lasts until it is given up. Answered with the partitions of the list that
    /// the consumer does not have.
    Pause { partitions: Option<Vec<TopicPartition>>, paused: bool, reply: RpcReplyPort<Vec<TopicPartition>> },
    /// Goes on at another offset, which the answer names: what is in flight finishes before, and its dead letters are
    /// acknowledged.
    Seek { partition: TopicPartition, to: SeekTo, reply: RpcReplyPort<Result<i64, SeekError>> },
    /// Where each partition stands, and what it does.
    Status(RpcReplyPort<Vec<PartitionStatus>>),
    /// Where each partition stands.
    Snapshot(RpcReplyPort<Vec<PartitionOffsets>>),
}

/// A partition to process from an offset on.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub(crate) partition: TopicPartition,
    pub(crate) topic_id: Option<uuid::Uuid>,
    pub(crate) beginning: Beginning,
    /// Whether the reset policy chose the start.
    pub(crate) reset: bool,
    /// Which of the consumer's topics it belongs to.
    pub(crate) topic_index: usize,
    /// The lease that a member takes it under.
    pub(crate) tenure: Option<Tenure>,
}

/// Where a claimed partition starts; or why the consumer cannot process it.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) key: ClaimKey,
    pub(crate) result: Result<Beginning, String>,
}

/// How a consumer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finished {
    /// Why it stopped by itself; `None` where it was asked to.
    pub(crate) halted: Option<String>,
    pub(crate) summary: Summary,
}

/// Where a partition starts anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reassignment {
    pub(crate) topic_id: Option<uuid::Uuid>,
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) why: Why,
}

/// What a consumer left when it stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Where each partition stands: what is below the watermark is settled, and below `committed` committed.
    pub partitions: Vec<PartitionOffsets>,
    /// Partitions whose record in flight did not end within the drain deadline: it was dropped and will be delivered
    /// again.
    pub dropped: Vec<TopicPartition>,
    /// Dead letters that were not acknowledged within the drain deadline: their records will be delivered again.
    pub unacknowledged: usize,
    /// Whether everything settled was committed.
    pub committed: bool,
}
