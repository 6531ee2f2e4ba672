use std::time::Duration;

use proptest::prelude::*;
use rand::Rng;
use uuid::Uuid;

use super::coordinator::SESSION;
use super::node::node;
use super::script::LEASE;
use super::world::{Event, World};
use crate::broker::ErrorCode;
use crate::group::machine::Input;

/// How long everything goes wrong.
const STORM: Duration = Duration::from_secs(240);
/// How long it takes then until everything is divided: an old member's session, a rebalance, a new one's.
const CALM: Duration = Duration::from_secs(150);

impl World {
    /// Something goes wrong, or somebody changes something.
    pub(super) fn disturb(&mut self) {
        let index = self.random.random_range(0..self.nodes.len());
        let life = self.nodes[index].life;
        match self.random.random_range(0..9) {
            0 | 1 => {
                let pause = self.millis(1_000..60_000);
                self.nodes[index].suspended = self.now + pause;
            }
            2 => self.restart(index),
            3 if self.nodes[index].suspended <= self.now => {
                // What a clean end does: everything is given up first.
                let node = &mut self.nodes[index];
                node.processing.clear();
                node.unreleased.clear();
                node.lease = None;
                self.step(index, Input::Leave);
            }
            4 => self.plan(Duration::ZERO, index, life, Event::CommitRefused(ErrorCode::STALE_MEMBER_EPOCH)),
            5 => self.plan(Duration::ZERO, index, life, Event::CommitRefused(ErrorCode::UNKNOWN_MEMBER_ID)),
            6 => {
                let partitions = self.random.random_range(1..8);
                self.create_topic("b", partitions);
            }
            7 => {
                self.coordinator.topics.remove("b");
                self.coordinator.assign();
            }
            _ => {
                if let Some((_, partitions)) = self.coordinator.topics.get_mut("a") {
                    *partitions = (*partitions + 1).min(12);
                    self.coordinator.assign();
                }
            }
        }
    }

    /// A process dies, and another takes its place.
    pub(super) fn restart(&mut self, index: usize) {
        let life = self.nodes[index].life + 1;
        self.nodes[index] = node(index, life, self.random.random(), self.now, self.static_members);
        let after = self.millis(1..3_000);
        self.plan(after, index, life, Event::Look);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_partition_has_two_owners_and_all_are_owned_when_the_storm_is_over(
        seed in any::<u64>(),
        nodes in 1usize..5,
        static_members in any::<bool>(),
    ) {
        const { assert!(LEASE.as_secs() < SESSION.as_secs()) };
        let mut world = World::new(seed, nodes, static_members);
        world.run(STORM);
        world.calm = true;
        let now = world.now;
        world.nodes.iter_mut().for_each(|node| node.suspended = now);
        world.run(CALM);
        let mut owned: Vec<(Uuid, i32)> = Vec::new();
        for node in &world.nodes {
            prop_assert!(node.lease.is_some_and(|until| until > world.now), "each is a member");
            owned.extend(node.processing.iter().map(|(partition, id)| (*id, partition.partition())));
            // A heartbeat each interval, and what changes bring: nothing goes round in circles.
            for window in node.sent.windows(30) {
                prop_assert!(window[29] - window[0] > Duration::from_secs(2), "a hot loop");
            }
        }
        owned.sort();
        let topics = world.coordinator.topics.values();
        let mut all: Vec<_> = topics.flat_map(|(id, partitions)| (0..*partitions).map(|p| (*id, p))).collect();
        all.sort();
        prop_assert_eq!(owned, all, "after {:?}", world.now - world.start);
    }
}
