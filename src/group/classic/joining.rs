use bytes::Bytes;
use rand::Rng;
use tokio::time::Instant;

use super::leading::Lead;
use super::protocol::Subscription;
use super::verdict::{Verdict, verdict};
use super::{BACKOFF, ClassicMember, PROMPT_JOINS, Phase};
use crate::broker::{BrokerError, JoinAnswer, JoinGroup, MemberIdentity};
use crate::group::machine::{Effect, Request};
use crate::group::message::GroupNotice;
use crate::group::settings::Assignor;
use crate::record::TopicPartition;

impl ClassicMember {
    /// Goes over to joining, at once unless that has come to nothing several times.
    pub(super) fn rejoin(&mut self, now: Instant, reason: &str) {
        let again = self.joins.saturating_sub(PROMPT_JOINS - 1);
        let at = if again == 0 { now } else { now + BACKOFF.delay(again, self.random.random()) };
        self.rejoin_at(at, reason);
    }

    /// Goes over to joining, not before `at`; what is owned stays as long as the assignor lets it.
    pub(super) fn rejoin_at(&mut self, at: Instant, reason: &str) {
        let tried = matches!(self.phase, Phase::Joining { tried: true, .. });
        self.divided = None;
        self.phase = Phase::Joining { at, tried, reason: reason.to_owned() };
    }

    /// Sends a join as soon as what is to be given up first is.
    pub(super) fn join(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if self.join.is_some() {
            return;
        }
        let topics = self.subscribed();
        let stays = |partition: &TopicPartition| self.cooperative && topics.contains(partition.topic());
        let goes = self.owned.iter().filter(|partition| !stays(partition) && !self.revoking.contains(partition));
        let goes: Vec<TopicPartition> = goes.cloned().collect();
        if !goes.is_empty() {
            self.revoking.extend(goes.iter().cloned());
            effects.push(Effect::Notice(GroupNotice::Revoked(goes)));
        }
        let Phase::Joining { at, tried, reason } = &mut self.phase else { return };
        if !self.revoking.is_empty() || now < *at {
            return;
        }
        *tried = true;
        let reason = reason.clone();
        let subscription = Subscription {
            topics: topics.clone(),
            owned: self.owned.iter().cloned().collect(),
            generation: self.generation,
            rack: self.settings.rack.clone(),
        };
        let encode = |assignor: &Assignor| -> Result<(String, Bytes), String> {
            let cooperative = *assignor == Assignor::CooperativeSticky;
            Ok((assignor.name().to_owned(), subscription.encode(cooperative)?))
        };
        let protocols = match self.settings.assignors.iter().map(encode).collect() {
            Ok(protocols) => protocols,
            Err(cause) => {
                let group = &self.settings.group;
                let text =
                    format!("joining group {group}: the subscription cannot be written ({cause}); shorten the rack");
                return self.fail(text, effects);
            }
        };
        self.joined_with = topics;
        self.joins = self.joins.saturating_add(1);
        self.join = Some(self.sent(now));
        effects.push(Effect::Send(Request::Join(JoinGroup {
            group: self.settings.group.clone(),
            member: MemberIdentity { epoch: -1, ..self.identity() },
            session_timeout: self.settings.session_timeout,
            rebalance_timeout: self.settings.rebalance_timeout,
            protocols,
            reason: Some(reason),
        })));
    }

    pub(super) fn joined(
        &mut self,
        now: Instant,
        answer: Result<Result<JoinAnswer, String>, BrokerError>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(sent) = self.join.take() else { return };
        if !matches!(self.phase, Phase::Joining { .. }) {
            return;
        }
        match answer {
            Ok(Ok(answer)) => self.take_join(now, sent.at, answer, effects),
            Ok(Err(member_id)) => {
                let first = sent.member_id.is_empty();
                self.member_id = member_id;
                if first {
                    // Asking for the id is no join.
                    self.joins = self.joins.saturating_sub(1);
                }
                self.rejoin(now, "the coordinator has given this member its id");
            }
            Err(error) => match verdict(&self.settings, &error) {
                Verdict::Unknown => {
                    self.member_id.clear();
                    self.lose(now, "the coordinator does not know this member", effects);
                }
                Verdict::Fenced(text) => self.fenced(now, text, effects),
                Verdict::Fatal(text) => self.fail(text, effects),
                Verdict::Rebalance | Verdict::Passed | Verdict::Again => {
                    self.own_shadow |= sent.member_id.is_empty();
                    let wait = self.trouble(&error, effects);
                    self.rejoin_at(now + wait, "the join before was not answered");
                }
            },
        }
    }

    fn take_join(&mut self, now: Instant, sent: Instant, answer: JoinAnswer, effects: &mut Vec<Effect>) {
        let assignor = self.settings.assignors.iter().copied().find(|assignor| assignor.name() == answer.protocol);
        let Some(assignor) = assignor.filter(|_| answer.generation >= 0 && !answer.member_id.is_empty()) else {
            let doing = format!("joining group {}", self.settings.group);
            let cause = format!("assignor {:?} in generation {}", answer.protocol, answer.generation);
            let wait = self.trouble(&BrokerError::Malformed { doing, cause }, effects);
            return self.rejoin_at(now + wait, "the answer to the join before made no sense");
        };
        self.generation = answer.generation;
        self.joined_at = Some(now);
        self.member_id = answer.member_id;
        self.beat_at = Some(now + self.settings.heartbeat_interval);
        // It proves that the coordinator knew this member when it was sent; how long ago the answer was written is not known.
        self.renew(now, sent, effects);
        if answer.leader == self.member_id {
            let lead = Lead::new(answer.members, answer.skip_assignment);
            self.start_leading(now, lead, assignor, effects);
        } else {
            self.phase = Phase::Syncing { at: now, assignments: Vec::new(), assignor };
        }
    }
}
