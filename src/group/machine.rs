//! What the state machines of both protocols have in common: what goes in and what comes out.

use std::collections::BTreeMap;

use bytes::Bytes;
use tokio::time::Instant;
use uuid::Uuid;

use crate::broker::{
    BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode, JoinAnswer, JoinGroup, MemberIdentity,
    SyncGroup,
};
use crate::group::message::GroupNotice;
use crate::record::TopicPartition;

/// The topics that the subscription comes to, and those that were asked for by [`Effect::LookAtTopics`], by name.
pub(crate) type Topics = BTreeMap<String, TopicInfo>;

/// What metadata says of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TopicInfo {
    /// Its id; `None` where the broker has none.
    pub(crate) id: Option<Uuid>,
    /// How many partitions it has.
    pub(crate) partitions: i32,
    /// Whether this member's own subscription names or matches it; otherwise it was asked for, and is not this member's.
    pub(crate) subscribed: bool,
}

/// What happens to a member.
#[derive(Debug)]
pub(crate) enum Input {
    /// Time passed.
    Tick,
    /// What the subscription comes to now.
    Topics(Topics),
    /// A request that the machine had sent ended.
    Answered(Answer),
    /// Partitions of a [`GroupNotice::Revoked`] are given up.
    Released(Vec<TopicPartition>),
    /// A commit was refused: the group has gone on.
    CommitRefused(ErrorCode),
    /// Everything is given up: leave.
    Leave,
}

/// A request to the coordinator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    ConsumerHeartbeat(ConsumerHeartbeat),
    Join(JoinGroup),
    Sync(SyncGroup),
    Heartbeat(MemberIdentity),
    Leave(MemberIdentity),
}

/// How a request ended. Each kind has at most one under way.
#[derive(Debug)]
pub(crate) enum Answer {
    ConsumerHeartbeat(Result<ConsumerHeartbeatAnswer, BrokerError>),
    Join(Result<Result<JoinAnswer, String>, BrokerError>),
    Sync(Result<Bytes, BrokerError>),
    Heartbeat(Result<(), BrokerError>),
    Leave(Result<(), BrokerError>),
}

/// What is to be done, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Send this request.
    Send(Request),
    /// What is owned may be processed until then.
    Lease(Instant),
    /// The lease is over: nothing is owned any more.
    EndLease,
    /// Tell the supervisor.
    Notice(GroupNotice),
    /// Read metadata again, from now on of these topics too: an assignment names what is not known, or other members subscribe
    /// to them.
    LookAtTopics(Vec<String>),
    /// The member has left, or cannot tell the coordinator.
    Left,
}

/// A member of a group, of either protocol.
pub(crate) trait Machine: Send + 'static {
    /// Takes one input at a time that never goes back, and says what is to be done.
    fn step(&mut self, now: Instant, input: Input) -> Vec<Effect>;

    /// When it wants to be stepped again at the latest.
    fn wake_at(&self) -> Option<Instant>;
}
