use tokio::time::Instant;

use super::verdict::{Verdict, verdict};
use super::{ClassicMember, Phase};
use crate::broker::{BrokerError, ErrorCode};
use crate::group::machine::Effect;
use crate::group::message::GroupNotice;

impl ClassicMember {
    /// Drops everything and joins anew: at once or, where nothing was owned, after joins that came to nothing, later.
    pub(super) fn lose(&mut self, now: Instant, reason: &str, effects: &mut Vec<Effect>) {
        self.drop_all(reason, effects);
        // A join under way is still good: the coordinator answers it for the group as it is then.
        if self.join.is_none() {
            self.rejoin(now, reason);
        }
    }

    /// Cannot be a member, for this reason.
    pub(super) fn fail(&mut self, reason: String, effects: &mut Vec<Effect>) {
        self.drop_all(&reason, effects);
        self.phase = Phase::Ended;
        effects.push(Effect::Notice(GroupNotice::Failed(reason)));
    }

    /// Another one has joined with the same instance id; or this one has, by an earlier join that was taken up late.
    pub(super) fn fenced(&mut self, now: Instant, reason: String, effects: &mut Vec<Effect>) {
        let own = std::mem::take(&mut self.own_shadow);
        // It may also be a join of the process before this one that was taken up late. Once, since another consumer with the
        // same instance id would do as this one does.
        let recent = self.joined_at.is_none_or(|at| now < at + self.settings.session_timeout);
        if !own && (self.forgave || !recent) {
            return self.fail(reason, effects);
        }
        self.forgave |= !own;
        self.member_id.clear();
        self.lose(now, "an earlier join with its instance id has taken its place", effects);
    }

    pub(super) fn drop_all(&mut self, reason: &str, effects: &mut Vec<Effect>) {
        self.lives += 1;
        self.generation = -1;
        self.joined_at = None;
        self.beat_at = None;
        self.divided = None;
        self.quiet_at = None;
        self.revoking.clear();
        let partitions: Vec<_> = std::mem::take(&mut self.owned).into_iter().collect();
        if self.lease.take().is_some() || !partitions.is_empty() {
            effects.push(Effect::EndLease);
        }
        if self.told.take().is_some() {
            effects.push(Effect::Notice(GroupNotice::Identity(None)));
        }
        if !partitions.is_empty() {
            effects.push(Effect::Notice(GroupNotice::Lost { partitions, reason: reason.to_owned() }));
        }
    }

    /// A commit was refused. What was sent under an earlier generation may be refused late; the coordinator's answer to a
    /// heartbeat says what holds now.
    pub(super) fn commit_refused(&mut self, now: Instant, code: ErrorCode, effects: &mut Vec<Effect>) {
        let doing = format!("committing as a member of group {}", self.settings.group);
        let recent = self.joined_at.is_none_or(|at| now < at + self.settings.session_timeout);
        let settled = match &self.phase {
            Phase::Stable => true,
            Phase::Joining { tried, .. } => !tried,
            _ => false,
        };
        match verdict(&self.settings, &BrokerError::Response { doing, code, message: None }) {
            Verdict::Fatal(text) if !matches!(self.phase, Phase::Leaving { .. } | Phase::Ended) => {
                self.fail(text, effects);
            }
            Verdict::Unknown if settled && !recent => {
                self.member_id.clear();
                self.lose(now, "a commit was refused: the coordinator does not know this member", effects);
            }
            Verdict::Passed if settled && !recent => {
                self.lose(now, "a commit was refused: the group has gone on without this member", effects);
            }
            Verdict::Fenced(text) if settled && !recent => self.fenced(now, text, effects),
            _ => self.beat_at = self.beat_at.map(|at| at.min(now)),
        }
    }
}
