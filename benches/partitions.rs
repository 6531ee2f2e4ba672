//! What many partitions cost: memory and CPU time while they are idle, memory with all feeds full, memory after all is
//! handled. Without a broker records are made as they are pushed, under credit, so that each feed holds its own bytes. With
//! one that `KAFKA_BOOTSTRAP` names they are produced to a topic made for it, and read over the native plane.
//!
//! `cargo bench --bench partitions`

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use bezoar::broker::{ConnectionSettings, Feed, NewTopic, Plane, Ports};
use bezoar::record::{ProducerRecord, Record, TopicPartition};
use bezoar::{Consumer, Delivery, Failure, Handler, Raw};
use support::cpu::CpuTimes;
use support::memory::Memory;
use support::records::{TOPIC, batch};
use support::resident::resident;
use support::table;
use tokio::sync::watch;

/// The most bytes in each feed.
const FEED_BYTES: usize = 64 * 1024;
/// As many records as fit into a quarter of a feed.
const BATCH: i64 = 50;

/// Holds its partition until the gate is open, and counts what it handled.
struct Gated {
    open: watch::Receiver<bool>,
    handled: Arc<AtomicI64>,
}

impl Handler for Gated {
    type Message = Record;
    type Error = Failure;

    async fn handle(&mut self, _: Record, _: Delivery) -> Result<(), Failure> {
        if !*self.open.borrow() {
            self.open.wait_for(|open| *open).await?;
        }
        self.handled.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Fills a feed under credit with `count` records made for it.
async fn fill(feed: Arc<Feed>, count: i64) {
    for start in (0..count).step_by(BATCH as usize) {
        let made = batch(feed.partition(), start, (start + BATCH).min(count));
        if feed.wait_for_credit().await.is_none() || !feed.push(made) {
            return;
        }
    }
}

/// Produces `count` records to each partition of a real topic.
async fn produce(ports: &Ports, topic: &str, partitions: i32, count: i64) {
    for partition in 0..partitions {
        let partition = TopicPartition::new(topic, partition);
        let record = |number: i64| {
            let value = format!("{{\"id\": {number}, \"amount\": 12.5, \"note\": \"{}\"}}", "x".repeat(60));
            ProducerRecord::to(topic).key(number.to_string()).value(value)
        };
        let records = (0..count).map(record).collect();
        ports.produce.produce(partition, records).await.expect("the broker takes the records");
    }
}

/// Waits until the resident size stays as it is: whatever can be fetched ahead was fetched.
async fn until_steady() {
    let mut seen = Vec::new();
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        seen.push(resident().unwrap_or_default());
        if let [.., first, _, _, last] = seen[..]
            && first.abs_diff(last) * 200 < last
        {
            return;
        }
    }
}

/// Waits for a condition.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(120), "{what} within two minutes");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// One row: the resident size, how much of it came since the start, and the share of one core used during `idle`.
async fn row(phase: &str, partitions: i32, start: Option<u64>, idle: Duration) -> Vec<String> {
    let (cpu, began) = (CpuTimes::now(), Instant::now());
    tokio::time::sleep(idle).await;
    let share = CpuTimes::now().since(&cpu).map(|used| used as f64 / began.elapsed().as_nanos() as f64 * 100.0);
    let now = resident();
    let added = now.zip(start).map(|(now, start)| now.saturating_sub(start) as f64);
    let text = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}"));
    vec![
        phase.to_owned(),
        text(now.map(|now| now as f64 / f64::from(1 << 20))),
        text(added.map(|added| added / f64::from(1 << 20))),
        text(added.map(|added| added / f64::from(partitions) / 1024.0)),
        text(share),
    ]
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let (partitions, per_partition, idle) = if support::measuring() {
        (1_000, 1_000, Duration::from_secs(5))
    } else {
        (20, 400, Duration::from_millis(50))
    };
    let start = resident();
    let mut rows = vec![row("before the consumer", partitions, start, Duration::from_millis(10)).await];
    let real = match std::env::var("KAFKA_BOOTSTRAP") {
        Ok(bootstrap) => {
            let ports = Plane::Native.connect(ConnectionSettings::new([bootstrap])).await.expect("the broker answers");
            let topic = format!("bench-partitions-{}", std::process::id());
            let new = NewTopic::new(&topic, partitions).replication(1);
            ports.admin.create_topic(new).await.expect("the topic can be made");
            Some((ports, topic))
        }
        Err(_) => None,
    };
    let memory = Memory::new(partitions);
    let (gate, open) = watch::channel(false);
    let handled = Arc::new(AtomicI64::new(0));
    let made = Arc::new(AtomicI64::new(0));
    let (counter, count) = (Arc::clone(&handled), Arc::clone(&made));
    let factory = move || {
        count.fetch_add(1, Ordering::Relaxed);
        Gated { open: open.clone(), handled: Arc::clone(&counter) }
    };
    let (ports, topic) = real.clone().unwrap_or_else(|| (memory.ports(), TOPIC.to_owned()));
    let builder = Consumer::builder("bench")
        .ports(ports.clone())
        .assignment(bezoar::consumer::Assignment::Manual)
        .feed_bytes(FEED_BYTES);
    // Longer than the bench holds its records.
    let builder = builder.poison_timeout(None);
    let consumer = builder.topic(&topic, Raw, factory).start().await.expect("it starts");
    until("all handlers are made", async || made.load(Ordering::Relaxed) == i64::from(partitions)).await;
    rows.push(row("idle", partitions, start, idle).await);

    if real.is_some() {
        produce(&ports, &topic, partitions, per_partition).await;
        until_steady().await;
    } else {
        let name = |number| TopicPartition::new(TOPIC, number);
        let feeds: Vec<Arc<Feed>> =
            (0..partitions).map(|number| memory.feed(&name(number)).expect("assigned")).collect();
        feeds.iter().for_each(|feed| drop(tokio::spawn(fill(Arc::clone(feed), per_partition))));
        until("all feeds are full", async || feeds.iter().all(|feed| feed.credit() == Some(0))).await;
    }
    rows.push(row("all feeds full", partitions, start, idle).await);

    gate.send_replace(true);
    let all = i64::from(partitions) * per_partition;
    until("all is handled", async || handled.load(Ordering::Relaxed) == all).await;
    until("all is settled", async || {
        consumer.positions().await.iter().all(|position| position.watermark == per_partition)
    })
    .await;
    rows.push(row("all handled, idle", partitions, start, idle).await);
    let summary = consumer.shutdown().await.expect("it stops cleanly");
    assert!(summary.committed, "everything settled is committed");
    if real.is_some() {
        ports.admin.delete_topics(vec![topic]).await.expect("the topic can be deleted");
    }

    let bound = FEED_BYTES as f64 * f64::from(partitions) / f64::from(1 << 20);
    println!("{partitions} partitions; feeds are bounded to {} KiB each, {bound:.1} MiB in all\n", FEED_BYTES / 1024);
    table::print(&["phase", "resident MiB", "added MiB", "added KiB per partition", "% of a core"], &rows);
}
