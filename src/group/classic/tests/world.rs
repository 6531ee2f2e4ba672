//! Members, their coordinator and the network between them, in simulated time.

mod chaos;
mod effects;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;

use super::coordinator::{Coordinator, Token};
use crate::broker::{BrokerError, MemberIdentity};
use crate::group::classic::ClassicMember;
use crate::group::machine::{Answer, Input, Machine, Request, TopicInfo, Topics};
use crate::group::settings::{Assignor, GroupSettings};
use crate::record::TopicPartition;

/// A process with a member in it, and what it knows from effects alone.
struct Node {
    member: ClassicMember,
    wants: BTreeSet<String>,
    looks_at: BTreeSet<String>,
    owned: BTreeSet<TopicPartition>,
    lease: Option<Instant>,
    identity: Option<MemberIdentity>,
    /// Requests without an answer yet.
    open: BTreeMap<Token, Request>,
    cut_until: Instant,
    /// Which of five machines it runs on, each with an instance id.
    place: usize,
    /// How often everything was lost: what was being given up then is not any more.
    losses: u32,
    steps: u32,
}

enum Event {
    Arrive(usize, Token, Request),
    Answer(usize, Token, Answer),
    Wake(usize),
    Look(usize, bool),
    Release(usize, u32, Vec<TopicPartition>),
    Commit(usize),
    CommitArrives(usize, MemberIdentity),
    CommitRefused(usize, crate::broker::ErrorCode),
    Uncut,
    Back,
    Pass,
}

pub(super) struct World {
    random: StdRng,
    base: Instant,
    pub(super) now: Instant,
    coordinator: Coordinator,
    nodes: BTreeMap<usize, Node>,
    queue: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    started: usize,
    counts: BTreeMap<String, i32>,
    settings: GroupSettings,
    eager: bool,
    statics: bool,
    /// What happened, for a test that fails.
    pub(super) log: Vec<String>,
}

const ALL: [&str; 4] = ["a", "b", "c", "d"];

impl World {
    pub(super) fn new(seed: u64, assignor: Assignor, statics: bool) -> Self {
        let base = Instant::now();
        let settings = GroupSettings {
            assignors: vec![assignor],
            rebalance_timeout: Duration::from_secs(20),
            ..super::settings("")
        };
        let mut world = Self {
            random: StdRng::seed_from_u64(seed),
            base,
            now: base,
            coordinator: Coordinator::new(),
            nodes: BTreeMap::new(),
            queue: BTreeMap::new(),
            serial: 0,
            started: 0,
            counts: [("a", 3), ("b", 5), ("c", 1)].map(|(name, count)| (name.to_owned(), count)).into(),
            settings,
            eager: assignor != Assignor::CooperativeSticky,
            statics,
            log: Vec::new(),
        };
        world.at(0, Event::Pass);
        world
    }

    fn at(&mut self, millis: u64, event: Event) {
        self.serial += 1;
        self.queue.insert((self.now + Duration::from_millis(millis), self.serial), event);
    }

    fn soon(&mut self, most: u64) -> u64 {
        self.random.random_range(1..=most)
    }

    fn drop_connection(&mut self, index: usize, token: Token, request: &Request) {
        let error = BrokerError::Connection { doing: "asking the model".to_owned(), cause: "cut".to_owned() };
        let answer = match request {
            Request::Join(_) => Answer::Join(Err(error)),
            Request::Sync(_) => Answer::Sync(Err(error)),
            Request::Leave(_) => Answer::Leave(Err(error)),
            Request::Heartbeat(_) | Request::ConsumerHeartbeat(_) => Answer::Heartbeat(Err(error)),
        };
        let wait = self.soon(400);
        self.at(wait, Event::Answer(index, token, answer));
    }

    /// Lets `millis` pass.
    pub(super) fn run(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while let Some((&key, _)) = self.queue.first_key_value().filter(|(key, _)| key.0 <= end) {
            let Some(event) = self.queue.remove(&key) else { break };
            self.now = key.0;
            self.coordinator.pass(self.now);
            self.happen(event);
            self.deliver();
            self.check();
        }
        self.now = end;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Pass => {
                for node in self.nodes.values_mut() {
                    assert!(node.steps < 60, "hot loop: {} steps within a second", node.steps);
                    node.steps = 0;
                }
                self.at(1_000, Event::Pass);
            }
            Event::Arrive(index, token, request) => {
                let open = self.nodes.get(&index).is_some_and(|node| node.open.contains_key(&token));
                let cut = self.nodes.get(&index).is_none_or(|node| node.cut_until > self.now);
                // What a cut or killed process had sent may still arrive; a static one's not after its successor's.
                let replaced = self.statics && !self.nodes.contains_key(&index);
                if (open && !cut) || (!replaced && self.random.random_bool(0.5)) {
                    self.coordinator.request(self.now, token, request);
                }
            }
            Event::Answer(index, token, answer) => {
                let known = self.nodes.get_mut(&index).and_then(|node| node.open.remove(&token));
                if known.is_some() {
                    self.step(index, Input::Answered(answer));
                }
            }
            Event::Wake(index) => {
                let due = |node: &Node| node.member.wake_at().is_some_and(|at| at <= self.now);
                if self.nodes.get(&index).is_some_and(due) {
                    self.step(index, Input::Tick);
                }
            }
            Event::Look(index, again) => {
                if let Some(topics) = self.nodes.get(&index).map(|node| self.topics(node)) {
                    self.step(index, Input::Topics(topics));
                    let wait = 4_000 + self.soon(2_000);
                    if again {
                        self.at(wait, Event::Look(index, true));
                    }
                }
            }
            Event::Release(index, losses, partitions) => {
                let Some(node) = self.nodes.get_mut(&index).filter(|node| node.losses == losses) else { return };
                node.owned.retain(|partition| !partitions.contains(partition));
                self.step(index, Input::Released(partitions));
            }
            Event::Commit(index) => {
                let Some(node) = self.nodes.get(&index) else { return };
                let wait = 700 + self.random.random_range(0..900);
                if let Some(identity) = node.identity.clone() {
                    let way = self.soon(200);
                    self.at(way, Event::CommitArrives(index, identity));
                }
                self.at(wait, Event::Commit(index));
            }
            Event::CommitArrives(index, identity) => {
                if let Err(code) = self.coordinator.commit(&identity) {
                    let way = self.soon(200);
                    self.at(way, Event::CommitRefused(index, code));
                }
            }
            Event::CommitRefused(index, code) => self.step(index, Input::CommitRefused(code)),
            Event::Uncut => {}
            Event::Back => self.coordinator.come_back(self.now),
        }
    }

    fn topics(&self, node: &Node) -> Topics {
        let named = |name: &String| node.wants.contains(name) || node.looks_at.contains(name);
        let info = |(name, count): (&String, &i32)| {
            (name.clone(), TopicInfo { id: None, partitions: *count, subscribed: node.wants.contains(name) })
        };
        self.counts.iter().filter(|(name, _)| named(name)).map(info).collect()
    }

    /// Sends what the coordinator has answered.
    fn deliver(&mut self) {
        for (token, answer) in std::mem::take(&mut self.coordinator.answers) {
            let to = self.nodes.iter().find(|(_, node)| node.open.contains_key(&token)).map(|(index, _)| *index);
            let Some(index) = to.filter(|index| self.nodes[index].cut_until <= self.now) else { continue };
            let wait = self.soon(200);
            self.at(wait, Event::Answer(index, token, answer));
        }
    }
}
