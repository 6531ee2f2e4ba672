use rand::Rng;
use tokio::time::Instant;

use super::holding::Step;
use super::member::{ConsumerMember, JOIN, Stage, UnderWay};
use super::told::Told;
use super::verdict::Verdict;
use crate::broker::{BrokerError, ConsumerHeartbeatAnswer};
use crate::group::machine::Effect;
use crate::group::message::{BY_IDS, GroupNotice};

/// What follows from how a heartbeat ended.
impl ConsumerMember {
    pub(super) fn answered(
        &mut self,
        now: Instant,
        result: Result<ConsumerHeartbeatAnswer, BrokerError>,
        out: &mut Vec<Effect>,
    ) {
        let Some(under_way) = self.under_way.take() else { return };
        let epoch = under_way.heartbeat.member.epoch;
        // By the group itself, and so for certain: not by who is not its coordinator (now).
        let refused = result.as_ref().is_err_and(|error| error.code().is_some_and(|code| !code.is_retriable()));
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
        let rebalance_timeout = self.settings.rebalance_timeout;
        // From when the coordinator may be waiting for something to be given up: since it got a heartbeat, be it one whose
        // answer was lost. Not for who said to own nothing.
        let owns_nothing = under_way.heartbeat.owned.as_ref().is_some_and(Vec::is_empty);
        let first = self.unconfirmed.filter(|_| !owns_nothing).unwrap_or(under_way.sent);
        if !under_way.giving_up {
            self.deadline = None;
        }
        let patience = self.deadline.unwrap_or(first + rebalance_timeout);
        let until = patience.min(under_way.sent + self.settings.lease.min(rebalance_timeout));
        if until <= now {
            // Too old to own anything by. What it changed, the next heartbeat is told again.
            let after = humantime::format_duration(now - under_way.sent);
            self.retry(now, format!("the coordinator took {after} to answer, longer than the lease"), out);
            return;
        }
        self.unconfirmed = None;
        self.lease = Some(until);
        out.push(Effect::Lease(until));
        let joined = self.stage != Stage::Member;
        self.stage = Stage::Member;
        if std::mem::take(&mut self.troubled) {
            out.push(Effect::Notice(GroupNotice::Recovered));
        }
        // More often than the broker wants where the lease would run out in between, or after the loss of one.
        let interval = answer.interval.min(self.settings.lease / 3);
        self.pace.succeeded(under_way.sent, interval, joined);
        self.told.succeeded(under_way.heartbeat);
        let before = self.identity.clone();
        if !answer.member_id.is_empty() {
            self.identity.member_id = answer.member_id;
        }
        self.identity.epoch = answer.member_epoch;
        if self.identity != before {
            out.push(Effect::Notice(GroupNotice::Identity(Some(self.identity.clone()))));
        }
        if answer.assignment.is_some_and(|target| self.holding.aim(target)) {
            self.told.tell_owned_again();
        }
        self.reconcile(out);
        if self.holding.is_giving_up() {
            self.deadline = Some(patience);
        }
    }

    /// Takes the next step to what is assigned.
    pub(super) fn reconcile(&mut self, out: &mut Vec<Effect>) {
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
                protocol: BY_IDS,
                assignor: self.settings.server_assignor.clone().unwrap_or_default(),
                partitions: news.1,
            }));
        }
    }

    pub(super) fn failed(&mut self, now: Instant, error: &BrokerError, out: &mut Vec<Effect>) {
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
    pub(super) fn lose(&mut self, now: Instant, reason: String, out: &mut Vec<Effect>) {
        (self.lease, self.unconfirmed, self.deadline) = (None, None, None);
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
}
