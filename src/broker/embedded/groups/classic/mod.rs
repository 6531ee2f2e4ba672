//! Classic groups: the members agree on an assignor, and one of them, the leader, assigns.
//!
//! A group is empty, or prepares a rebalance (waits for all members to join), or completes it (waits for the leader's
//! assignment), or is stable. Requests that wait for other members are answered through [`Turn::answers`].

mod join;
mod member;
mod rebalance;
mod subscription;
mod sync;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;
pub(crate) use member::Member;
pub(crate) use sync::Sync;

use super::{Answer, Client, GroupSettings, Ticket};

/// What the broker gives to a group that is to act.
pub(crate) struct Turn<'a> {
    pub(crate) now: Duration,
    pub(crate) settings: &'a GroupSettings,
    /// What becomes of requests that waited, or did not need to.
    pub(crate) answers: &'a mut Vec<(Ticket, Answer)>,
}

impl Turn<'_> {
    fn answer_join(&mut self, ticket: Ticket, answer: Result<Joined, NotJoined>) {
        self.answers.push((ticket, Answer::Join(answer)));
    }

    fn answer_sync(&mut self, ticket: Ticket, answer: Result<Synced, ResponseError>) {
        self.answers.push((ticket, Answer::Sync(answer)));
    }
}

/// A request to join.
#[derive(Debug)]
pub(crate) struct Join {
    pub(crate) ticket: Ticket,
    pub(crate) version: i16,
    /// Empty for who is no member yet.
    pub(crate) member_id: StrBytes,
    /// The member id that it gets if it is no member yet.
    pub(crate) new_member_id: StrBytes,
    pub(crate) instance_id: Option<StrBytes>,
    pub(crate) client: Client,
    pub(crate) session_timeout: Duration,
    pub(crate) rebalance_timeout: Duration,
    pub(crate) protocol_type: StrBytes,
    pub(crate) protocols: Vec<(StrBytes, Bytes)>,
}

/// What a member is told that has joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) generation: i32,
    pub(crate) protocol_type: StrBytes,
    pub(crate) protocol: StrBytes,
    pub(crate) leader: StrBytes,
    pub(crate) skip_assignment: bool,
    pub(crate) member_id: StrBytes,
    /// For the leader: id, instance id and metadata of all.
    pub(crate) members: Vec<(StrBytes, Option<StrBytes>, Bytes)>,
}

/// Why a member has not joined, and the member id beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotJoined {
    pub(crate) error: ResponseError,
    pub(crate) member_id: StrBytes,
}

/// What a member is told that asked for its assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Synced {
    pub(crate) protocol_type: StrBytes,
    pub(crate) protocol: StrBytes,
    pub(crate) assignment: Bytes,
}

/// Who sends a request, as the request has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claimed<'a> {
    pub(crate) member_id: &'a str,
    pub(crate) instance_id: Option<&'a str>,
    pub(crate) generation: i32,
}

/// A classic group.
#[derive(Debug, Default)]
pub(crate) struct Classic {
    phase: Phase,
    generation: i32,
    /// Empty for a group that never had members.
    protocol_type: StrBytes,
    protocol: StrBytes,
    leader: StrBytes,
    /// In the order in which they first joined.
    members: Vec<Member>,
    /// Member ids that were given out and have not been used yet, and until when they may be.
    pending: BTreeMap<StrBytes, Duration>,
    /// When members that have not asked for their assignment are given up.
    sync_until: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Empty,
    Preparing {
        /// When those that have not joined again are given up.
        until: Duration,
        /// Set where the group was empty before: how much longer it may wait for more members.
        initial: Option<Initial>,
    },
    Completing,
    Stable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Initial {
    remaining: Duration,
    /// Whether a member came since the last look.
    has_grown: bool,
}

impl Classic {
    /// The state, as Kafka calls it.
    pub(crate) fn state(&self) -> &'static str {
        match self.phase {
            Phase::Empty => "Empty",
            Phase::Preparing { .. } => "PreparingRebalance",
            Phase::Completing => "CompletingRebalance",
            Phase::Stable => "Stable",
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.phase == Phase::Empty
    }

    pub(crate) fn is_stable(&self) -> bool {
        self.phase == Phase::Stable
    }

    pub(crate) fn generation(&self) -> i32 {
        self.generation
    }

    pub(crate) fn protocol_type(&self) -> &StrBytes {
        &self.protocol_type
    }

    pub(crate) fn protocol(&self) -> &StrBytes {
        &self.protocol
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whether it is known of a member that it subscribes to a topic.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        self.members.iter().any(|member| subscription::names(member.metadata(&self.protocol), topic))
    }

    /// Whether offsets may be deleted: where what members say about topics is understood, or there are none.
    pub(crate) fn check_delete(&self) -> Result<(), ResponseError> {
        let is_understood = &*self.protocol_type == "consumer";
        if is_understood || self.is_empty() { Ok(()) } else { Err(ResponseError::NonEmptyGroup) }
    }

    /// When something happens without a request, at the earliest. What is too far away to be told never happens.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        let rebalance = match self.phase {
            Phase::Preparing { until, .. } => Some(until),
            _ => None,
        };
        let members = self.members.iter().filter_map(Member::expiry);
        let all = members.chain(self.pending.values().copied()).chain(rebalance).chain(self.sync_until);
        all.filter(|deadline| *deadline < Duration::MAX).min()
    }

    /// Whether a commit is taken; it keeps the session of its member alive.
    pub(crate) fn check_commit(
        &mut self,
        now: Duration,
        claimed: Claimed<'_>,
        transactional: bool,
    ) -> Result<(), ResponseError> {
        let is_simple = claimed.generation < 0;
        if is_simple && self.is_empty() {
            return Ok(());
        }
        if !is_simple || !claimed.member_id.is_empty() || claimed.instance_id.is_some() {
            let at = self.check(claimed)?;
            if self.phase != Phase::Completing {
                self.members[at].touch(now);
            }
        } else if !transactional {
            return Err(ResponseError::UnknownMemberId);
        }
        if !transactional && self.phase == Phase::Completing {
            return Err(ResponseError::RebalanceInProgress);
        }
        Ok(())
    }

    /// Where a member stands that claims to belong to the current generation.
    fn check(&self, claimed: Claimed<'_>) -> Result<usize, ResponseError> {
        let at = self.check_member(claimed.member_id, claimed.instance_id)?;
        if claimed.generation == self.generation { Ok(at) } else { Err(ResponseError::IllegalGeneration) }
    }

    /// Where a member stands; a static one must have the instance id still.
    fn check_member(&self, id: &str, instance_id: Option<&str>) -> Result<usize, ResponseError> {
        if let Some(instance_id) = instance_id {
            let holder = self.find_static(instance_id).ok_or(ResponseError::UnknownMemberId)?;
            return if &*self.members[holder].id == id { Ok(holder) } else { Err(ResponseError::FencedInstanceId) };
        }
        self.find(id).ok_or(ResponseError::UnknownMemberId)
    }

    fn find(&self, id: &str) -> Option<usize> {
        self.members.iter().position(|member| &*member.id == id)
    }

    fn find_static(&self, instance_id: &str) -> Option<usize> {
        self.members.iter().position(|member| member.instance_id.as_deref() == Some(instance_id))
    }

    fn is_pending(&self, id: &str) -> bool {
        self.pending.keys().any(|pending| &**pending == id)
    }
}
