//! A member of a classic group: JoinGroup, SyncGroup, Heartbeat and LeaveGroup, with the partitions divided by the member that
//! the coordinator makes the leader. Groups may be shared with the Java client, librdkafka and others.
//!
//! ```text
//! waiting --topics--> joining --joined--> (leader: looking) --> syncing --assigned--> stable
//!                        ^                                                              |
//!                        +----- group rebalances, subscription or partitions changed ---+
//! ```
//!
//! Joining gives up first what is to be given up: everything with an eager assignor, with a cooperative one only what is not
//! subscribed to any more. Heartbeats go on from the first join to the last, also beside a join or sync under way, since an
//! answer to those may take as long as the slowest member.
//!
//! A static member that comes back is given what it had without a rebalance; that it wants other topics than before is heard at
//! the next one. So it is with all clients, since the coordinator has it so.

mod heartbeats;
mod joining;
mod leading;
mod losing;
mod protocol;
mod reader;
mod syncing;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;

use self::leading::{Divided, Lead};
use super::machine::{Answer, Effect, Input, Machine, Request, Topics};
use super::message::GroupNotice;
use super::settings::{Assignor, GroupSettings};
use crate::broker::{BrokerError, MemberIdentity};
use crate::policy::Backoff;
use crate::record::TopicPartition;

/// Waits after requests that failed.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_millis(100), 2.0, Duration::from_secs(5));
/// Joins in a row that are sent at once; a group in which so many come to nothing is given time.
const PROMPT_JOINS: u32 = 4;
/// How long a goodbye may take.
const LEAVE: Duration = Duration::from_secs(3);

/// A member of a classic group.
pub(crate) struct ClassicMember {
    settings: GroupSettings,
    /// Whether only partitions that move are given up.
    cooperative: bool,
    random: StdRng,
    phase: Phase,
    /// What metadata said last.
    topics: Option<Topics>,
    /// Empty before the coordinator gave one.
    member_id: String,
    /// Of the last join; -1 outside of the group.
    generation: i32,
    /// Since when that is.
    joined_at: Option<Instant>,
    /// The identity that commits carry.
    told: Option<MemberIdentity>,
    /// The topics that this member joined with.
    joined_with: BTreeSet<String>,
    /// As the leader: how it divided the partitions.
    divided: Option<Divided>,
    /// What is processed, what is being given up included.
    owned: BTreeSet<TopicPartition>,
    revoking: BTreeSet<TopicPartition>,
    /// The end of the lease.
    lease: Option<Instant>,
    /// When the last request was sent whose answer knew of no rebalance: none that is under way began before that.
    quiet_at: Option<Instant>,
    /// How often everything was lost: an answer to what was sent before that proves nothing.
    lives: u64,
    join: Option<Sent>,
    sync: Option<Sent>,
    heartbeat: Option<Sent>,
    /// When the next heartbeat is to be sent; `None` outside of the group.
    beat_at: Option<Instant>,
    /// Whether a join without an id came to nothing: the coordinator may take it up late, and then for another instance that
    /// has the same instance id.
    own_shadow: bool,
    /// Whether a fence was taken for a late join of the process before this one.
    forgave: bool,
    /// Joins since the group was last stable for the length of a heartbeat.
    joins: u32,
    /// Requests in a row that came to nothing.
    failures: u32,
    /// Whether that was told.
    troubled: bool,
}

/// A request under way: when it was sent, and as whom.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sent {
    at: Instant,
    member_id: String,
    generation: i32,
    life: u64,
}

#[derive(Debug)]
enum Phase {
    /// Nothing is known yet that this member could subscribe to.
    Waiting,
    /// To join, or joining: not before `at`. `tried` where a join was sent, so that the group may have gone on by it.
    Joining {
        at: Instant,
        tried: bool,
        reason: String,
    },
    /// The leader waits for metadata of the other members' topics.
    Looking {
        until: Instant,
        lead: Lead,
        assignor: Assignor,
    },
    /// To ask for the assignment, or asking: not before `at`.
    Syncing {
        at: Instant,
        assignments: Vec<(String, Bytes)>,
        assignor: Assignor,
    },
    /// Assigned.
    Stable,
    Leaving {
        until: Instant,
    },
    /// Left, or out for good.
    Ended,
}

impl ClassicMember {
    /// A member that joins as soon as it is told what its subscription comes to. `seed` decides what jitter there is.
    pub(crate) fn new(settings: GroupSettings, seed: u64) -> Self {
        Self {
            cooperative: settings.assignors.iter().all(|assignor| *assignor == Assignor::CooperativeSticky),
            random: StdRng::seed_from_u64(seed),
            settings,
            phase: Phase::Waiting,
            topics: None,
            member_id: String::new(),
            generation: -1,
            joined_at: None,
            told: None,
            joined_with: BTreeSet::new(),
            divided: None,
            owned: BTreeSet::new(),
            revoking: BTreeSet::new(),
            lease: None,
            quiet_at: None,
            lives: 0,
            join: None,
            sync: None,
            heartbeat: None,
            beat_at: None,
            own_shadow: false,
            forgave: false,
            joins: 0,
            failures: 0,
            troubled: false,
        }
    }

    fn identity(&self) -> MemberIdentity {
        MemberIdentity {
            member_id: self.member_id.clone(),
            epoch: self.generation,
            instance_id: self.settings.instance_id.clone(),
        }
    }

    fn sent(&self, at: Instant) -> Sent {
        Sent { at, member_id: self.member_id.clone(), generation: self.generation, life: self.lives }
    }

    /// The topics that this member subscribes to.
    fn subscribed(&self) -> BTreeSet<String> {
        let topics = self.topics.iter().flatten();
        topics.filter(|(_, info)| info.subscribed).map(|(name, _)| name.clone()).collect()
    }

    /// How many partitions a topic has.
    fn count(&self, topic: &str) -> Option<i32> {
        self.topics.as_ref().and_then(|topics| topics.get(topic)).map(|info| info.partitions)
    }

    /// Says once per streak that something does not work, and how long to wait before it is tried again.
    fn trouble(&mut self, error: &BrokerError, effects: &mut Vec<Effect>) -> Duration {
        self.failures = self.failures.saturating_add(1);
        if !std::mem::replace(&mut self.troubled, true) {
            effects.push(Effect::Notice(GroupNotice::Troubled(error.to_string())));
        }
        BACKOFF.delay(self.failures, self.random.random())
    }

    fn untroubled(&mut self, effects: &mut Vec<Effect>) {
        self.failures = 0;
        if std::mem::take(&mut self.troubled) {
            effects.push(Effect::Notice(GroupNotice::Recovered));
        }
    }

    /// Goes on from where an input or the passing of time has led.
    fn go_on(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if self.is_over(now) {
            self.lose(now, "its lease ran out: no heartbeat was answered in time", effects);
        }
        match &self.phase {
            Phase::Stable => self.look_for_changes(now),
            Phase::Looking { .. } => self.lead(now, false, effects),
            Phase::Leaving { until } if now >= *until => self.end(effects),
            _ => {}
        }
        match &self.phase {
            Phase::Joining { .. } => self.join(now, effects),
            Phase::Syncing { .. } => self.sync(now, effects),
            _ => {}
        }
        self.beat(now, effects);
    }

    /// Whether something is owned past its lease.
    fn is_over(&self, now: Instant) -> bool {
        !self.owned.is_empty() && self.lease.is_none_or(|until| now >= until)
    }

    /// Joins anew where the subscription has changed, and, as the leader, where the topics of the group have.
    fn look_for_changes(&mut self, now: Instant) {
        let divided = self.divided.as_ref();
        if self.subscribed() != self.joined_with {
            self.rejoin(now, "the topics that this member subscribes to have changed");
        } else if divided.is_some_and(|divided| divided.counts.iter().any(|(name, was)| self.count(name) != *was)) {
            self.rejoin(now, "topics of the group have other partitions than before");
        } else if divided.is_some_and(|divided| divided.again_at.is_some_and(|at| now >= at)) {
            self.rejoin(now, "partitions may be left that nobody has");
        }
    }

    fn leave(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        match &self.phase {
            Phase::Ended => return effects.push(Effect::Left),
            Phase::Leaving { .. } => return,
            _ => {}
        }
        let identity = self.identity();
        // Given up already by whoever wants to leave: it is not lost.
        self.owned.clear();
        self.drop_all("the consumer leaves the group", effects);
        // A static member stays in the group until its session is over, so that it finds its partitions when it comes back.
        if identity.instance_id.is_some() || identity.member_id.is_empty() {
            return self.end(effects);
        }
        effects.push(Effect::Send(Request::Leave(identity)));
        self.phase = Phase::Leaving { until: now + LEAVE };
    }

    fn end(&mut self, effects: &mut Vec<Effect>) {
        self.phase = Phase::Ended;
        effects.push(Effect::Left);
    }

    fn answered(&mut self, now: Instant, answer: Answer, effects: &mut Vec<Effect>) {
        match answer {
            Answer::Join(answer) => self.joined(now, answer, effects),
            Answer::Sync(answer) => self.synced(now, answer, effects),
            Answer::Heartbeat(answer) => self.beaten(now, answer, effects),
            Answer::Leave(_) if matches!(self.phase, Phase::Leaving { .. }) => self.end(effects),
            Answer::Leave(_) | Answer::ConsumerHeartbeat(_) => {}
        }
    }
}

impl Machine for ClassicMember {
    fn step(&mut self, now: Instant, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Tick => {}
            Input::Topics(topics) => self.know(now, topics, &mut effects),
            Input::Answered(answer) => self.answered(now, answer, &mut effects),
            Input::Released(partitions) => {
                for partition in partitions {
                    // What was lost meanwhile is not ours to give up.
                    if self.revoking.remove(&partition) {
                        self.owned.remove(&partition);
                    }
                }
            }
            Input::CommitRefused(code) => self.commit_refused(now, code, &mut effects),
            Input::Leave => self.leave(now, &mut effects),
        }
        self.go_on(now, &mut effects);
        effects
    }

    fn wake_at(&self) -> Option<Instant> {
        let phase = match &self.phase {
            Phase::Joining { at, .. } => Some(*at).filter(|_| self.join.is_none() && self.revoking.is_empty()),
            Phase::Looking { until, .. } | Phase::Leaving { until } => Some(*until),
            Phase::Syncing { at, .. } => Some(*at).filter(|_| self.sync.is_none()),
            Phase::Stable => self.divided.as_ref().and_then(|divided| divided.again_at),
            Phase::Waiting | Phase::Ended => None,
        };
        let lease = self.lease.filter(|_| !self.owned.is_empty());
        let beat = self.beat_at.filter(|_| self.heartbeat.is_none());
        [phase, lease, beat].into_iter().flatten().min()
    }
}
