use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};
use tokio::time::Instant;
use uuid::Builder;

use super::holding::{Holding, Step};
use super::pace::Pace;
use super::told::{Told, bare};
use super::verdict::Verdict;
use crate::broker::{BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode, MemberIdentity};
use crate::group::machine::{Answer, Effect, Input, Machine, Request, Topics};
use crate::group::message::GroupNotice;
use crate::group::settings::GroupSettings;

/// The epoch that joins.
const JOIN: i32 = 0;
/// The epoch that leaves.
const LEAVE: i32 = -1;
/// The epoch by which a static member leaves that may come back.
const PAUSE: i32 = -2;
/// How long leaving may take: the session's end does the same.
const PATIENCE: Duration = Duration::from_secs(5);

/// A member of a group by KIP-848's protocol.
pub(crate) struct ConsumerMember {
    settings: GroupSettings,
    random: StdRng,
    stage: Stage,
    /// With the epoch of the last heartbeat that succeeded; [`JOIN`] outside of the group.
    identity: MemberIdentity,
    /// What the subscription comes to; empty before it was looked at.
    topics: Topics,
    holding: Holding,
    told: Told,
    under_way: Option<UnderWay>,
    pace: Pace,
    lease: Option<Instant>,
    /// Whether the coordinator may have a member of this id: it was let in, or what became of its joining is unknown.
    known: bool,
    /// Whether the supervisor was told of the trouble that goes on.
    troubled: bool,
    /// What the supervisor was told last of the epoch and how many partitions there are.
    announced: Option<(i32, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
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
struct UnderWay {
    heartbeat: ConsumerHeartbeat,
    sent: Instant,
    /// Whether the coordinator may have known this member before.
    known: bool,
    /// Whether the membership was lost since, so that the answer says nothing any more.
    stale: bool,
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
            let lease = humantime::format_duration(self.settings.lease);
            self.lose(now, format!("no heartbeat has succeeded for {lease}, the lease"), out);
        } else {
            self.lease = None;
            out.push(Effect::EndLease);
        }
    }

    fn answered(&mut self, now: Instant, result: Result<ConsumerHeartbeatAnswer, BrokerError>, out: &mut Vec<Effect>) {
        let Some(under_way) = self.under_way.take() else { return };
        let epoch = under_way.heartbeat.member.epoch;
        let refused = result.as_ref().is_err_and(|error| error.code().is_some());
        if epoch < JOIN {
            // The coordinator has heard it, or knows of no such member.
            self.known &= !(result.is_ok() || refused);
            match (self.stage, result) {
                (Stage::Leaving(_), _) => {
                    self.stage = Stage::Over;
                    out.push(Effect::Left);
                }
                (_, Err(error)) if self.known => self.retry(now, error.to_string(), out),
                _ => {}
            }
            return;
        }
        if epoch == JOIN && refused {
            self.known = under_way.known;
        }
        if under_way.stale || matches!(self.stage, Stage::Leaving(_) | Stage::Failed | Stage::Over) {
            return;
        }
        match result {
            Ok(answer) if answer.member_epoch > JOIN => self.succeeded(now, under_way, answer, out),
            Ok(answer) => {
                let epoch = answer.member_epoch;
                let doing = format!("heartbeat of group {}", self.settings.group);
                let error = BrokerError::Malformed { doing, cause: format!("the answer has the member epoch {epoch}") };
                self.failed(now, &error, out);
            }
            Err(error) => self.failed(now, &error, out),
        }
    }

    fn succeeded(&mut self, now: Instant, under_way: UnderWay, answer: ConsumerHeartbeatAnswer, out: &mut Vec<Effect>) {
        let until = under_way.sent + self.settings.lease;
        if until <= now {
            // Too old to own anything by. What it changed, the next heartbeat is told again.
            let after = humantime::format_duration(now - under_way.sent);
            self.retry(now, format!("the coordinator took {after} to answer, longer than the lease"), out);
            return;
        }
        self.lease = Some(until);
        out.push(Effect::Lease(until));
        let joined = self.stage != Stage::Member;
        self.stage = Stage::Member;
        self.troubled = false;
        self.pace.succeeded(under_way.sent, answer.interval, joined);
        self.told.succeeded(under_way.heartbeat);
        let before = self.identity.clone();
        if !answer.member_id.is_empty() {
            self.identity.member_id = answer.member_id;
        }
        self.identity.epoch = answer.member_epoch;
        if self.identity != before {
            out.push(Effect::Notice(GroupNotice::Identity(Some(self.identity.clone()))));
        }
        if let Some(target) = answer.assignment {
            self.holding.aim(target);
        }
        self.reconcile(out);
    }

    /// Takes the next step to what is assigned.
    fn reconcile(&mut self, out: &mut Vec<Effect>) {
        if self.stage != Stage::Member {
            return;
        }
        match self.holding.step(&self.topics) {
            Step::Rest => {}
            Step::GiveUp(partitions) => out.push(Effect::Notice(GroupNotice::Revoked(partitions))),
            Step::Take { partitions, unknown } => {
                if !partitions.is_empty() {
                    out.push(Effect::Notice(GroupNotice::Assigned(partitions)));
                }
                if unknown {
                    out.push(Effect::LookAtTopics(Vec::new()));
                }
            }
        }
        let news = (self.identity.epoch, self.holding.len());
        if !self.holding.is_giving_up() && self.announced != Some(news) {
            self.announced = Some(news);
            out.push(Effect::Notice(GroupNotice::Joined {
                member: self.identity.clone(),
                protocol: "consumer",
                assignor: self.settings.server_assignor.clone().unwrap_or_default(),
                partitions: news.1,
            }));
        }
    }

    fn failed(&mut self, now: Instant, error: &BrokerError, out: &mut Vec<Effect>) {
        let joined = self.stage == Stage::Member;
        match Verdict::of(&self.settings, joined, error) {
            Verdict::Retry(text) => self.retry(now, text, out),
            Verdict::Fenced { forgotten } => {
                self.known &= !forgotten;
                if joined {
                    self.lose(now, error.to_string(), out);
                } else {
                    self.retry(now, error.to_string(), out);
                }
            }
            Verdict::Fatal(text) => self.fail(now, text, out),
        }
    }

    /// Another attempt after a pause, which tells everything again.
    fn retry(&mut self, now: Instant, text: String, out: &mut Vec<Effect>) {
        self.told = Told::default();
        self.pace.failed(now, self.random.random());
        if !std::mem::replace(&mut self.troubled, true) {
            out.push(Effect::Notice(GroupNotice::Troubled(text)));
        }
    }

    /// Nothing is this member's any more; it joins anew.
    fn lose(&mut self, now: Instant, reason: String, out: &mut Vec<Effect>) {
        self.lease = None;
        out.push(Effect::EndLease);
        let partitions = self.holding.lose();
        if !partitions.is_empty() {
            out.push(Effect::Notice(GroupNotice::Lost { partitions, reason }));
        }
        if self.identity.epoch != JOIN {
            self.identity.epoch = JOIN;
            out.push(Effect::Notice(GroupNotice::Identity(None)));
        }
        self.stage = Stage::Outside;
        self.told = Told::default();
        self.announced = None;
        self.pace.lost(now, self.random.random());
        if let Some(under_way) = &mut self.under_way {
            under_way.stale = true;
        }
    }

    fn fail(&mut self, now: Instant, text: String, out: &mut Vec<Effect>) {
        self.lose(now, text.clone(), out);
        self.stage = Stage::Failed;
        out.push(Effect::Notice(GroupNotice::Failed(text)));
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
        self.under_way = Some(UnderWay { heartbeat: heartbeat.clone(), sent: now, known, stale: false });
        out.push(Effect::Send(Request::ConsumerHeartbeat(heartbeat)));
    }
}

impl Machine for ConsumerMember {
    fn step(&mut self, now: Instant, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        self.heed_lease(now, &mut out);
        match input {
            Input::Topics(topics) => {
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
