use std::collections::BTreeMap;
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;

use super::{Classic, Initial, NotJoined, Phase, Turn};

impl Classic {
    /// Lets what is due happen.
    pub(crate) fn advance(&mut self, turn: &mut Turn<'_>) {
        while self.next_deadline().is_some_and(|deadline| deadline <= turn.now) {
            self.advance_once(turn);
        }
    }

    fn advance_once(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now;
        let is_due = |deadline: Duration| deadline <= now && deadline < Duration::MAX;
        let before = self.pending.len();
        self.pending.retain(|_, until| !is_due(*until));
        if self.pending.len() < before {
            self.try_complete_join(turn);
            return;
        }
        if let Some(at) = self.members.iter().position(|member| member.expiry().is_some_and(is_due)) {
            self.remove(turn, at);
            return;
        }
        if self.sync_until.is_some_and(is_due) {
            self.sync_until = None;
            while let Some(at) = self.members.iter().position(|member| !member.synced) {
                self.take(turn, at);
            }
            self.rebalance(turn);
            return;
        }
        if let Phase::Preparing { until, initial } = self.phase
            && is_due(until)
        {
            match initial {
                Some(Initial { remaining, has_grown: true }) if !remaining.is_zero() => {
                    let delay = turn.settings.initial_delay.min(remaining);
                    let initial = Initial { remaining: remaining.saturating_sub(delay), has_grown: false };
                    let until = turn.now.saturating_add(delay);
                    self.phase = Phase::Preparing { until, initial: Some(initial) };
                }
                _ => self.complete_join(turn),
            }
        }
    }

    /// Begins a rebalance, or goes on with the one under way.
    pub(super) fn rebalance(&mut self, turn: &mut Turn<'_>) {
        let was_empty = match self.phase {
            Phase::Preparing { .. } => return self.try_complete_join(turn),
            Phase::Completing => {
                for member in &mut self.members {
                    member.assignment.clear();
                    if let Some(ticket) = member.syncing.take() {
                        member.touch(turn.now);
                        turn.answer_sync(ticket, Err(ResponseError::RebalanceInProgress));
                    }
                }
                false
            }
            Phase::Empty => true,
            Phase::Stable => false,
        };
        self.sync_until = None;
        let longest = self.longest_rebalance();
        let delay = turn.settings.initial_delay;
        if was_empty && !delay.is_zero() {
            let initial = Initial { remaining: longest.saturating_sub(delay), has_grown: false };
            self.phase = Phase::Preparing { until: turn.now.saturating_add(delay), initial: Some(initial) };
            return;
        }
        self.phase = Phase::Preparing { until: turn.now.saturating_add(longest), initial: None };
        if was_empty {
            // Whoever was told a member id and has not come yet is not waited for.
            self.complete_join(turn);
        } else {
            self.try_complete_join(turn);
        }
    }

    /// Completes a rebalance for which all members have come.
    pub(super) fn try_complete_join(&mut self, turn: &mut Turn<'_>) {
        let Phase::Preparing { initial: None, .. } = self.phase else { return };
        if self.pending.is_empty() && self.members.iter().all(|member| member.joining.is_some()) {
            self.complete_join(turn);
        }
    }

    /// Begins the next generation with those that have come, and with static members that have not.
    fn complete_join(&mut self, turn: &mut Turn<'_>) {
        self.members.retain(|member| member.joining.is_some() || member.instance_id.is_some());
        let first = self.members.iter().find(|member| member.joining.is_some()).map(|member| member.id.clone());
        if first.is_none() && !self.members.is_empty() {
            // Nobody has come who could lead; the sessions of those that are away end it.
            let until = turn.now.saturating_add(self.longest_rebalance().max(Duration::from_millis(1)));
            self.phase = Phase::Preparing { until, initial: None };
            return;
        }
        let leads = self.members.iter().any(|member| member.id == self.leader && member.joining.is_some());
        if !leads {
            self.leader = first.unwrap_or_default();
        }
        self.generation = self.generation.saturating_add(1);
        self.protocol = self.choose_protocol();
        if self.members.is_empty() {
            self.phase = Phase::Empty;
            return;
        }
        self.phase = Phase::Completing;
        self.sync_until = Some(turn.now.saturating_add(self.longest_rebalance()));
        for at in 0..self.members.len() {
            let is_leader = self.members[at].id == self.leader;
            let ticket = self.members[at].joining.take();
            if let Some(ticket) = ticket {
                turn.answer_join(ticket, Ok(self.joined(at, is_leader)));
            }
            let member = &mut self.members[at];
            member.is_new = false;
            member.synced = false;
            member.touch(turn.now);
        }
    }

    /// Removes a member, and rebalances if it had a part in what goes on.
    pub(super) fn remove(&mut self, turn: &mut Turn<'_>, at: usize) {
        self.take(turn, at);
        self.rebalance(turn);
    }

    /// Takes a member out of the group.
    pub(super) fn take(&mut self, turn: &mut Turn<'_>, at: usize) {
        let member = self.members.remove(at);
        if let Some(ticket) = member.joining {
            let refused = NotJoined { error: ResponseError::UnknownMemberId, member_id: member.id.clone() };
            turn.answer_join(ticket, Err(refused));
        }
        if let Some(ticket) = member.syncing {
            turn.answer_sync(ticket, Err(ResponseError::UnknownMemberId));
        }
        if member.id == self.leader {
            self.leader = self.members.first().map(|first| first.id.clone()).unwrap_or_default();
        }
    }

    /// The assignor that most members prefer among those that all know; empty for a group without members.
    pub(super) fn choose_protocol(&self) -> StrBytes {
        let known = |protocol: &str| self.members.iter().all(|member| member.knows(protocol));
        let mut votes: BTreeMap<&StrBytes, usize> = BTreeMap::new();
        for member in &self.members {
            if let Some((name, _)) = member.protocols.iter().find(|(name, _)| known(name)) {
                *votes.entry(name).or_default() += 1;
            }
        }
        votes.into_iter().max_by_key(|(_, votes)| *votes).map(|(name, _)| name.clone()).unwrap_or_default()
    }

    fn longest_rebalance(&self) -> Duration {
        self.members.iter().map(|member| member.rebalance_timeout).max().unwrap_or_default()
    }
}
