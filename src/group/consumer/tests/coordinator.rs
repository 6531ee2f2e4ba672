use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use crate::broker::{ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode};

/// How soon members are to be heard of again.
pub(super) const INTERVAL: Duration = Duration::from_secs(3);
/// How long members that are not heard of stay.
pub(super) const SESSION: Duration = Duration::from_secs(30);

type Named = (Uuid, i32);

/// A model of the coordinator of one group: what KIP-848 says of it, with the simplest assignor there is.
#[derive(Default)]
pub(super) struct Coordinator {
    /// How many partitions each topic has, by name.
    pub(super) topics: BTreeMap<String, (Uuid, i32)>,
    pub(super) members: BTreeMap<String, Member>,
    epoch: i32,
}

pub(super) struct Member {
    pub(super) instance: Option<String>,
    /// -2 where a static member has left and may come back.
    pub(super) epoch: i32,
    previous: i32,
    topics: Vec<String>,
    pub(super) target: BTreeSet<Named>,
    pub(super) assigned: BTreeSet<Named>,
    /// Not assigned any more, and not given up yet.
    pending: BTreeSet<Named>,
    pending_since: Instant,
    rebalance_timeout: Duration,
    heard: Instant,
}

impl Coordinator {
    /// Takes members out that were silent, or did not give up what they had to.
    pub(super) fn expire(&mut self, now: Instant) {
        let before = self.members.len();
        self.members.retain(|_, member| {
            let stuck = !member.pending.is_empty() && now >= member.pending_since + member.rebalance_timeout;
            now < member.heard + SESSION && !stuck
        });
        if self.members.len() != before {
            self.assign();
        }
    }

    /// Divides everything anew, which makes a new epoch. To be called when topics change, too.
    pub(super) fn assign(&mut self) {
        self.epoch += 1;
        self.members.values_mut().for_each(|member| member.target.clear());
        let mut turn = 0;
        for (name, (id, partitions)) in &self.topics {
            for partition in 0..*partitions {
                let mut wanting: Vec<_> =
                    self.members.values_mut().filter(|member| member.topics.contains(name)).collect();
                if !wanting.is_empty() {
                    let chosen = turn % wanting.len();
                    wanting[chosen].target.insert((*id, partition));
                    turn += 1;
                }
            }
        }
    }

    pub(super) fn heartbeat(
        &mut self,
        now: Instant,
        asked: &ConsumerHeartbeat,
    ) -> Result<ConsumerHeartbeatAnswer, ErrorCode> {
        self.expire(now);
        let (id, epoch, instance) = (&asked.member.member_id, asked.member.epoch, &asked.member.instance_id);
        let full = asked.topics.is_some() && asked.owned.is_some() && asked.rebalance_timeout.is_some();
        let owned: Option<BTreeSet<Named>> = asked
            .owned
            .as_ref()
            .map(|owned| owned.iter().flat_map(|(id, all)| all.iter().map(|p| (*id, *p))).collect());
        if epoch < 0 {
            self.known(id, instance)?;
            self.leave(now, id, epoch);
            let (member_id, interval) = (id.clone(), INTERVAL);
            return Ok(ConsumerHeartbeatAnswer { member_id, member_epoch: epoch, interval, assignment: None });
        }
        if epoch == 0 {
            assert!(full && owned.as_ref().is_some_and(BTreeSet::is_empty), "a join says everything and owns nothing");
            assert!(asked.topics.as_ref().is_some_and(|topics| !topics.is_empty()), "a join names topics");
            self.join(now, asked)?;
        } else {
            self.known(id, instance)?;
            let member = &self.members[id];
            let repeated = epoch == member.previous && owned.as_ref().is_some_and(|o| o.is_subset(&member.assigned));
            if epoch != member.epoch && !repeated {
                return Err(ErrorCode::FENCED_MEMBER_EPOCH);
            }
        }
        let member = self.members.get_mut(id).expect("checked above");
        member.heard = now;
        if let Some(timeout) = asked.rebalance_timeout {
            member.rebalance_timeout = timeout;
        }
        let changed = asked.topics.as_ref().is_some_and(|topics| *topics != member.topics);
        if changed {
            member.topics = asked.topics.clone().unwrap_or_default();
            self.assign();
        }
        let before = self.members[id].assigned.clone();
        self.reconcile(now, id, owned);
        let member = &self.members[id];
        let mut assignment: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
        for (id, partition) in &member.assigned {
            assignment.entry(*id).or_default().push(*partition);
        }
        let tells = epoch == 0 || full || member.assigned != before;
        Ok(ConsumerHeartbeatAnswer {
            member_id: id.clone(),
            member_epoch: member.epoch,
            interval: INTERVAL,
            assignment: tells.then(|| assignment.into_iter().collect()),
        })
    }

    /// Whether the one that asks is the member that it says it is.
    fn known(&self, id: &String, instance: &Option<String>) -> Result<(), ErrorCode> {
        let holder =
            instance.as_ref().and_then(|_| self.members.iter().find(|(_, member)| member.instance == *instance));
        match holder {
            Some((holder, _)) if holder != id => Err(ErrorCode::FENCED_INSTANCE_ID),
            _ if self.members.contains_key(id) => Ok(()),
            _ => Err(ErrorCode::UNKNOWN_MEMBER_ID),
        }
    }

    fn leave(&mut self, now: Instant, id: &str, epoch: i32) {
        if epoch == -1 {
            self.members.remove(id);
            return self.assign();
        }
        let member = self.members.get_mut(id).expect("a known member");
        member.epoch = -2;
        member.pending.clear();
        member.heard = now;
    }

    fn join(&mut self, now: Instant, asked: &ConsumerHeartbeat) -> Result<(), ErrorCode> {
        let (id, instance) = (&asked.member.member_id, &asked.member.instance_id);
        let holder =
            instance.as_ref().and_then(|_| self.members.iter().find(|(_, member)| member.instance == *instance));
        if let Some((holder, member)) = holder {
            if member.epoch != -2 {
                return Err(ErrorCode::UNRELEASED_INSTANCE_ID);
            }
            let holder = holder.clone();
            let mut member = self.members.remove(&holder).expect("found above");
            (member.epoch, member.previous) = (0, 0);
            self.members.insert(id.clone(), member);
            return Ok(());
        }
        self.members.entry(id.clone()).or_insert_with(|| Member {
            instance: instance.clone(),
            epoch: 0,
            previous: 0,
            topics: Vec::new(),
            target: BTreeSet::new(),
            assigned: BTreeSet::new(),
            pending: BTreeSet::new(),
            pending_since: now,
            rebalance_timeout: Duration::ZERO,
            heard: now,
        });
        Ok(())
    }

    /// Lets a member give up what it has to, and take what others have given up.
    fn reconcile(&mut self, now: Instant, id: &str, owned: Option<BTreeSet<Named>>) {
        let others: BTreeSet<Named> = self
            .members
            .iter()
            .filter(|(other, _)| *other != id)
            .flat_map(|(_, member)| member.assigned.union(&member.pending))
            .copied()
            .collect();
        let epoch = self.epoch;
        let member = self.members.get_mut(id).expect("a known member");
        if !member.pending.is_empty() {
            if owned.as_ref().is_none_or(|owned| !owned.is_disjoint(&member.pending)) {
                return;
            }
            member.pending.clear();
        }
        let pending: BTreeSet<Named> = member.assigned.difference(&member.target).copied().collect();
        member.assigned.retain(|named| !pending.contains(named));
        // Who joins owns nothing: it says so.
        if !pending.is_empty() && owned.is_none_or(|owned| !owned.is_disjoint(&pending)) {
            (member.pending, member.pending_since) = (pending, now);
            return;
        }
        if member.epoch != epoch {
            (member.previous, member.epoch) = (member.epoch, epoch);
        }
        let free: Vec<Named> = member.target.difference(&others).copied().collect();
        member.assigned.extend(free);
    }
}
