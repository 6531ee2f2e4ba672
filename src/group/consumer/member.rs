use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use tokio::time::Instant;
use uuid::Builder;

use super::holding::Holding;
use super::pace::Pace;
use super::told::{Told, bare};
use crate::broker::{BrokerError, ConsumerHeartbeat, ErrorCode, MemberIdentity};
use crate::group::machine::{Answer, Effect, Input, Machine, Request, Topics};
use crate::group::settings::GroupSettings;

/// The epoch that joins.
pub(super) const JOIN: i32 = 0;
/// The epoch that leaves.
const LEAVE: i32 = -1;
/// The epoch by which a static member leaves that may come back.
const PAUSE: i32 = -2;
/// How long leaving may take: the session's end does the same.
const PATIENCE: Duration = Duration::from_secs(5);

/// A member of a group by KIP-848's protocol.
pub(crate) struct ConsumerMember {
    pub(super) settings: GroupSettings,
    pub(super) random: StdRng,
    pub(super) stage: Stage,
    /// With the epoch of the last heartbeat that succeeded; [`JOIN`] outside of the group.
    pub(super) identity: MemberIdentity,
    /// What the subscription comes to; empty before it was looked at.
    pub(super) topics: Topics,
    pub(super) holding: Holding,
    pub(super) told: Told,
    pub(super) under_way: Option<UnderWay>,
    pub(super) pace: Pace,
    pub(super) lease: Option<Instant>,
    /// When the first heartbeat was sent of those since the last one that succeeded.
    pub(super) unconfirmed: Option<Instant>,
    /// While the coordinator waits for partitions to be given up: when it takes everything.
    pub(super) deadline: Option<Instant>,
    /// Whether the coordinator may have a member of this id: it was let in, or what became of its joining is unknown.
    pub(super) known: bool,
    /// Whether the supervisor was told of the trouble that goes on.
    pub(super) troubled: bool,
    /// What the supervisor was told last of the epoch and how many partitions there are.
    pub(super) announced: Option<(i32, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not in the group.
    Outside,
    /// In the group.
    Member,
    /// For good not in the group; what the coordinator knows of it can still be withdrawn.
    Failed,
    /// Leaving, until then at the latest.
    Leaving(Instant),
    /// Left.
    Over,
}

/// The one heartbeat that is not answered yet.
pub(super) struct UnderWay {
    pub(super) heartbeat: ConsumerHeartbeat,
    pub(super) sent: Instant,
    /// Whether the coordinator may have known this member before.
    pub(super) known: bool,
    /// Whether it left open that all was given up that was to be.
    pub(super) giving_up: bool,
    /// Whether the membership was lost since, so that the answer says nothing any more.
    pub(super) stale: bool,
}

impl ConsumerMember {
    /// A member that joins as soon as it knows what it subscribes to. `seed` is where its id and its jitter come from.
    pub(crate) fn new(settings: GroupSettings, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut id = [0; 16];
        random.fill_bytes(&mut id);
        let member_id = Builder::from_random_bytes(id).into_uuid().to_string();
        let identity = MemberIdentity { member_id, epoch: JOIN, instance_id: settings.instance_id.clone() };
        Self {
            settings,
            random,
            stage: Stage::Outside,
            identity,
            topics: Topics::new(),
            holding: Holding::default(),
            told: Told::default(),
            under_way: None,
            pace: Pace::new(),
            lease: None,
            unconfirmed: None,
            deadline: None,
            known: false,
            troubled: false,
            announced: None,
        }
    }

    /// Gives everything up where the lease has run out.
    fn heed_lease(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.lease.is_none_or(|until| now < until) {
            return;
        }
        if self.holding.len() > 0 {
            let reason = if self.deadline.is_some_and(|deadline| now >= deadline) {
                let timeout = humantime::format_duration(self.settings.rebalance_timeout);
                format!("not everything that was to be given up was within {timeout}, the rebalance timeout")
            } else {
                let lease = humantime::format_duration(self.settings.lease);
                format!("no heartbeat has succeeded for {lease}, the lease")
            };
            self.lose(now, reason, out);
        } else {
            self.lease = None;
            out.push(Effect::EndLease);
        }
    }

    fn commit_refused(&mut self, now: Instant, code: ErrorCode, out: &mut Vec<Effect>) {
        if self.stage != Stage::Member {
            return;
        }
        match code {
            ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_INSTANCE_ID => {
                let doing = format!("committing offsets of group {}", self.settings.group);
                self.failed(now, &BrokerError::Response { doing, code, message: None }, out);
            }
            // The epoch has moved on, which the next heartbeat tells.
            _ => self.pace.hurry(now),
        }
    }

    fn leave(&mut self, now: Instant, out: &mut Vec<Effect>) {
        match self.stage {
            Stage::Leaving(_) => return,
            Stage::Over => return out.push(Effect::Left),
            Stage::Outside | Stage::Member | Stage::Failed => {}
        }
        self.holding.lose();
        if self.lease.take().is_some() {
            out.push(Effect::EndLease);
        }
        if self.known {
            self.stage = Stage::Leaving(now + PATIENCE);
        } else {
            self.stage = Stage::Over;
            out.push(Effect::Left);
        }
    }

    /// Sends the heartbeat that is due, if one is.
    fn send(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if let Stage::Leaving(until) = self.stage
            && now >= until
        {
            self.stage = Stage::Over;
            out.push(Effect::Left);
        }
        if self.under_way.is_some() {
            return;
        }
        let epoch = match self.stage {
            Stage::Failed | Stage::Over => return,
            Stage::Leaving(_) if self.identity.instance_id.is_some() => PAUSE,
            Stage::Leaving(_) => LEAVE,
            // A member without topics is refused.
            Stage::Outside if self.topics.is_empty() || !self.pace.is_due(now) => return,
            // A static member's name is free only once the one that the coordinator knows has left, be it this one.
            Stage::Outside if self.known && self.identity.instance_id.is_some() => PAUSE,
            Stage::Outside => JOIN,
            Stage::Member => self.identity.epoch,
        };
        let topics: Vec<String> = self.topics.keys().cloned().collect();
        let owned = self.holding.owned();
        if self.stage == Stage::Member && !self.pace.is_due(now) {
            // What was given up, taken or subscribed to is told at once, unless the coordinator is in trouble.
            let waits = self.holding.is_giving_up() || self.pace.is_failing();
            if waits || !self.told.differs(&topics, &owned) {
                return;
            }
        }
        let member = MemberIdentity { epoch, ..self.identity.clone() };
        let heartbeat = match epoch {
            LEAVE | PAUSE => bare(&self.settings, member),
            _ => self.told.heartbeat(&self.settings, member, topics, owned),
        };
        let known = self.known;
        self.known |= epoch == JOIN;
        self.pace.sent(now);
        self.unconfirmed.get_or_insert(now);
        let giving_up = self.holding.is_giving_up();
        self.under_way = Some(UnderWay { heartbeat: heartbeat.clone(), sent: now, known, giving_up, stale: false });
        out.push(Effect::Send(Request::ConsumerHeartbeat(heartbeat)));
    }
}

impl Machine for ConsumerMember {
    fn step(&mut self, now: Instant, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        self.heed_lease(now, &mut out);
        match input {
            Input::Topics(mut topics) => {
                topics.retain(|_, topic| topic.subscribed);
                self.topics = topics;
                self.reconcile(&mut out);
            }
            Input::Answered(Answer::ConsumerHeartbeat(result)) => self.answered(now, result, &mut out),
            Input::Released(partitions) => {
                if self.holding.released(&partitions) {
                    self.reconcile(&mut out);
                }
            }
            Input::CommitRefused(code) => self.commit_refused(now, code, &mut out),
            Input::Leave => self.leave(now, &mut out),
            // Time passed; or answers to requests that this protocol does not have.
            Input::Tick | Input::Answered(_) => {}
        }
        self.send(now, &mut out);
        out
    }

    fn wake_at(&self) -> Option<Instant> {
        let heartbeat = match self.stage {
            Stage::Outside if !self.topics.is_empty() => self.pace.next(),
            Stage::Member => self.pace.next(),
            Stage::Leaving(until) => return Some(until),
            _ => None,
        };
        let heartbeat = heartbeat.filter(|_| self.under_way.is_none());
        self.lease.into_iter().chain(heartbeat).min()
    }
}
