use std::collections::{BTreeMap, BTreeSet};

use rand::Rng;

use super::{Event, World};
use crate::group::machine::{Effect, Input, Machine, Request};
use crate::group::message::GroupNotice;
use crate::record::TopicPartition;

impl World {
    pub(super) fn step(&mut self, index: usize, input: Input) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(&index) else { return };
        node.steps += 1;
        let line = format!("{:?} {index} <- {input:?}", now - self.base);
        let effects = node.member.step(now, input);
        self.log.push(format!("{line}\n    {effects:?}"));
        let wake = node.member.wake_at();
        assert!(wake.is_none_or(|at| at > now), "wants to be woken in the past");
        for effect in effects {
            self.take(index, effect);
        }
        if let Some(at) = wake {
            self.serial += 1;
            self.queue.insert((at, self.serial), Event::Wake(index));
        }
    }

    pub(super) fn take(&mut self, index: usize, effect: Effect) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(&index) else { return };
        match effect {
            Effect::Lease(until) => node.lease = node.lease.max(Some(until)),
            Effect::EndLease => node.lease = None,
            Effect::Left => {
                self.nodes.remove(&index);
            }
            Effect::LookAtTopics(names) => {
                node.looks_at.extend(names);
                let wait = self.soon(300);
                self.at(wait, Event::Look(index, false));
            }
            Effect::Send(request) => {
                if self.eager && matches!(request, Request::Join(_)) {
                    assert!(node.owned.is_empty(), "an eager member joins with {:?}", node.owned);
                }
                let same = |other: &Request| std::mem::discriminant(other) == std::mem::discriminant(&request);
                assert!(!node.open.values().any(same), "two requests of a kind under way: {request:?}");
                self.serial += 1;
                let token = self.serial;
                node.open.insert(token, request.clone());
                if node.cut_until > now {
                    self.drop_connection(index, token, &request);
                } else {
                    let wait = self.soon(200);
                    self.at(wait, Event::Arrive(index, token, request));
                }
            }
            Effect::Notice(notice) => self.note(index, notice),
        }
    }

    pub(super) fn note(&mut self, index: usize, notice: GroupNotice) {
        let Some(node) = self.nodes.get_mut(&index) else { return };
        match notice {
            GroupNotice::Identity(identity) => node.identity = identity,
            GroupNotice::Lost { partitions, .. } => {
                assert!(node.lease.is_none() && node.identity.is_none(), "lost with a lease or an identity");
                node.owned.retain(|partition| !partitions.contains(partition));
                node.losses += 1;
            }
            GroupNotice::Revoked(partitions) => {
                assert!(
                    partitions.iter().all(|partition| node.owned.contains(partition)),
                    "revoked without being owned"
                );
                // Mostly soon, now and then later than the rebalance is due, sometimes one by one.
                let most = if self.random.random_bool(0.1) { 30_000 } else { 3_000 };
                let parts: Vec<Vec<TopicPartition>> = if self.random.random_bool(0.5) {
                    vec![partitions]
                } else {
                    partitions.into_iter().map(|partition| vec![partition]).collect()
                };
                let losses = node.losses;
                for part in parts {
                    let wait = self.soon(most);
                    self.at(wait, Event::Release(index, losses, part));
                }
            }
            GroupNotice::Assigned(partitions) => {
                assert!(node.identity.is_some(), "assigned before an identity");
                for (partition, _) in partitions {
                    assert!(node.wants.contains(partition.topic()));
                    assert!(node.owned.insert(partition), "assigned twice");
                }
            }
            GroupNotice::Failed(reason) => panic!("{index} failed: {reason}"),
            GroupNotice::Joined { .. }
            | GroupNotice::Troubled(_)
            | GroupNotice::Recovered
            | GroupNotice::Missing(_) => {}
        }
    }

    /// Nobody processes what another one does.
    pub(super) fn check(&self) {
        let mut owners: BTreeMap<&TopicPartition, usize> = BTreeMap::new();
        for (index, node) in self.nodes.iter().filter(|(_, node)| node.lease.is_some_and(|until| until > self.now)) {
            for partition in &node.owned {
                let other = owners.insert(partition, *index);
                assert!(other.is_none(), "{partition} is processed by {index} and {other:?}");
            }
        }
    }

    /// Everything that somebody wants is processed, nobody else is asked to do anything any more.
    pub(in super::super) fn assert_at_rest(&mut self) {
        assert!(self.nodes.is_empty() || self.coordinator.is_stable(), "the group does not come to rest");
        let wanted: BTreeSet<TopicPartition> = self
            .nodes
            .values()
            .flat_map(|node| &node.wants)
            .flat_map(|name| {
                (0..self.counts.get(name).copied().unwrap_or(0)).map(move |it| TopicPartition::new(name.as_str(), it))
            })
            .collect();
        let owned: BTreeSet<TopicPartition> = self.nodes.values().flat_map(|node| node.owned.iter().cloned()).collect();
        assert_eq!(owned, wanted);
        assert!(
            self.nodes.values().all(|node| node.owned.is_empty() || node.lease.is_some_and(|until| until > self.now))
        );
        let generation = self.coordinator.generation();
        self.run(30_000);
        assert_eq!(self.coordinator.generation(), generation, "a group at rest rebalances");
    }
}
