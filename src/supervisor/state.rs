use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ractor::{ActorCell, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::time::Instant;

use super::membership::Membership;
use super::message::OwnershipKey;
use super::restart::RestartLog;
use super::status::SeekError;
use crate::monitor::MonitorMessage;
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
    /// Without it the consumer goes on. `None` where it is off, or has told its last.
    pub(super) monitor: Option<ActorRef<MonitorMessage>>,
    /// `None` where partitions are assigned by hand.
    pub(super) membership: Option<Membership>,
    pub(super) partitions: BTreeMap<TopicPartition, Managed>,
    pub(super) by_actor: HashMap<ActorId, OwnershipKey>,
    /// Ends that came before the message that the actor was spawned: ractor serves supervision events first.
    pub(super) early: HashMap<ActorId, End>,
    pub(super) restarts: RestartLog,
    pub(super) epoch: u64,
    /// Whether the whole consumer is paused, and which partitions are by themselves.
    pub(super) all_paused: bool,
    pub(super) paused: BTreeSet<TopicPartition>,
    pub(super) halted: Option<String>,
    pub(super) drain: Option<Drain>,
}

/// One partition under supervision.
pub(super) struct Managed {
    pub(super) ownership: Arc<Ownership>,
    pub(super) topic_index: usize,
    pub(super) topic_id: Option<uuid::Uuid>,
    /// The leader epoch of the record below the start, where known.
    pub(super) leader_epoch: Option<i32>,
    /// The number of its lane.
    pub(super) lane: usize,
    pub(super) incarnation: u64,
    pub(super) phase: Phase,
    pub(super) restarts: RestartLog,
    /// Restarts in a row without progress, however far apart; those that were asked for from outside aside.
    pub(super) in_a_row: u32,
    /// The position at the last restart: past it, progress was made since.
    pub(super) restarted_at: Option<i64>,
    /// What to do once the partition actor has read its feed to the end, or stopped.
    pub(super) afterwards: Option<Afterwards>,
    /// Whether a new start is being looked for.
    pub(super) moving: bool,
    /// Who asked for the move, and is told once the partition goes on.
    pub(super) seeker: Option<Seeker>,
    /// Being given up to the group.
    pub(super) leaving: Option<Leaving>,
}

/// Who waits for the end of a seek.
pub(super) type Seeker = RpcReplyPort<Result<i64, SeekError>>;

impl Managed {
    pub(super) fn new(ownership: Ownership, topic_index: usize, lane: usize) -> Self {
        Self {
            ownership: Arc::new(ownership),
            topic_index,
            topic_id: None,
            leader_epoch: None,
            lane,
            incarnation: 0,
            phase: Phase::Opening,
            restarts: RestartLog::default(),
            in_a_row: 0,
            restarted_at: None,
            afterwards: None,
            moving: false,
            seeker: None,
            leaving: None,
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.phase, Phase::Stopped)
    }

    /// Whether it is given up to the group by itself, not with all others.
    pub(super) fn is_leaving_alone(&self) -> bool {
        self.leaving.as_ref().is_some_and(|leaving| leaving.step != LeavingStep::WithAll)
    }

    /// Tells who asked for a move how it ended.
    pub(super) fn answer_seeker(&mut self, answer: Result<i64, SeekError>) {
        if let Some(seeker) = self.seeker.take() {
            // Nobody waits any more: no error.
            let _ = seeker.send(answer);
        }
    }
}

pub(super) enum Phase {
    /// Its start is being committed: there is no actor yet.
    Opening,
    /// An incarnation is being spawned, or its predecessor's fault being judged.
    Pending,
    /// A wait before the next restart goes on: there is nothing to wait for at a stop.
    Waiting,
    Running(ActorCell),
    Stopped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// Start anew there.
    Move(NewStart, Why),
    /// Reading can't go on.
    GiveUp(String),
}

/// Why a partition starts anew elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// It was asked to.
    Sought,
    /// It can't go on where it is, for this reason.
    Reset(String),
}

/// Where a partition starts anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewStart {
    /// Where the policy says.
    ByPolicy(OffsetReset),
    /// At this offset.
    At(i64),
}

/// A partition that is being given up to the group.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) deadline: Instant,
    /// How many times the group is to be told that it is given up: once for each time that it asked.
    pub(super) answers: u32,
    /// Assigned again meanwhile, with its topic's id: it is taken again once it is given up.
    pub(super) again: Option<Option<uuid::Uuid>>,
    pub(super) step: LeavingStep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeavingStep {
    /// What is in flight finishes.
    Stopping,
    /// Dead letters are acknowledged and the watermark is committed.
    Committing,
    /// The whole consumer stops, and this partition is given up with all others.
    WithAll,
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
    /// How many dead letters were given up with them.
    pub(super) unacknowledged: usize,
    /// Whether the last step, commits, has begun.
    pub(super) finishing: bool,
}

impl SupervisorState {
    /// The partition, if `key` is its present ownership.
    pub(super) fn current(&mut self, key: &OwnershipKey) -> Option<&mut Managed> {
        self.partitions.get_mut(&key.partition).filter(|managed| managed.ownership.epoch == key.epoch)
    }

    /// Whether the group knows topics by their ids.
    pub(super) fn is_by_ids(&self) -> bool {
        self.membership.as_ref().is_some_and(|membership| membership.by_ids)
    }

    /// The number of the lane of a partition, if `key` is its present ownership, and what the actors of that lane share.
    pub(super) fn lane(&mut self, key: &OwnershipKey) -> Option<(usize, Arc<PartitionContext>)> {
        let lane = self.current(key)?.lane;
        Some((lane, Arc::clone(&self.contexts[lane])))
    }
}
