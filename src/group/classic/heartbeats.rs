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
        let verdict = answer.as_ref().map_err(|error| verdict(&self.settings, error));
        match verdict {
            Ok(()) => {
                self.renew(now, sent.at, effects);
                if matches!(self.phase, Phase::Stable) {
                    self.joins = 0;
                    self.untroubled();
                }
            }
            Err(Verdict::Rebalance) => {
                self.renew(now, sent.at, effects);
                if current && matches!(self.phase, Phase::Stable | Phase::Looking { .. }) {
                    self.rejoin(now, "the group rebalances");
                }
            }
            // Beside a join or sync under way the group may have gone on with this member: the answer to that will say.
            Err(Verdict::Passed) if current && !self.may_have_gone_on() => {
                self.lose(now, "the group has gone on without this member", effects);
            }
            Err(Verdict::Passed) => {}
            Err(Verdict::Unknown) if sent.member_id == self.member_id => {
                self.member_id.clear();
                self.lose(now, "the coordinator does not know this member any more", effects);
            }
            Err(Verdict::Unknown) => {}
            Err(Verdict::Fatal(text)) => self.fail(text, effects),
            Err(Verdict::Again) => {
                if let Err(error) = &answer {
                    let wait = self.trouble(error, effects);
                    self.beat_at = Some(now + wait.min(self.settings.heartbeat_interval));
                }
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
        let until = sent + self.settings.lease;
        if until > now && self.lease.is_none_or(|lease| until > lease) {
            self.lease = Some(until);
            effects.push(Effect::Lease(until));
        }
    }
}
