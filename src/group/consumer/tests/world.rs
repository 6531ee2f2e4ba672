use std::collections::BTreeMap;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;
use uuid::Uuid;

use super::coordinator::Coordinator;
use super::node::{Node, node};
use crate::broker::{BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode};
use crate::group::machine::{Answer, Effect, Input, Machine, Request, TopicInfo, Topics};
use crate::group::message::GroupNotice;
use crate::record::TopicPartition;

/// How long a request is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);
/// What is on its way to a node, or to the coordinator.
#[derive(Debug)]
pub(super) enum Event {
    Wake,
    Arrive(Box<ConsumerHeartbeat>),
    Answer(Result<ConsumerHeartbeatAnswer, BrokerError>),
    /// Unless everything was lost since so many losses.
    Released(u64, Vec<TopicPartition>),
    Look,
    CommitRefused(ErrorCode),
}

pub(super) struct World {
    pub(super) random: StdRng,
    pub(super) now: Instant,
    pub(super) start: Instant,
    pub(super) coordinator: Coordinator,
    pub(super) nodes: Vec<Node>,
    pub(super) queue: BTreeMap<(Instant, u64), (usize, u32, Event)>,
    pub(super) events: u64,
    /// Whether requests arrive and are answered at once.
    pub(super) calm: bool,
    pub(super) static_members: bool,
    pub(super) next_topic: u128,
}

impl World {
    pub(super) fn new(seed: u64, nodes: usize, static_members: bool) -> Self {
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

    pub(super) fn create_topic(&mut self, name: &str, partitions: i32) {
        self.coordinator.topics.insert(name.to_owned(), (Uuid::from_u128(self.next_topic), partitions));
        self.next_topic += 1;
        self.coordinator.assign();
    }

    pub(super) fn millis(&mut self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.random.random_range(range))
    }

    /// `one` in so many times, while the storm lasts.
    pub(super) fn by_chance(&mut self, one: u32) -> bool {
        !self.calm && self.random.random_ratio(1, one)
    }

    pub(super) fn plan(&mut self, after: Duration, node: usize, life: u32, event: Event) {
        self.events += 1;
        self.queue.insert((self.now + after, self.events), (node, life, event));
    }

    /// Runs for a while.
    pub(super) fn run(&mut self, length: Duration) {
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

    pub(super) fn step(&mut self, index: usize, input: Input) {
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
            GroupNotice::Troubled(_) | GroupNotice::Recovered | GroupNotice::Missing(_) => {}
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

fn unanswered() -> BrokerError {
    BrokerError::Timeout { doing: "heartbeat".to_owned(), after: TIMEOUT }
}
