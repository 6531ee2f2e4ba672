//! How much producing costs: 1,000,000 records of 200 bytes in 4 partitions of a real broker, acknowledged by all.
//!
//! `KAFKA_BOOTSTRAP=127.0.0.1:9092 cargo test --release --test native_produce -- --ignored --nocapture cost_`

use std::sync::Arc;
use std::time::Instant;

use bezoar::broker::{ConnectionSettings, NewTopic, Ports, native};
use bezoar::producer::Producer;
use bezoar::record::{ProducerRecord, TopicPartition};
use bytes::Bytes;
use tokio::runtime::Handle;

const RECORDS: usize = 1_000_000;
const PARTITIONS: i32 = 4;

/// The processor time of this process so far, in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // User and system time, in hundredths of a second.
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

/// Ports and a new topic.
async fn start(change: impl FnOnce(&mut ConnectionSettings)) -> (Ports, String) {
    let bootstrap = std::env::var("KAFKA_BOOTSTRAP").expect("KAFKA_BOOTSTRAP names a real broker");
    let mut settings = ConnectionSettings::new([bootstrap]);
    change(&mut settings);
    let ports = native::connect(settings).await.unwrap().ports();
    let topic = format!("cost-{}", uuid::Uuid::new_v4());
    ports.admin.create_topic(NewTopic::new(&topic, PARTITIONS).replication(1)).await.unwrap();
    (ports, topic)
}

fn record(topic: &Arc<str>, value: &Bytes) -> ProducerRecord {
    ProducerRecord::to(Arc::clone(topic)).value(value.clone())
}

fn tell(what: &str, started: (Instant, f64)) {
    let (wall, cpu) = (started.0.elapsed().as_secs_f64(), cpu_seconds() - started.1);
    println!("{what}: {:.0} k records/s, {cpu:.2} CPU s per million", RECORDS as f64 / wall / 1_000.0);
}

/// Calls of so many records each, so many under way per partition.
async fn through_the_port(what: &str, per_call: usize, under_way: usize, change: impl FnOnce(&mut ConnectionSettings)) {
    let (ports, topic) = start(change).await;
    let (topic, value): (Arc<str>, _) = (topic.into(), Bytes::from(vec![b'x'; 200]));
    let started = (Instant::now(), cpu_seconds());
    let partitions = (0..PARTITIONS).map(|number| {
        let (produce, topic, value) = (Arc::clone(&ports.produce), Arc::clone(&topic), value.clone());
        tokio::spawn(async move {
            let partition = TopicPartition::new(Arc::clone(&topic), number);
            let mut calls = std::collections::VecDeque::new();
            for _ in 0..RECORDS / PARTITIONS as usize / per_call {
                if calls.len() == under_way {
                    let call: bezoar::broker::BoxFuture<_> = calls.pop_front().unwrap();
                    Result::<Vec<i64>, bezoar::broker::BrokerError>::unwrap(call.await);
                }
                let records = (0..per_call).map(|_| record(&topic, &value)).collect();
                calls.push_back(produce.produce(partition.clone(), records));
            }
            for call in calls {
                call.await.unwrap();
            }
        })
    });
    for partition in partitions.collect::<Vec<_>>() {
        partition.await.unwrap();
    }
    tell(what, started);
    ports.admin.delete_topics(vec![topic.to_string()]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement on a real broker"]
async fn cost_of_the_port() {
    for round in 0..3 {
        println!("round {round}");
        for batch in [64 << 10, 256 << 10, 512 << 10, 900 << 10] {
            let what = format!("port, 500 records per call, batches of {} KiB", batch >> 10);
            through_the_port(&what, 500, 20, |settings| settings.produce.batch_bytes = batch).await;
        }
        through_the_port("port, 500 records per call, without idempotence", 500, 20, |s| s.produce.idempotence = false)
            .await;
        through_the_port("port, 10 records per call, 1000 under way", 10, 1_000, |_| ()).await;
        through_the_port("port, 1 record per call, 10000 under way", 1, 10_000, |_| ()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement on a real broker"]
async fn cost_of_the_public_producer() {
    for _ in 0..3 {
        let (ports, topic) = start(|_| ()).await;
        let producer = Producer::new(ports.clone(), Handle::current());
        let (topic, value): (Arc<str>, _) = (topic.into(), Bytes::from(vec![b'x'; 200]));
        let started = (Instant::now(), cpu_seconds());
        let mut sending = Vec::new();
        for _ in 0..100 {
            let (producer, topic, value) = (producer.clone(), Arc::clone(&topic), value.clone());
            sending.push(tokio::spawn(async move {
                for _ in 0..RECORDS / 100 / 100 {
                    let sends = (0..100).map(|_| producer.send(record(&topic, &value)));
                    for result in futures_util::future::join_all(sends).await {
                        result.unwrap();
                    }
                }
            }));
        }
        for task in sending {
            task.await.unwrap();
        }
        tell("public producer, 100 tasks with 100 records each under way", started);
        ports.admin.delete_topics(vec![topic.to_string()]).await.unwrap();
    }
}
