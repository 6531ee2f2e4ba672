use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;
use uuid::Uuid;

use super::coordinator::{Coordinator, SESSION};
use super::scenarios::{LEASE, settings};
use crate::broker::{BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode};
use crate::group::consumer::ConsumerMember;
use crate::group::machine::{Answer, Effect, Input, Machine, Request, TopicInfo, Topics};
use crate::group::message::GroupNotice;
use crate::record::TopicPartition;

/// How long a request is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long everything goes wrong.
const STORM: Duration = Duration::from_secs(240);
/// How long it takes then until everything is divided: an old member's session, a rebalance, a new one's.
const CALM: Duration = Duration::from_secs(150);

/// What is on its way to a node, or to the coordinator.
#[derive(Debug)]
enum Event {
    Wake,
    Arrive(Box<ConsumerHeartbeat>),
    Answer(Result<ConsumerHeartbeatAnswer, BrokerError>),
    /// Unless everything was lost since so many losses.
    Released(u64, Vec<TopicPartition>),
    Look,
    CommitRefused(ErrorCode),
}

/// A process with a member in it.
struct Node {
    machine: ConsumerMember,
    /// Which of the processes that this node was; what was meant for an earlier one is lost.
    life: u32,
    /// Nothing happens in it before then.
    suspended: Instant,
    /// What it processes while its lease holds.
    processing: BTreeMap<TopicPartition, Uuid>,
    /// What it has not given up yet, by its own words.
    unreleased: BTreeSet<TopicPartition>,
    lease: Option<Instant>,
    identity: bool,
    /// How often everything was lost: nothing is released any more then.
    losses: u64,
    under_way: bool,
    /// When it sent its requests.
    sent: Vec<Instant>,
}

struct World {
    random: StdRng,
    now: Instant,
    start: Instant,
    coordinator: Coordinator,
    nodes: Vec<Node>,
    queue: BTreeMap<(Instant, u64), (usize, u32, Event)>,
    events: u64,
    /// Whether requests arrive and are answered at once.
    calm: bool,
    static_members: bool,
    next_topic: u128,
}

impl World {
    fn new(seed: u64, nodes: usize, static_members: bool) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let now = Instant::now();
        let nodes = (0..nodes).map(|index| node(index, 0, random.random(), now, static_members)).collect();
        let coordinator = Coordinator::default();
        let queue = BTreeMap::new();
        let (start, events, calm, next_topic) = (now, 0, false, 1);
        let mut world =
            Self { random, now, start, coordinator, nodes, queue, events, calm, static_members, next_topic };
        world.create_topic("a", 5);
        world.create_topic("b", 2);
        for index in 0..world.nodes.len() {
            let life = world.nodes[index].life;
            let after = world.millis(0..2_000);
            world.plan(after, index, life, Event::Look);
        }
        world
    }

    fn create_topic(&mut self, name: &str, partitions: i32) {
        self.coordinator.topics.insert(name.to_owned(), (Uuid::from_u128(self.next_topic), partitions));
        self.next_topic += 1;
        self.coordinator.assign();
    }

    fn millis(&mut self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.random.random_range(range))
    }

    /// `one` in so many times, while the storm lasts.
    fn by_chance(&mut self, one: u32) -> bool {
        !self.calm && self.random.random_ratio(1, one)
    }

    fn plan(&mut self, after: Duration, node: usize, life: u32, event: Event) {
        self.events += 1;
        self.queue.insert((self.now + after, self.events), (node, life, event));
    }

    /// Runs for a while.
    fn run(&mut self, length: Duration) {
        let end = self.now + length;
        loop {
            let wake = self.nodes.iter().enumerate();
            let wake =
                wake.filter_map(|(index, node)| Some((node.machine.wake_at()?.max(node.suspended), index))).min();
            let planned = self.queue.first_key_value().map(|((at, _), _)| *at);
            let next = wake.map(|(at, _)| at).into_iter().chain(planned).min();
            let Some(next) = next.filter(|next| *next < end) else { break };
            self.now = self.now.max(next);
            match planned {
                Some(at) if at <= next => {
                    let (_, (node, life, event)) = self.queue.pop_first().expect("looked at above");
                    self.happen(node, life, event);
                }
                _ => {
                    let index = wake.expect("the earliest of both").1;
                    let life = self.nodes[index].life;
                    self.happen(index, life, Event::Wake);
                }
            }
            self.check();
            if self.by_chance(60) {
                self.disturb();
                self.check();
            }
        }
        self.now = end;
    }

    fn happen(&mut self, index: usize, life: u32, event: Event) {
        if let Event::Arrive(heartbeat) = event {
            return self.arrive(index, life, &heartbeat);
        }
        let node = &self.nodes[index];
        if node.life != life {
            return;
        }
        if node.suspended > self.now {
            let after = node.suspended - self.now;
            return self.plan(after, index, life, event);
        }
        let input = match event {
            Event::Arrive(_) => unreachable!("handled above"),
            Event::Wake => Input::Tick,
            Event::Answer(result) => {
                self.nodes[index].under_way = false;
                Input::Answered(Answer::ConsumerHeartbeat(result))
            }
            Event::Released(losses, _) if self.nodes[index].losses != losses => return,
            Event::Released(_, partitions) => {
                for partition in &partitions {
                    self.nodes[index].unreleased.remove(partition);
                }
                Input::Released(partitions)
            }
            Event::Look => {
                let after = if self.calm { Duration::from_secs(2) } else { self.millis(500..20_000) };
                self.plan(after, index, life, Event::Look);
                let info = |(id, partitions): &(Uuid, i32)| TopicInfo {
                    id: Some(*id),
                    partitions: *partitions,
                    subscribed: true,
                };
                let topics = self.coordinator.topics.iter();
                Input::Topics(topics.map(|(name, topic)| (name.clone(), info(topic))).collect::<Topics>())
            }
            Event::CommitRefused(code) => Input::CommitRefused(code),
        };
        self.step(index, input);
    }

    fn step(&mut self, index: usize, input: Input) {
        let effects = self.nodes[index].machine.step(self.now, input);
        let life = self.nodes[index].life;
        let mut left = false;
        for effect in effects {
            match effect {
                Effect::Send(Request::ConsumerHeartbeat(heartbeat)) => self.send(index, heartbeat),
                Effect::Send(other) => panic!("not of this protocol: {other:?}"),
                Effect::Lease(until) => {
                    assert!(until > self.now, "a lease that is over when it begins");
                    self.nodes[index].lease = Some(until);
                }
                Effect::EndLease => self.nodes[index].lease = None,
                Effect::LookAtTopics(_) => self.plan(Duration::from_millis(500), index, life, Event::Look),
                Effect::Left => left = true,
                Effect::Notice(notice) => self.notice(index, life, notice),
            }
        }
        if left {
            self.restart(index);
        }
    }

    fn notice(&mut self, index: usize, life: u32, notice: GroupNotice) {
        let now = self.now;
        let node = &mut self.nodes[index];
        match notice {
            GroupNotice::Identity(identity) => node.identity = identity.is_some(),
            GroupNotice::Lost { partitions, .. } => {
                assert_eq!(node.lease, None, "a lease over nothing");
                node.losses += 1;
                for partition in partitions {
                    node.processing.remove(&partition);
                    node.unreleased.remove(&partition);
                }
                assert!(node.processing.is_empty(), "everything is lost at once");
            }
            GroupNotice::Revoked(partitions) => {
                assert!(partitions.iter().all(|partition| node.processing.remove(partition).is_some()));
                // Slow ones are fenced.
                let after = match self.random.random_range(0..20) {
                    0 if !self.calm => self.millis(1..40_000),
                    _ => self.millis(1..500),
                };
                let losses = self.nodes[index].losses;
                self.plan(after, index, life, Event::Released(losses, partitions));
            }
            GroupNotice::Assigned(partitions) => {
                assert!(node.identity, "commits need an epoch");
                assert!(node.lease.is_some_and(|until| until > now), "nothing without a lease");
                for (partition, id) in partitions {
                    assert!(node.unreleased.insert(partition.clone()), "{partition} is not given up yet");
                    node.processing.insert(partition, id.expect("topics have ids"));
                }
            }
            GroupNotice::Joined { partitions, .. } => assert_eq!(partitions, node.processing.len()),
            GroupNotice::Troubled(_) | GroupNotice::Missing(_) => {}
            GroupNotice::Failed(reason) => {
                assert!(self.static_members && reason.contains("instance id"), "{reason}");
                self.restart(index);
            }
        }
    }

    /// Requests that are late are lost, as they are when their connection is closed.
    fn send(&mut self, index: usize, heartbeat: ConsumerHeartbeat) {
        let now = self.now;
        let node = &mut self.nodes[index];
        assert!(!std::mem::replace(&mut node.under_way, true), "two heartbeats under way");
        node.sent.push(now);
        if let Some(owned) = &heartbeat.owned {
            let told = owned.iter().map(|(_, partitions)| partitions.len()).sum::<usize>();
            assert_eq!(told, node.unreleased.len(), "what is not given up is owned");
        }
        let life = node.life;
        let lost = self.by_chance(12);
        let there = if self.by_chance(10) { self.millis(1..4_000) } else { self.millis(1..30) };
        if lost {
            self.plan(TIMEOUT, index, life, Event::Answer(Err(unanswered())));
        } else {
            self.plan(there, index, life, Event::Arrive(Box::new(heartbeat)));
        }
    }

    fn arrive(&mut self, index: usize, life: u32, heartbeat: &ConsumerHeartbeat) {
        let result = match self.by_chance(20) {
            true => Err(ErrorCode::NOT_COORDINATOR),
            false => self.coordinator.heartbeat(self.now, heartbeat),
        };
        let (after, result) = if self.by_chance(12) {
            (TIMEOUT, Err(unanswered()))
        } else {
            let after = if self.by_chance(10) { self.millis(1..4_000) } else { self.millis(1..30) };
            (after, result.map_err(|code| BrokerError::Response { doing: "heartbeat".to_owned(), code, message: None }))
        };
        self.plan(after, index, life, Event::Answer(result));
    }

    /// Something goes wrong, or somebody changes something.
    fn disturb(&mut self) {
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
    fn restart(&mut self, index: usize) {
        let life = self.nodes[index].life + 1;
        self.nodes[index] = node(index, life, self.random.random(), self.now, self.static_members);
        let after = self.millis(1..3_000);
        self.plan(after, index, life, Event::Look);
    }

    /// What must hold at all times.
    fn check(&self) {
        let mut owners = BTreeMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if node.lease.is_some_and(|until| self.now < until) {
                for (partition, id) in &node.processing {
                    let other = owners.insert((id, partition), index);
                    assert_eq!(other, None, "{partition} has a second owner, {index}");
                }
            }
        }
    }
}

fn node(index: usize, life: u32, seed: u64, now: Instant, is_static: bool) -> Node {
    let mut settings = settings();
    settings.instance_id = is_static.then(|| format!("node-{index}"));
    Node {
        machine: ConsumerMember::new(settings, seed),
        life,
        suspended: now,
        processing: BTreeMap::new(),
        unreleased: BTreeSet::new(),
        lease: None,
        identity: false,
        losses: 0,
        under_way: false,
        sent: Vec::new(),
    }
}

fn unanswered() -> BrokerError {
    BrokerError::Timeout { doing: "heartbeat".to_owned(), after: TIMEOUT }
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
