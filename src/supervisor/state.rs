use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ractor::{ActorCell, ActorId, ActorProcessingErr, ActorRef};
use tokio::time::Instant;

use super::message::OwnershipKey;
use super::restart::RestartLog;
use crate::offsets::{OffsetReset, OffsetsMessage};
use crate::partition::{Ownership, PartitionContext};
use crate::record::TopicPartition;

/// What the supervisor keeps.
pub(crate) struct SupervisorState {
    /// By lane: each has a classifier of its own, so that a failure is judged without leaving the lane.
    pub(super) contexts: Vec<Arc<PartitionContext>>,
    pub(super) offsets: ActorRef<OffsetsMessage>,
    /// The control actors: without any of them the consumer cannot go on.
    pub(super) control: Vec<ActorId>,
    pub(super) partitions: BTreeMap<TopicPartition, Managed>,
    pub(super) by_actor: HashMap<ActorId, OwnershipKey>,
    /// Ends that came before the message that the actor was spawned: ractor serves supervision events first.
    pub(super) early: HashMap<ActorId, End>,
    pub(super) restarts: RestartLog,
    pub(super) epoch: u64,
    pub(super) halted: Option<String>,
    pub(super) drain: Option<Drain>,
}

/// One partition under supervision.
pub(super) struct Managed {
    pub(super) ownership: Arc<Ownership>,
    pub(super) topic_index: usize,
    /// The number of its lane.
    pub(super) lane: usize,
    pub(super) incarnation: u64,
    pub(super) phase: Phase,
    pub(super) restarts: RestartLog,
    /// Restarts in a row without progress, however far apart; those that were asked for from outside aside.
    pub(super) in_a_row: u32,
    /// The position at the last restart: past it, progress was made since.
    pub(super) restarted_at: Option<i64>,
    /// What to do once the partition actor has read its feed to the end.
    pub(super) afterwards: Option<Afterwards>,
}

pub(super) enum Phase {
    /// An incarnation is being spawned, or its predecessor's fault being judged.
    Pending,
    /// A wait before the next restart goes on: there is nothing to wait for at a stop.
    Waiting,
    Running(ActorCell),
    Stopped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// Start anew there, for this reason.
    Reset(NewStart, String),
    /// Reading can't go on.
    GiveUp(String),
}

/// Where a partition starts anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewStart {
    /// Where the policy says.
    ByPolicy(OffsetReset),
    /// At this offset.
    At(i64),
}

/// How a partition actor ended.
pub(super) enum End {
    Failed(ActorProcessingErr),
    Stopped,
}

/// A stop in progress.
pub(super) struct Drain {
    pub(super) deadline: Instant,
    pub(super) dropped: Vec<TopicPartition>,
    /// Whether the last step, commits, has begun.
    pub(super) finishing: bool,
}

impl SupervisorState {
    /// The partition, if `key` is its present ownership.
    pub(super) fn current(&mut self, key: &OwnershipKey) -> Option<&mut Managed> {
        self.partitions.get_mut(&key.partition).filter(|managed| managed.ownership.epoch == key.epoch)
    }

    /// The number of the lane of a partition, if `key` is its present ownership, and what the actors of that lane share.
    pub(super) fn lane(&mut self, key: &OwnershipKey) -> Option<(usize, Arc<PartitionContext>)> {
        let lane = self.current(key)?.lane;
        Some((lane, Arc::clone(&self.contexts[lane])))
    }
}
