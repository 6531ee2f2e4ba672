//! A rolling restart of three instances under a constant load, as a new version is brought out: each in turn is shut down, is
//! away for a while and starts again. How many partitions change hands, and how long each partition stands still (the
//! longest time between two records of it that are handled), with dynamic and with static members.
//!
//! On an embedded broker, or on the one that `KAFKA_BOOTSTRAP` names. Settings are the defaults, the heartbeats' interval
//! included, which is how soon members hear of each other.
//!
//! `cargo bench --bench rolling`

mod support;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bezoar::broker::{ConnectionSettings, NewTopic, Plane, Ports};
use bezoar::consumer::{ConsumerBuilder, GroupProtocol};
use bezoar::embedded::Broker;
use bezoar::record::{ProducerRecord, Record, TopicPartition};
use bezoar::{Consumer, Delivery, Event, EventStream, Failure, Raw, handler_fn};
use support::table;
use tokio::time::sleep;

const INSTANCES: usize = 3;
const PARTITIONS: i32 = 12;
/// Between two records of a partition.
const PACE: Duration = Duration::from_millis(10);

/// How long things take: as they are for users, or short, to see that the bench works.
#[derive(Clone, Copy)]
struct Pace {
    /// How long an instance is away.
    away: Duration,
    heartbeat: Option<Duration>,
}

impl Pace {
    fn current() -> Self {
        if support::measuring() {
            Self { away: Duration::from_secs(2), heartbeat: None }
        } else {
            Self { away: Duration::from_millis(200), heartbeat: Some(Duration::from_millis(100)) }
        }
    }
}

/// What instances note.
#[derive(Default)]
struct Notes {
    /// When a record of the partition was handled last, and the longest time between two so far.
    partitions: HashMap<i32, (Instant, Duration)>,
    /// Who has each partition, and how often that changed.
    owners: HashMap<i32, usize>,
    moves: usize,
    starts: usize,
}

impl Notes {
    fn handled(&mut self, partition: i32) {
        let now = Instant::now();
        let (last, longest) = self.partitions.entry(partition).or_insert((now, Duration::ZERO));
        *longest = (*longest).max(now - *last);
        *last = now;
    }

    fn assigned(&mut self, partition: i32, instance: usize) {
        self.starts += 1;
        let before = self.owners.insert(partition, instance);
        self.moves += usize::from(before.is_some_and(|before| before != instance));
    }
}

struct Group {
    bootstrap: String,
    name: String,
    topic: String,
    protocol: GroupProtocol,
    is_static: bool,
    pace: Pace,
    notes: Arc<Mutex<Notes>>,
}

impl Group {
    async fn start(&self, instance: usize) -> Consumer {
        let notes = Arc::clone(&self.notes);
        let handler = handler_fn(move |_: Record, delivery: Delivery| {
            notes.lock().unwrap().handled(delivery.partition());
            async { Ok::<(), Failure>(()) }
        });
        let builder = Consumer::builder(&self.name).bootstrap(&self.bootstrap).group_protocol(self.protocol);
        let builder = self.settings(builder, instance).topic(&self.topic, Raw, handler);
        tokio::spawn(follow(builder.events(), instance, Arc::clone(&self.notes)));
        builder.start().await.expect("it starts")
    }

    fn settings(&self, builder: ConsumerBuilder, instance: usize) -> ConsumerBuilder {
        let builder = if self.is_static { builder.instance_id(format!("{}-{instance}", self.name)) } else { builder };
        match self.pace.heartbeat {
            // With KIP-848 it is the broker's.
            Some(interval) if self.protocol == GroupProtocol::Classic => builder.heartbeat_interval(interval),
            _ => builder,
        }
    }

    /// Waits until each partition gets records handled by those who have them now, for as long as `calm`.
    async fn flows(&self, ports: &Ports, members: usize) {
        loop {
            let described = ports.admin.describe_group(self.name.clone()).await;
            if let Ok(group) = described
                && group.state == "Stable"
                && group.members.len() == members
                && group.members.iter().map(|member| member.assignment.len()).sum::<usize>() == PARTITIONS as usize
            {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
        let since = Instant::now();
        while !(0..PARTITIONS).all(|partition| {
            self.notes.lock().unwrap().partitions.get(&partition).is_some_and(|(last, _)| *last > since)
        }) {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn follow(mut events: EventStream, instance: usize, notes: Arc<Mutex<Notes>>) {
    while let Some(event) = events.next().await {
        if let Event::Assigned { partition, .. } = event {
            notes.lock().unwrap().assigned(partition.partition(), instance);
        }
    }
}

/// One rolling restart; a row of the table.
async fn roll(bootstrap: &str, protocol: GroupProtocol, is_static: bool) -> Vec<String> {
    let pace = Pace::current();
    let ports = Plane::Native.connect(ConnectionSettings::new([bootstrap])).await.expect("the broker answers");
    let name = format!("rolling-{}", uuid::Uuid::new_v4().simple());
    let topic = NewTopic::new(&name, PARTITIONS).replication(1);
    ports.admin.create_topic(topic).await.expect("the topic is created");
    let notes = Arc::<Mutex<Notes>>::default();
    let (bootstrap, topic) = (bootstrap.to_owned(), name.clone());
    let group = Group { bootstrap, name, topic, protocol, is_static, pace, notes };

    let mut instances = Vec::new();
    for instance in 0..INSTANCES {
        instances.push(Some(group.start(instance).await));
    }
    let (producing, topic) = (ports.clone(), group.topic.clone());
    let load = tokio::spawn(async move {
        loop {
            for number in 0..PARTITIONS {
                let record = ProducerRecord::to(topic.as_str()).value("an order");
                let partition = TopicPartition::new(topic.as_str(), number);
                // Not awaited: records of a partition keep their order, and none waits for another's.
                tokio::spawn(producing.produce.produce(partition, vec![record]));
            }
            sleep(PACE).await;
        }
    });
    group.flows(&ports, INSTANCES).await;
    let gaps = |notes: &mut Notes| notes.partitions.values_mut().for_each(|(_, longest)| *longest = Duration::ZERO);
    {
        let mut notes = group.notes.lock().unwrap();
        gaps(&mut notes);
        (notes.moves, notes.starts) = (0, 0);
    }
    for (instance, slot) in instances.iter_mut().enumerate() {
        if let Some(running) = slot.take() {
            running.shutdown().await.expect("it stops cleanly");
        }
        sleep(pace.away).await;
        *slot = Some(group.start(instance).await);
        group.flows(&ports, INSTANCES).await;
    }
    load.abort();
    for running in instances.into_iter().flatten() {
        running.shutdown().await.expect("it stops cleanly");
    }
    let notes = group.notes.lock().unwrap();
    let mut pauses: Vec<f64> = notes.partitions.values().map(|(_, longest)| longest.as_secs_f64() * 1e3).collect();
    let median = table::percentile(&mut pauses, 50.0);
    let most = table::percentile(&mut pauses, 100.0);
    let protocol = if protocol == GroupProtocol::Classic { "classic" } else { "consumer" };
    let membership = if is_static { "static" } else { "dynamic" };
    let counts = [notes.moves.to_string(), notes.starts.to_string()];
    let mut row = vec![protocol.to_owned(), membership.to_owned()];
    row.extend(counts);
    row.extend([median, most].map(|millis| format!("{millis:.0}")));
    row
}

#[tokio::main]
async fn main() {
    let pace = Pace::current();
    let embedded = match std::env::var("KAFKA_BOOTSTRAP") {
        Ok(_) => None,
        Err(_) => {
            let builder = Broker::builder();
            let builder = match pace.heartbeat {
                Some(interval) => builder.consumer_heartbeat_interval(interval),
                None => builder,
            };
            Some(builder.start().await.expect("it starts"))
        }
    };
    let bootstrap = match &embedded {
        Some(broker) => broker.bootstrap(),
        None => std::env::var("KAFKA_BOOTSTRAP").expect("it was there"),
    };
    let mut rows = Vec::new();
    for protocol in [GroupProtocol::Classic, GroupProtocol::Consumer] {
        for is_static in [false, true] {
            rows.push(roll(&bootstrap, protocol, is_static).await);
        }
    }
    println!(
        "{INSTANCES} instances, {PARTITIONS} partitions, each instance away for {:?}; milliseconds that a partition stands still\n",
        pace.away
    );
    table::print(&["protocol", "members", "moved", "started", "median", "most"], &rows);
}
