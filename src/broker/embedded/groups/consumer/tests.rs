//! Members that come, go and dawdle at random: no partition has two owners, and in the end all is assigned.

use std::time::Duration;

use proptest::prelude::*;

use super::super::super::samples;
use super::super::super::state::State;
use super::super::{Client, GroupSettings};
use super::{Beat, Beaten, Consumer, Partitions, StrBytes};

#[derive(Debug, Clone, Copy)]
enum Event {
    Beat(usize),
    /// A heartbeat whose answer is lost.
    Lose(usize),
    /// The member gives up what it was told to.
    Revoke(usize),
    Leave(usize),
    Expire(usize),
    Pass(u64),
    Grow,
}

/// A member as its client sees it.
#[derive(Debug, Default)]
struct Instance {
    is_member: bool,
    /// It missed an answer, so it says all that it has to say, to be told all.
    is_unsure: bool,
    epoch: i32,
    owned: Partitions,
    assignment: Partitions,
}

struct World {
    state: State,
    consumer: Consumer,
    instances: Vec<Instance>,
    now: Duration,
}

impl World {
    fn beat(&mut self, at: usize, is_lost: bool) {
        let instance = &mut self.instances[at];
        let joins = !instance.is_member;
        if joins {
            *instance = Instance::default();
        }
        let is_full = joins || instance.is_unsure;
        let beat = Beat {
            member_id: name(at),
            epoch: instance.epoch,
            instance_id: None,
            rack: None,
            client: Client::default(),
            rebalance_timeout: is_full.then_some(Duration::from_secs(20)),
            topics: is_full.then(|| [StrBytes::from_static_str("orders")].into()),
            assignor: None,
            owned: Some(instance.owned.clone()),
        };
        let settings = GroupSettings::default();
        let answer = self.consumer.heartbeat(self.now, &settings, &self.state.topics, beat);
        match answer {
            _ if is_lost => instance.is_unsure = true,
            Ok(Beaten { epoch, assignment, .. }) => {
                (instance.is_member, instance.is_unsure, instance.epoch) = (true, false, epoch);
                if let Some(assignment) = assignment {
                    instance.owned.extend(&assignment - &instance.assignment);
                    instance.assignment = assignment;
                }
            }
            // Fenced or forgotten: it drops all and joins again.
            Err(_) => *instance = Instance::default(),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Beat(at) => self.beat(at, false),
            Event::Lose(at) => self.beat(at, true),
            Event::Revoke(at) => {
                let Instance { owned, assignment, .. } = &mut self.instances[at];
                owned.retain(|partition| assignment.contains(partition));
            }
            Event::Leave(at) => {
                self.instances[at] = Instance::default();
                // An error where it is no member, which it may not know.
                let _ = self.consumer.leave(&name(at), None);
            }
            Event::Expire(at) => {
                self.instances[at] = Instance::default();
                self.consumer.expire(&name(at));
            }
            Event::Pass(seconds) => {
                self.now += Duration::from_secs(seconds);
                self.consumer.advance(self.now);
                // Leases are shorter than sessions: who has expired has dropped all before.
                for at in 0..self.instances.len() {
                    if self.consumer.find(&name(at)).is_none() {
                        self.instances[at] = Instance::default();
                    }
                }
            }
            Event::Grow => {
                if let Some(topic) = self.state.topics.get_mut("orders") {
                    topic.partitions.push(Default::default());
                }
            }
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let mut taken = Partitions::new();
        for partition in self.instances.iter().flat_map(|instance| &instance.owned) {
            prop_assert!(taken.insert(*partition), "{partition:?} has two owners");
        }
        Ok(())
    }
}

fn name(at: usize) -> StrBytes {
    StrBytes::from_string(format!("member-{at}"))
}

fn event() -> impl Strategy<Value = Event> {
    let at = 0usize..4;
    prop_oneof![
        8 => at.clone().prop_map(Event::Beat),
        1 => at.clone().prop_map(Event::Lose),
        4 => at.clone().prop_map(Event::Revoke),
        1 => at.clone().prop_map(Event::Leave),
        1 => at.prop_map(Event::Expire),
        1 => (1u64..30).prop_map(Event::Pass),
        1 => Just(Event::Grow),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_partition_has_two_owners_and_all_is_assigned_in_the_end(
        events in prop::collection::vec(event(), 0..80),
        last in 0usize..4,
    ) {
        let state = samples::core().0.state;
        let instances = (0..4).map(|_| Instance::default()).collect();
        let mut world = World { state, consumer: Consumer::default(), instances, now: Duration::ZERO };
        for event in events {
            world.happen(event);
            world.check()?;
        }
        // From here on they all behave, those that are members and one more.
        for _ in 0..12 {
            for at in 0..4 {
                if world.instances[at].is_member || at == last || world.consumer.find(&name(at)).is_some() {
                    world.happen(Event::Beat(at));
                    world.check()?;
                    world.happen(Event::Revoke(at));
                }
            }
        }
        prop_assert_eq!(world.consumer.state(), "Stable");
        let owned: usize = world.instances.iter().map(|instance| instance.owned.len()).sum();
        prop_assert_eq!(Some(owned), world.state.topics.get("orders").map(|topic| topic.partitions.len()));
    }
}
