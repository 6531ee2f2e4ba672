//! What going through a dead-letter topic costs: lists, groups, numbers and reading all of each dead letter, against a plain fetch
//! of the same topic that only counts records, all alternately in one run. On the embedded broker within this process, or on the
//! one that `KAFKA_BOOTSTRAP` names.
//!
//! `cargo bench --bench listing`

mod support;

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use bezoar::broker::{ConnectionSettings, Feed, NewTopic, OffsetSpec, Plane, Ports};
use bezoar::dead_letter::{DeadLetterContext, DeadLetterFormat, Rung, fingerprint};
use bezoar::embedded::Broker;
use bezoar::policy::Category;
use bezoar::record::{HeaderRef, ProducerRecord, RecordBatchBuilder, RecordId, TopicPartition};
use bezoar::replay::{DeadLetters, Filter};
use support::cpu::CpuTimes;
use support::table::{self, median};
use tokio::sync::Notify;
use uuid::Uuid;

const PARTITIONS: i32 = 4;
/// As much as the tools fetch ahead per partition.
const FEED_BYTES: usize = 4 << 20;
/// Dead letters that are produced at once.
const BATCH: i64 = 250;

/// Faults whose messages differ from record to record.
const FAULTS: [(Category, &str, &str); 6] = [
    (
        Category::Validation,
        "serde_json::Error",
        "items: invalid type: string \"#\", expected a sequence at line 1 column #",
    ),
    (Category::Validation, "orders::OrderError", "order # has no lines"),
    (Category::Transient, "orders::OrderError", "inventory did not answer within 2s for order #: operation timed out"),
    (Category::Dependency, "orders::OrderError", "inventory answered 503 Service Unavailable for order #"),
    (Category::Poison, "panic", "index out of bounds: the len is 3 but the index is #"),
    (Category::Unknown, "orders::OrderError", "order # cannot be handled"),
];

/// A dead letter as a consumer writes it: some 300 bytes of JSON, 21 headers.
fn dead_letter(partition: i32, offset: i64) -> ProducerRecord {
    let (category, error_type, message) = FAULTS[(offset % FAULTS.len() as i64) as usize];
    let message = message.replace('#', &offset.to_string());
    let value = format!(
        r#"{{"id":{offset},"customer":"customer-{}","total":{}.5,"items":["tea","cup"],"note":"{}"}}"#,
        offset % 1_000,
        offset % 100,
        "please leave it with the neighbours ".repeat(6)
    );
    let place = TopicPartition::new("orders", partition);
    let id = Uuid::from_u128(7);
    let mut batch = RecordBatchBuilder::new(place.clone(), Some(id));
    let headers = [("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), ("schema", "order-1")]
        .map(|(name, value)| HeaderRef { name: name.as_bytes(), value: Some(value.as_bytes()) });
    let key = format!("customer-{}", offset % 1_000);
    batch.push(offset, 1_700_000_000_000, Some(key.as_bytes()), Some(value.as_bytes()), headers.into_iter());
    let context = DeadLetterContext {
        source: RecordId { topic_id: Some(id), partition: place, offset },
        source_timestamp: Some(1_700_000_000_000),
        group: Some("fulfilment".into()),
        attempts: Some(1),
        category,
        error_type: error_type.to_owned(),
        backtrace: Some(format!("{message}\nhandling an order")),
        first_failed_at: Some(1_700_000_001_000),
        last_failed_at: Some(1_700_000_002_000),
        consumer_id: Some("fulfilment@host-1:4711".into()),
        consumer_version: Some("1.4.2".into()),
        replay_count: 0,
        fingerprint: fingerprint(category, error_type, &message, None),
        message,
    };
    let record = batch.build(offset + 1).get(0).expect("it was pushed");
    context.encode(&record, &DeadLetterFormat::default(), Rung::Full, "")
}

async fn publish(ports: &Ports, topic: &str, count: i64) {
    let each = (0..PARTITIONS).map(|number| {
        let (produce, partition) = (Arc::clone(&ports.produce), TopicPartition::new(topic, number));
        tokio::spawn(async move {
            for start in (0..count).step_by(BATCH as usize) {
                let records = (start..(start + BATCH).min(count)).map(|offset| dead_letter(number, offset)).collect();
                produce.produce(partition.clone(), records).await.expect("the broker takes them");
            }
        })
    });
    for task in each.collect::<Vec<_>>() {
        task.await.expect("all are published");
    }
}

/// Fetches all and counts it: records, and bytes of keys and values.
async fn plain(ports: &Ports, topic: &str) -> (u64, u64) {
    let id =
        ports.admin.topics(vec![topic.to_owned()]).await.expect("it is there")[0].as_ref().expect("it is there").id;
    let ready = Arc::new(Notify::new());
    let mut open = Vec::new();
    for number in 0..PARTITIONS {
        let partition = TopicPartition::new(topic, number);
        let end = ports.admin.offset(partition.clone(), OffsetSpec::Latest).await.expect("it has an end");
        let feed = Arc::new(Feed::new(partition.clone(), FEED_BYTES, |problem| panic!("{problem:?}")));
        let notify = Arc::clone(&ready);
        feed.on_ready(move || notify.notify_one());
        ports.source.add(partition, id, 0, Arc::clone(&feed));
        open.push((feed, end));
    }
    let (mut records, mut bytes) = (0, 0);
    while !open.is_empty() {
        let arrival = ready.notified();
        let mut any = false;
        open.retain(|(feed, end)| {
            let Some(batch) = feed.front() else { return true };
            feed.pop_front();
            any = true;
            for record in batch.iter() {
                records += 1;
                bytes += record.value().map_or(0, <[u8]>::len) as u64 + record.key().map_or(0, <[u8]>::len) as u64;
            }
            if batch.next_offset() >= *end {
                ports.source.remove(feed.partition());
                feed.close();
                return false;
            }
            true
        });
        if !any && !open.is_empty() {
            arrival.await;
        }
    }
    (records, bytes)
}

/// What is measured, by name; returns how many dead letters it met.
const JOBS: [&str; 8] = [
    "plain fetch",
    "list, all fit",
    "list, none fits (category, type)",
    "list, none fits (text)",
    "list, some fit (fingerprint)",
    "groups",
    "stats",
    "for each, read whole",
];

async fn run(job: &str, letters: &DeadLetters, ports: &Ports, topic: &str) -> u64 {
    let list = async |filter: Filter| letters.list(&filter, 100).await.expect("it can be listed").matched;
    match job {
        "plain fetch" => plain(ports, topic).await.0,
        "list, all fit" => list(Filter::new()).await,
        "list, none fits (category, type)" => {
            list(Filter::new().category(Category::Poison).error_type("no such type")).await
        }
        "list, none fits (text)" => list(Filter::new().text("no such text")).await,
        "list, some fit (fingerprint)" => {
            let (category, error_type, message) = FAULTS[4];
            list(Filter::new().fingerprint(fingerprint(category, error_type, message, None))).await
        }
        "groups" => {
            let groups = letters.groups(&Filter::new()).await.expect("they can be grouped");
            assert_eq!(groups.len(), FAULTS.len());
            groups.iter().map(|group| group.count).sum()
        }
        "stats" => letters.stats().await.expect("they can be counted")[0].total,
        _ => {
            let mut bytes = 0;
            let each = |entry: bezoar::replay::Entry| {
                bytes += entry.letter.value.map_or(0, |value| value.len());
                ControlFlow::Continue(())
            };
            letters.for_each(&Filter::new(), each).await.expect("they can be read").matched
        }
    }
}

/// The most memory that this process has had since the last reset, in bytes; `None` where the system doesn't tell.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

fn reset_peak() {
    // Elsewhere than on Linux there is none to be reset.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

#[derive(Default)]
struct Measured {
    wall: Vec<f64>,
    cpu: Vec<f64>,
    growth: Vec<f64>,
    met: u64,
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let (count, rounds) = if support::measuring() { (1_000_000, 5) } else { (2_000, 1) };
    let embedded = match std::env::var("KAFKA_BOOTSTRAP") {
        Ok(_) => None,
        Err(_) => Some(Broker::start().await.expect("a broker")),
    };
    let bootstrap = embedded.as_ref().map(Broker::bootstrap).or_else(|| std::env::var("KAFKA_BOOTSTRAP").ok());
    let settings = ConnectionSettings::new(bootstrap);
    let ports = Plane::Native.connect(settings.clone()).await.expect("the broker answers");
    let topic = format!("bench-listing-{}.dlq", std::process::id());
    let new = NewTopic::new(&topic, PARTITIONS).replication(1).config("retention.ms", "-1");
    ports.admin.create_topic(new).await.expect("the topic can be made");
    publish(&ports, &topic, count / i64::from(PARTITIONS)).await;
    // What the producer had is given back first.
    let ports = Plane::Native.connect(settings).await.expect("the broker answers");
    let letters = DeadLetters::new(ports.clone(), [topic.as_str()]);
    let mut measured: Vec<_> = JOBS.iter().map(|_| Measured::default()).collect();
    for round in 0..=rounds {
        for (job, measured) in
            JOBS.iter().zip(&mut measured).filter(|(job, _)| support::is_wanted(job) || **job == JOBS[0])
        {
            reset_peak();
            let (before, cpu, began) = (peak(), CpuTimes::now(), Instant::now());
            measured.met = run(job, &letters, &ports, &topic).await;
            let (wall, used) = (began.elapsed(), CpuTimes::now().since(&cpu));
            // The first round fills caches and the allocator.
            if round > 0 || rounds == 1 {
                measured.wall.push(wall.as_nanos() as f64 / count as f64);
                measured.cpu.extend(used.map(|used| used as f64 / count as f64));
                let growth = peak().zip(before).map(|(after, before)| after.saturating_sub(before) as f64);
                measured.growth.extend(growth);
            }
        }
    }
    let fetch = median(measured[0].wall.clone());
    let or_dash = |values: &Vec<f64>, digits: usize, unit: f64| match values.is_empty() {
        true => "–".to_owned(),
        false => format!("{:.digits$}", median(values.clone()) / unit),
    };
    let wanted = JOBS.iter().zip(&measured).filter(|(_, measured)| !measured.wall.is_empty());
    let rows: Vec<_> = wanted
        .map(|(job, measured)| {
            vec![
                (*job).to_owned(),
                measured.met.to_string(),
                or_dash(&measured.wall, 0, 1.0),
                or_dash(&measured.cpu, 0, 1.0),
                format!("{:.2}", fetch / median(measured.wall.clone())),
                or_dash(&measured.growth, 1, f64::from(1 << 20)),
            ]
        })
        .collect();
    println!("{count} dead letters in {PARTITIONS} partitions; medians of {rounds} rounds\n");
    table::print(&["what", "fit", "wall ns each", "CPU ns each", "speed of a plain fetch", "peak grows by MiB"], &rows);
    if embedded.is_none() {
        ports.admin.delete_topics(vec![topic]).await.expect("the topic can be deleted");
    }
}
