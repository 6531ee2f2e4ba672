use tokio::time::Instant;

use super::verdict::{Verdict, verdict};
use super::{ClassicMember, Phase};
use crate::broker::BrokerError;
use crate::group::machine::{Effect, Request};

impl ClassicMember {
    pub(super) fn beat(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if self.heartbeat.is_none() && self.beat_at.is_some_and(|at| now >= at) {
            self.beat_at = Some(now + self.settings.heartbeat_interval);
            self.heartbeat = Some(self.sent(now));
            effects.push(Effect::Send(Request::Heartbeat(self.identity())));
        }
    }

    pub(super) fn beaten(&mut self, now: Instant, answer: Result<(), BrokerError>, effects: &mut Vec<Effect>) {
        let Some(sent) = self.heartbeat.take() else { return };
        if sent.life != self.lives {
            return;
        }
        let current = sent.generation == self.generation;
        let error = match answer {
            Ok(()) => {
                self.renew(now, sent.at, effects);
                if current && matches!(self.phase, Phase::Stable) {
                    self.quiet_at = Some(sent.at);
                    self.joins = 0;
                    self.untroubled(effects);
                }
                return;
            }
            Err(error) => error,
        };
        match verdict(&self.settings, &error) {
            Verdict::Rebalance => {
                self.renew_in_rebalance(now, sent.at, effects);
                if current && matches!(self.phase, Phase::Stable | Phase::Looking { .. }) {
                    self.rejoin(now, "the group rebalances");
                }
            }
            // Beside a join or sync under way the group may have gone on with this member: the answer to that will say.
            Verdict::Passed if current && !self.may_have_gone_on() => {
                self.lose(now, "the group has gone on without this member", effects);
            }
            Verdict::Unknown if sent.member_id == self.member_id => {
                self.member_id.clear();
                self.lose(now, "the coordinator does not know this member any more", effects);
            }
            Verdict::Fenced(text) if sent.member_id == self.member_id => self.fenced(now, text, effects),
            Verdict::Passed | Verdict::Unknown | Verdict::Fenced(_) => {}
            Verdict::Fatal(text) => self.fail(text, effects),
            Verdict::Again => {
                let wait = self.trouble(&error, effects);
                self.beat_at = Some(now + wait.min(self.settings.heartbeat_interval));
            }
        }
    }

    fn may_have_gone_on(&self) -> bool {
        match &self.phase {
            Phase::Joining { tried, .. } => *tried,
            Phase::Syncing { .. } => true,
            _ => false,
        }
    }

    /// Moves the end of the lease to its length after `sent`.
    pub(super) fn renew(&mut self, now: Instant, sent: Instant, effects: &mut Vec<Effect>) {
        self.renew_until(now, sent + self.settings.lease, effects);
    }

    /// The coordinator drops a member that has not joined when the rebalance is due, whatever heartbeats it has answered. So
    /// they count without limit only once a join has surely arrived: under way for as long as a heartbeat takes to come
    /// round, and no connection has failed. Before that the lease ends when the rebalance may be due.
    fn renew_in_rebalance(&mut self, now: Instant, sent: Instant, effects: &mut Vec<Effect>) {
        let until = sent + self.settings.lease;
        let arrived = self.join.as_ref().is_some_and(|join| join.at + self.settings.heartbeat_interval <= sent);
        let due = self.quiet_at.map(|at| at + self.settings.rebalance_timeout);
        let until = if arrived { until } else { due.map_or(until, |due| until.min(due)) };
        self.renew_until(now, until, effects);
    }

    fn renew_until(&mut self, now: Instant, until: Instant, effects: &mut Vec<Effect>) {
        if until > now && self.lease.is_none_or(|lease| until > lease) {
            self.lease = Some(until);
            effects.push(Effect::Lease(until));
        }
    }
}
