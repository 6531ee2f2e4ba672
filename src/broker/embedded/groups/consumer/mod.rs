//! Groups by the protocol of KIP-848: the broker assigns, and leads each member to its assignment step by step.
//!
//! The group's epoch grows with whatever makes a new assignment necessary; the assignment has the epoch that it was made
//! for; a member's epoch follows, once it has given up what it must. No partition is assigned to a member before whoever
//! had it has said that it gave it up, or is gone.

mod assignor;
mod heartbeat;
mod reconcile;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

pub(crate) use self::heartbeat::{Beat, Beaten};
use super::Client;
use super::classic::Claimed;

/// Partitions by topic id.
pub(crate) type Partitions = BTreeSet<(Uuid, i32)>;

/// The epoch of a group before its first member.
const FIRST: i32 = 1;
/// The epoch of a member that joins.
const JOINING: i32 = 0;
/// The epoch of a member that leaves for good.
const LEAVING: i32 = -1;
/// The epoch of a static member that leaves and will be back.
const AWAY: i32 = -2;
/// The first version of OffsetCommit that knows member epochs.
const EPOCHS_SINCE: i16 = 9;

/// A group by the protocol of KIP-848.
#[derive(Debug)]
pub(crate) struct Consumer {
    epoch: i32,
    /// The epoch that the members' targets were made for.
    assignment_epoch: i32,
    /// What made the targets.
    assignor: Assignor,
    /// In the order in which they joined.
    members: Vec<Member>,
    /// The topics that members subscribe to and their numbers of partitions, at the last look.
    seen: BTreeMap<Uuid, i32>,
}

impl Default for Consumer {
    fn default() -> Self {
        let (members, seen) = (Vec::new(), BTreeMap::new());
        Self { epoch: FIRST, assignment_epoch: FIRST, assignor: Assignor::default(), members, seen }
    }
}

/// How the broker assigns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Assignor {
    /// As evenly as possible, and otherwise as it was.
    #[default]
    Uniform,
    /// Neighbouring partitions of each topic together.
    Range,
}

/// A member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) id: StrBytes,
    pub(crate) instance_id: Option<StrBytes>,
    pub(crate) rack: Option<StrBytes>,
    pub(crate) client: Client,
    pub(crate) topics: BTreeSet<StrBytes>,
    rebalance_timeout: Duration,
    assignor: Option<Assignor>,
    pub(crate) epoch: i32,
    previous_epoch: i32,
    phase: Phase,
    /// What it has, or is told to take.
    pub(crate) assigned: Partitions,
    /// What it is told to give up, and has not said that it did.
    revoking: Partitions,
    /// The epoch at which it got each partition of either.
    since: BTreeMap<(Uuid, i32), i32>,
    /// What it is to have in the end.
    pub(crate) target: Partitions,
    /// When its session ends.
    session_until: Duration,
    /// When it must have given up what it is told to.
    revoke_until: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Stable,
    /// It has not given up yet what it must.
    Unrevoked,
    /// Others have not given up yet what it is to have.
    Unreleased,
}

impl Assignor {
    /// The assignor with this name, if there is one.
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "uniform" => Some(Self::Uniform),
            "range" => Some(Self::Range),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }
}

impl Member {
    /// Whether it has reached its target.
    fn is_reconciled(&self, assignment_epoch: i32) -> bool {
        self.phase == Phase::Stable && self.epoch == assignment_epoch
    }

    fn holds(&self, partition: &(Uuid, i32)) -> bool {
        self.assigned.contains(partition) || self.revoking.contains(partition)
    }

    /// Whether it may commit for partitions at an epoch: its own, or an older one at which it had all of them already.
    fn may_commit(&self, epoch: i32, partitions: &[(Uuid, i32)]) -> bool {
        let had = |partition| self.since.get(partition).is_some_and(|since| *since <= epoch);
        epoch == self.epoch || epoch < self.epoch && partitions.iter().all(had)
    }

    fn expiry(&self) -> Duration {
        self.revoke_until.unwrap_or(Duration::MAX).min(self.session_until)
    }
}

impl Consumer {
    /// The state, as Kafka calls it.
    pub(crate) fn state(&self) -> &'static str {
        if self.members.is_empty() {
            "Empty"
        } else if self.epoch > self.assignment_epoch {
            "Assigning"
        } else if self.members.iter().any(|member| !member.is_reconciled(self.assignment_epoch)) {
            "Reconciling"
        } else {
            "Stable"
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(crate) fn epoch(&self) -> i32 {
        self.epoch
    }

    pub(crate) fn assignment_epoch(&self) -> i32 {
        self.assignment_epoch
    }

    pub(crate) fn assignor(&self) -> Assignor {
        self.assignor
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whether a member subscribes to a topic.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        self.members.iter().any(|member| member.topics.iter().any(|subscribed| &**subscribed == topic))
    }

    /// When a member expires, at the earliest. What is too far away to be told never happens.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        self.members.iter().map(Member::expiry).filter(|deadline| *deadline < Duration::MAX).min()
    }

    /// Removes members whose sessions are over, and those that have not given up in time what they were told to.
    pub(crate) fn advance(&mut self, now: Duration) {
        let expired = |member: &Member| member.expiry() <= now && member.expiry() < Duration::MAX;
        while let Some(at) = self.members.iter().position(expired) {
            self.remove(at);
        }
    }

    /// Ends the session of a member at once; false where there is no such member.
    pub(crate) fn expire(&mut self, member_id: &str) -> bool {
        let found = self.find(member_id);
        if let Some(at) = found {
            self.remove(at);
        }
        found.is_some()
    }

    /// Lets a member go that names itself, or that an administrator names by its instance id.
    pub(crate) fn leave(&mut self, member_id: &str, instance_id: Option<&str>) -> Result<(), ResponseError> {
        let at = match instance_id {
            Some(instance_id) => {
                let at = self.find_static(instance_id).ok_or(ResponseError::UnknownMemberId)?;
                if !member_id.is_empty() && &*self.members[at].id != member_id {
                    return Err(ResponseError::FencedInstanceId);
                }
                at
            }
            None => self.find(member_id).ok_or(ResponseError::UnknownMemberId)?,
        };
        self.remove(at);
        Ok(())
    }

    /// Whether a commit for partitions is taken. `version` is that of OffsetCommit; `None` stands for a commit within a
    /// transaction.
    pub(crate) fn check_commit(
        &self,
        claimed: Claimed<'_>,
        version: Option<i16>,
        partitions: &[(Uuid, i32)],
    ) -> Result<(), ResponseError> {
        let names_nobody = claimed.member_id.is_empty() && claimed.instance_id.is_none();
        if claimed.generation < 0 && (self.members.is_empty() || version.is_none() && names_nobody) {
            return Ok(());
        }
        let at = self.find(claimed.member_id).ok_or(ResponseError::UnknownMemberId)?;
        if version.is_some_and(|version| version < EPOCHS_SINCE) {
            return Err(ResponseError::UnsupportedVersion);
        }
        if self.members[at].may_commit(claimed.generation, partitions) {
            return Ok(());
        }
        Err(if version.is_some() { ResponseError::StaleMemberEpoch } else { ResponseError::IllegalGeneration })
    }

    /// Whether a member that says who it is may read offsets.
    pub(crate) fn check_fetch(&self, member_id: &str, epoch: i32) -> Result<(), ResponseError> {
        let at = self.find(member_id).ok_or(ResponseError::UnknownMemberId)?;
        if self.members[at].epoch == epoch { Ok(()) } else { Err(ResponseError::StaleMemberEpoch) }
    }

    /// Takes a member out; what it had is free at once.
    fn remove(&mut self, at: usize) {
        self.members.remove(at);
        self.bump();
    }

    fn bump(&mut self) {
        self.epoch = self.epoch.saturating_add(1);
    }

    fn find(&self, id: &str) -> Option<usize> {
        self.members.iter().position(|member| &*member.id == id)
    }

    fn find_static(&self, instance_id: &str) -> Option<usize> {
        self.members.iter().position(|member| member.instance_id.as_deref() == Some(instance_id))
    }
}
