use std::collections::BTreeSet;

use bytes::Bytes;
use tokio::time::Instant;

use super::protocol::decode_assignment;
use super::verdict::{Verdict, verdict};
use super::{ClassicMember, Phase};
use crate::broker::{BrokerError, SyncGroup};
use crate::group::machine::{Effect, Request};
use crate::group::message::GroupNotice;
use crate::group::settings::Assignor;
use crate::record::TopicPartition;

impl ClassicMember {
    pub(super) fn sync(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let Phase::Syncing { at, assignments, assignor } = &self.phase else { return };
        if self.sync.is_some() || now < *at {
            return;
        }
        effects.push(Effect::Send(Request::Sync(SyncGroup {
            group: self.settings.group.clone(),
            member: self.identity(),
            protocol: assignor.name().to_owned(),
            assignments: assignments.clone(),
        })));
        self.sync = Some(self.sent(now));
    }

    pub(super) fn synced(&mut self, now: Instant, answer: Result<Bytes, BrokerError>, effects: &mut Vec<Effect>) {
        let Some(sent) = self.sync.take() else { return };
        let Phase::Syncing { assignor, .. } = self.phase else { return };
        if sent.life != self.lives || sent.generation != self.generation {
            return;
        }
        let read = answer.and_then(|bytes| {
            let doing = format!("reading the assignment in group {}", self.settings.group);
            decode_assignment(&bytes).map_err(|cause| BrokerError::Malformed { doing, cause })
        });
        match read {
            Ok(assigned) => self.take(now, sent.at, assignor, assigned, effects),
            Err(error @ BrokerError::Malformed { .. }) => {
                let wait = self.trouble(&error, effects);
                self.rejoin_at(now + wait, "its assignment could not be read");
            }
            Err(error) => match verdict(&self.settings, &error) {
                Verdict::Rebalance => self.rejoin(now, "the group rebalances again"),
                Verdict::Unknown => {
                    self.member_id.clear();
                    self.lose(now, "the coordinator does not know this member", effects);
                }
                Verdict::Passed => self.lose(now, "the group has gone on without this member", effects),
                Verdict::Fenced(text) => self.fenced(now, text, effects),
                Verdict::Fatal(text) => self.fail(text, effects),
                // Asked again, it is answered alike; only the group's going on makes another join useful.
                Verdict::Again => {
                    let wait = self.trouble(&error, effects);
                    if let Phase::Syncing { at, .. } = &mut self.phase {
                        *at = now + wait;
                    }
                }
            },
        }
    }

    /// Takes an assignment.
    fn take(
        &mut self,
        now: Instant,
        sent: Instant,
        assignor: Assignor,
        assigned: Vec<TopicPartition>,
        effects: &mut Vec<Effect>,
    ) {
        self.renew(now, sent, effects);
        if self.lease.is_none_or(|until| now >= until) {
            return self.lose(now, "its assignment came when the lease was over", effects);
        }
        self.untroubled(effects);
        self.quiet_at = Some(sent);
        let topics = self.subscribed();
        let (assigned, foreign): (BTreeSet<_>, BTreeSet<_>) =
            assigned.into_iter().partition(|partition| topics.contains(partition.topic()));
        if let Some(partition) = foreign.first() {
            tracing::warn!(%partition, count = foreign.len(), "assigned without being subscribed to, left alone");
        }
        let identity = self.identity();
        self.told = Some(identity.clone());
        effects.push(Effect::Notice(GroupNotice::Identity(Some(identity.clone()))));
        let goes: Vec<TopicPartition> = self.owned.difference(&assigned).cloned().collect();
        let new: Vec<TopicPartition> = assigned.difference(&self.owned).cloned().collect();
        if !goes.is_empty() {
            self.revoking.extend(goes.iter().cloned());
            effects.push(Effect::Notice(GroupNotice::Revoked(goes)));
        }
        if !new.is_empty() {
            let id = |topic: &str| self.topics.as_ref().and_then(|topics| topics.get(topic)).and_then(|info| info.id);
            let with_ids = new.iter().map(|partition| (partition.clone(), id(partition.topic()))).collect();
            effects.push(Effect::Notice(GroupNotice::Assigned(with_ids)));
            self.owned.extend(new);
        }
        effects.push(Effect::Notice(GroupNotice::Joined {
            member: identity,
            protocol: "classic",
            assignor: assignor.name().to_owned(),
            partitions: assigned.len(),
        }));
        self.phase = Phase::Stable;
        if !self.revoking.is_empty() {
            self.rejoin(now, "partitions that go to others are given up");
        }
    }
}
