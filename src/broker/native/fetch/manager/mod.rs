mod metadata;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use super::backoff;
use super::broker::BrokerLoop;
use super::doubts;
use super::message::{Command, Doubt, Order, Report, Then};
use super::placing::{Place, place};
use super::reading::Reading;
use crate::broker::native::cluster::Cluster;
use crate::broker::native::lanes::Lane;
use crate::broker::native::leaders::Leader;
use crate::broker::{BoxFuture, BrokerError, SourceProblem};
use crate::record::TopicPartition;

/// How often the ids of topics are looked at where fetches name topics by name.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// How often in a row metadata must show another topic by the name: one broker may lag behind the one that told of the
/// topic first.
const DOUBTS: u32 = 2;

/// Gives each partition to the loop of the broker that leads it, and takes it back when it can't be read there.
pub(super) struct Manager {
    cluster: Arc<Cluster>,
    /// Which connections are this source's.
    lane: Arc<Lane>,
    commands: UnboundedReceiver<Command>,
    sender: UnboundedSender<Report>,
    reports: UnboundedReceiver<Report>,
    /// Gets a permit when a feed is closed whose partition waits here.
    wake: Arc<Notify>,
    waiting: Vec<Waiting>,
    loops: HashMap<i32, Loop>,
    /// Loops that were given up and may still close their connection, which the next loop of the broker must not get.
    ending: HashMap<i32, JoinHandle<()>>,
    placed: HashMap<TopicPartition, Placed>,
    refreshing: Option<BoxFuture<Result<(), BrokerError>>>,
    /// When metadata was last asked for.
    asked: Instant,
    /// When that was last done for all partitions that are read.
    checked: Instant,
}

/// A partition without a place.
struct Waiting {
    reading: Reading,
    /// When to try again.
    due: Instant,
    /// Metadata from before this is not believed.
    fresh: Option<Instant>,
    /// How often in a row metadata has shown another topic by its name.
    doubts: u32,
}

/// A partition that is with a loop.
struct Placed {
    broker: i32,
    topic_id: Option<Uuid>,
    /// Which reading of the partition.
    serial: u64,
}

/// The loop of a broker, as seen from here.
struct Loop {
    inbox: UnboundedSender<Order>,
    wake: Arc<Notify>,
    task: JoinHandle<()>,
    /// How many readings it has.
    readings: usize,
    /// Whether it names topics by name.
    by_name: bool,
}

enum Event {
    Command(Option<Command>),
    Report(Option<Report>),
    Refreshed(Result<(), BrokerError>),
    Woken,
}

impl Manager {
    pub(super) fn new(cluster: Arc<Cluster>, commands: UnboundedReceiver<Command>) -> Self {
        let (sender, reports) = mpsc::unbounded_channel();
        Self {
            lane: Arc::new(cluster.fetching.take()),
            cluster,
            commands,
            sender,
            reports,
            wake: Arc::default(),
            waiting: Vec::new(),
            loops: HashMap::new(),
            ending: HashMap::new(),
            placed: HashMap::new(),
            refreshing: None,
            asked: Instant::now(),
            checked: Instant::now(),
        }
    }

    /// Works until the source is dropped.
    pub(super) async fn run(mut self) {
        loop {
            let alarm = self.place_all();
            let event = tokio::select! {
                command = self.commands.recv() => Event::Command(command),
                report = self.reports.recv() => Event::Report(report),
                result = refreshed(&mut self.refreshing) => Event::Refreshed(result),
                () = self.wake.notified() => Event::Woken,
                () = alarm_at(alarm) => Event::Woken,
            };
            match event {
                Event::Command(None) | Event::Report(None) => return,
                Event::Command(Some(command)) => self.obey(command),
                Event::Report(Some(report)) => self.hear(report),
                Event::Refreshed(result) => self.learn(result),
                Event::Woken => {}
            }
            // What has come meanwhile shares metadata and requests.
            while let Ok(command) = self.commands.try_recv() {
                self.obey(command);
            }
            while let Ok(report) = self.reports.try_recv() {
                self.hear(report);
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Read(reading) => self.wait(reading, Instant::now(), None),
            Command::Look => self.loops.values().for_each(|one| one.wake.notify_one()),
        }
    }

    fn wait(&mut self, reading: Reading, due: Instant, fresh: Option<Instant>) {
        let waker = Arc::clone(&self.wake);
        reading.outlet.with_feed(|feed| feed.wake_on_credit(waker));
        self.waiting.push(Waiting { reading, due, fresh, doubts: 0 });
    }

    fn hear(&mut self, report: Report) {
        match report {
            Report::ByName { broker, by_name } => {
                if let Some(one) = self.loops.get_mut(&broker) {
                    one.by_name = by_name;
                }
            }
            Report::Back { broker, reading, then } => {
                if let Some(broker) = broker {
                    self.taken_back(broker, &reading);
                }
                match then {
                    // Nobody may remove the partition for long: its feed is not to be kept for that.
                    Then::End => reading.outlet.shut(),
                    Then::Again { due, stale } => self.wait(reading, due, stale.then(Instant::now)),
                    Then::Doubt(doubt) => self.resolve(reading, doubt),
                }
            }
        }
    }

    fn taken_back(&mut self, broker: i32, reading: &Reading) {
        if self.placed.get(&reading.partition).is_some_and(|placed| placed.serial == reading.serial) {
            self.placed.remove(&reading.partition);
        }
        let Entry::Occupied(mut one) = self.loops.entry(broker) else { return };
        one.get_mut().readings -= 1;
        if one.get().readings == 0 {
            // With its inbox gone, the loop ends.
            self.ending.insert(broker, one.remove().task);
        }
    }

    fn resolve(&self, mut reading: Reading, doubt: Doubt) {
        let (cluster, sender) = (Arc::clone(&self.cluster), self.sender.clone());
        tokio::spawn(async move {
            let then = doubts::resolve(cluster, &mut reading, doubt).await;
            let _ = sender.send(Report::Back { broker: None, reading, then });
        });
    }

    /// Places what can be placed, and asks for metadata where it is needed. Returns when to look again.
    fn place_all(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let mut topics = BTreeSet::new();
        for mut waiting in std::mem::take(&mut self.waiting) {
            if waiting.reading.credit(0).is_none() {
                waiting.reading.outlet.shut();
                continue;
            }
            if waiting.due > now {
                self.waiting.push(waiting);
                continue;
            }
            let reading = &mut waiting.reading;
            match place(&self.cluster.leaders, &reading.partition, reading.topic_id, waiting.fresh) {
                Place::At(leader) => self.give(waiting.reading, leader),
                Place::Ask => {
                    topics.insert(reading.partition.topic().to_owned());
                    waiting.fresh.get_or_insert(now);
                    self.waiting.push(waiting);
                }
                Place::Nowhere(code) => {
                    let pause = reading.failed(reading.response(code));
                    waiting.due = now + if code.is_authorization() { backoff::LONGEST } else { pause };
                    waiting.fresh = Some(waiting.due);
                    waiting.doubts = 0;
                    self.waiting.push(waiting);
                }
                Place::Other => {
                    waiting.doubts += 1;
                    if waiting.doubts >= DOUBTS {
                        reading.stop(SourceProblem::TopicRecreated);
                        continue;
                    }
                    waiting.due = now + backoff::pause(waiting.doubts, rand::random());
                    waiting.fresh = Some(waiting.due);
                    self.waiting.push(waiting);
                }
            }
        }
        let by_name = self.loops.values().any(|one| one.by_name);
        let max_age = self.cluster.settings.metadata_max_age;
        let check = self.checked + if by_name { max_age.min(CHECK_EVERY) } else { max_age };
        if self.refreshing.is_none() {
            if check <= now {
                self.checked = now;
                topics.extend(self.placed.keys().map(|partition| partition.topic().to_owned()));
            }
            if !topics.is_empty() {
                self.refresh(topics.into_iter().collect());
            }
        }
        // What is due already waits for metadata.
        let due = self.waiting.iter().map(|waiting| waiting.due);
        due.chain((!self.placed.is_empty()).then_some(check)).filter(|due| *due > now).min()
    }

    fn give(&mut self, mut reading: Reading, leader: Leader) {
        reading.topic_id = reading.topic_id.or(leader.topic_id);
        reading.unvalidated |= reading.leader_epoch != leader.epoch && reading.position.epoch.is_some();
        reading.leader_epoch = leader.epoch;
        let placed = Placed { broker: leader.broker, topic_id: reading.topic_id, serial: reading.serial };
        self.placed.insert(reading.partition.clone(), placed);
        let one = self.loops.entry(leader.broker).or_insert_with(|| {
            let (inbox, orders) = mpsc::unbounded_channel();
            let wake = Arc::<Notify>::default();
            let cluster = (Arc::clone(&self.cluster), Arc::clone(&self.lane));
            let work = BrokerLoop::new(leader.broker, cluster, orders, Arc::clone(&wake), self.sender.clone());
            let before = self.ending.remove(&leader.broker);
            let task = tokio::spawn(async move {
                if let Some(before) = before {
                    // However it ended.
                    let _ = before.await;
                }
                work.run().await;
            });
            Loop { inbox, wake, task, readings: 0, by_name: false }
        });
        one.readings += 1;
        // A loop ends only after this end of its inbox is dropped.
        let _ = one.inbox.send(Order::Read(reading));
    }
}

async fn refreshed(refreshing: &mut Option<BoxFuture<Result<(), BrokerError>>>) -> Result<(), BrokerError> {
    match refreshing {
        Some(refreshing) => refreshing.await,
        None => std::future::pending().await,
    }
}

async fn alarm_at(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => sleep_until(alarm).await,
        None => std::future::pending().await,
    }
}
