//! The port for membership in consumer groups: one request each, over whichever protocol the group speaks.

use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::{BoxFuture, BrokerError};

/// What a member of a group calls itself in its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberIdentity {
    /// The member id, given by the broker (classic protocol) or made by the client (KIP-848). Empty before a classic member
    /// has joined for the first time.
    pub member_id: String,
    /// The generation of the group (classic protocol; -1 outside of one) or the member epoch (KIP-848).
    pub epoch: i32,
    /// The instance id of a static member.
    pub instance_id: Option<String>,
}

/// What a group is subscribed to, as the heartbeat of KIP-848 names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerHeartbeat {
    /// The group.
    pub group: String,
    /// Who asks: epoch 0 joins, -1 leaves for good, -2 leaves as a static member that comes back.
    pub member: MemberIdentity,
    /// The rack; told when joining.
    pub rack: Option<String>,
    /// How long partitions may take to be given up; told when joining and where it changed.
    pub rebalance_timeout: Option<Duration>,
    /// The topics by name; told when joining and where they changed.
    pub topics: Option<Vec<String>>,
    /// The broker's assignor by name; `None` leaves the choice to the broker.
    pub server_assignor: Option<String>,
    /// The partitions owned, by topic id; told when joining and where they changed.
    pub owned: Option<Vec<(Uuid, Vec<i32>)>>,
}

/// What the broker answers to a [`ConsumerHeartbeat`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerHeartbeatAnswer {
    /// The member id; the one that was sent, where the broker gives none.
    pub member_id: String,
    /// The member epoch.
    pub member_epoch: i32,
    /// How soon the next heartbeat is to be sent.
    pub interval: Duration,
    /// The partitions assigned, by topic id; `None` where nothing changed.
    pub assignment: Option<Vec<(Uuid, Vec<i32>)>>,
}

/// A request to join a classic group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinGroup {
    /// The group.
    pub group: String,
    /// The member id, empty for a new member, and the instance id.
    pub member: MemberIdentity,
    /// How long the broker waits for a heartbeat.
    pub session_timeout: Duration,
    /// How long the broker waits for all members to join again.
    pub rebalance_timeout: Duration,
    /// Assignors by name in the order of preference, each with this member's subscription as it wants to see it
    /// (`ConsumerProtocolSubscription`, version included).
    pub protocols: Vec<(String, Bytes)>,
    /// Why it joins, for the broker's log.
    pub reason: Option<String>,
}

/// What the broker answers to a [`JoinGroup`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinAnswer {
    /// The generation.
    pub generation: i32,
    /// The assignor chosen.
    pub protocol: String,
    /// The leader's member id.
    pub leader: String,
    /// This member's id.
    pub member_id: String,
    /// Whether the leader need not assign: the broker has the assignment already (KIP-814).
    pub skip_assignment: bool,
    /// For the leader: all members, with their subscriptions. Empty for others.
    pub members: Vec<JoinedMember>,
}

/// A member, as the leader of a classic group is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedMember {
    /// Its member id.
    pub member_id: String,
    /// The instance id of a static member.
    pub instance_id: Option<String>,
    /// Its subscription (`ConsumerProtocolSubscription`, version included).
    pub subscription: Bytes,
}

/// A request for this member's part of a classic group's assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncGroup {
    /// The group.
    pub group: String,
    /// Who asks, with the generation joined.
    pub member: MemberIdentity,
    /// The assignor chosen.
    pub protocol: String,
    /// From the leader: each member's assignment (`ConsumerProtocolAssignment`, version included).
    pub assignments: Vec<(String, Bytes)>,
}

/// Membership in consumer groups. Each method is one request to the group's coordinator, which is looked for where it is
/// not known; none is repeated, since only the member knows what still makes sense. An error about the coordinator makes
/// the next request look for it anew. [`BrokerError::code`] tells refusals apart.
pub trait Membership: Send + Sync + 'static {
    /// Whether the brokers offer the protocol of KIP-848.
    fn offers_consumer_protocol(&self, group: String) -> BoxFuture<Result<bool, BrokerError>>;

    /// A heartbeat of KIP-848: joins, stays, leaves.
    fn consumer_heartbeat(
        &self,
        heartbeat: ConsumerHeartbeat,
    ) -> BoxFuture<Result<ConsumerHeartbeatAnswer, BrokerError>>;

    /// Joins a classic group. Answered when all members have joined, after the rebalance timeout at the latest. A member
    /// without an id is told one along with [`ErrorCode::MEMBER_ID_REQUIRED`](super::ErrorCode::MEMBER_ID_REQUIRED), which is
    /// `Ok(Err(member_id))`.
    fn join(&self, join: JoinGroup) -> BoxFuture<Result<Result<JoinAnswer, String>, BrokerError>>;

    /// Asks for the assignment (`ConsumerProtocolAssignment`, version included; empty where there is none).
    fn sync(&self, sync: SyncGroup) -> BoxFuture<Result<Bytes, BrokerError>>;

    /// A heartbeat of a classic member.
    fn heartbeat(&self, group: String, member: MemberIdentity) -> BoxFuture<Result<(), BrokerError>>;

    /// Leaves a classic group.
    fn leave(&self, group: String, member: MemberIdentity, reason: String) -> BoxFuture<Result<(), BrokerError>>;
}
