//! A real broker that is killed and started again while records are produced to it.
//!
//! Runs where `BEZOAR_KAFKA_SCRIPT_PORT` names a port on which `scripts/kafka` may start a broker for this test alone (it is wiped
//! before and after): `BEZOAR_KAFKA_SCRIPT_PORT=19400 cargo test --test native_produce kafka`.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bezoar::broker::{Feed, NewTopic, Ports};
use bezoar::record::TopicPartition;
use tokio::sync::Notify;

use crate::support::{connect, partition, record};

/// How often the broker is killed.
const KILLS: usize = 3;

/// A broker for this test alone.
struct Kafka {
    port: String,
}

impl Kafka {
    /// `None` where no port is given to run it on.
    fn start() -> Option<Self> {
        let port = std::env::var("BEZOAR_KAFKA_SCRIPT_PORT").ok()?;
        let kafka = Self { port };
        kafka.run("wipe");
        kafka.run("start");
        Some(kafka)
    }

    fn run(&self, command: &str) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/kafka");
        let status = Command::new(script).args([command, &self.port]).stdout(std::process::Stdio::null()).status();
        assert!(status.unwrap().success(), "scripts/kafka {command} {}", self.port);
    }

    async fn kill_and_start(self: &Arc<Self>) {
        let kafka = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            kafka.run("kill");
            kafka.run("start");
        })
        .await
        .unwrap();
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        self.run("wipe");
    }
}

/// The values of a partition up to its end.
async fn read(ports: &Ports, partition: &TopicPartition, count: usize) -> Vec<usize> {
    let arrived = Arc::new(Notify::new());
    let feed = Arc::new(Feed::new(partition.clone(), 64 << 20, |_| ()));
    feed.on_ready({
        let arrived = Arc::clone(&arrived);
        move || arrived.notify_one()
    });
    ports.source.add(partition.clone(), None, 0, Arc::clone(&feed));
    let mut values = Vec::new();
    while values.len() < count {
        while let Some(batch) = feed.front() {
            feed.pop_front();
            let texts = batch.iter().map(|record| String::from_utf8_lossy(record.value().unwrap()).into_owned());
            values.extend(texts.map(|text| text.parse::<usize>().unwrap()));
        }
        if values.len() < count {
            arrived.notified().await;
        }
    }
    ports.source.remove(partition);
    values
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_broker_costs_no_record_and_doubles_none() {
    let Some(kafka) = Kafka::start() else { return };
    let kafka = Arc::new(kafka);
    let ports = connect(&format!("127.0.0.1:{}", kafka.port), |settings| {
        settings.produce.delivery_timeout = Duration::from_secs(300);
    })
    .await;
    ports.admin.create_topic(NewTopic::new("orders", 3).replication(1)).await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let producing = (0..3).map(|number| {
        let (ports, stop) = (ports.clone(), Arc::clone(&stop));
        tokio::spawn(async move {
            let (mut next, mut calls) = (0, std::collections::VecDeque::new());
            while !stop.load(Ordering::Relaxed) {
                let size = 1 + next % 7;
                let records = (next..next + size).map(record).collect();
                next += size;
                calls.push_back(ports.produce.produce(partition(number), records));
                if calls.len() >= 200 {
                    calls.pop_front().unwrap().await.unwrap();
                }
            }
            for call in calls {
                call.await.unwrap();
            }
            next
        })
    });
    let producing: Vec<_> = producing.collect();
    for _ in 0..KILLS {
        tokio::time::sleep(Duration::from_secs(3)).await;
        kafka.kill_and_start().await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    stop.store(true, Ordering::Relaxed);
    for (number, task) in (0..).zip(producing) {
        let sent = task.await.unwrap();
        let end = ports.admin.offset(partition(number), bezoar::broker::OffsetSpec::Latest).await.unwrap();
        let values = read(&ports, &partition(number), end as usize).await;
        assert!(values == (0..sent).collect::<Vec<_>>(), "{sent} sent to partition {number}, {end} in the log");
    }
}
