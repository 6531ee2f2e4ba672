//! A whole consumer on a real broker that hangs (stopped, not dead) and is killed.
//!
//! Runs where `BEZOAR_KAFKA_SCRIPT_PORT` names a port on which `scripts/kafka` may start a broker for this test alone (it is wiped
//! before and after).

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bezoar::broker::{ConnectionSettings, Plane};
use bezoar::consumer::OffsetReset;
use bezoar::record::{ProducerRecord, Record, TopicPartition};
use bezoar::{Consumer, Delivery, FactoryContext, Failure, Raw, factory_fn, handler_fn};

use crate::support::{Cluster, Journal, within};

const PARTITIONS: i32 = 3;

/// A broker for this test alone.
struct Kafka {
    port: String,
}

impl Kafka {
    /// `None` where no port is given to run it on.
    fn start() -> Option<Self> {
        let kafka = Self { port: std::env::var("BEZOAR_KAFKA_SCRIPT_PORT").ok()? };
        kafka.run("wipe");
        kafka.run("start");
        Some(kafka)
    }

    fn run(&self, command: &str) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/kafka");
        let status = Command::new(script).args([command, &self.port]).stdout(Stdio::null()).status();
        assert!(status.unwrap().success(), "scripts/kafka {command} {}", self.port);
    }

    /// Sends the broker's process a signal.
    fn signal(&self, signal: &str) {
        let listed = Command::new("pgrep").args(["-f", &format!("data-{}/server.properties", self.port)]).output();
        let ids = String::from_utf8(listed.unwrap().stdout).unwrap();
        let id = ids.split_whitespace().next().expect("the broker runs");
        assert!(Command::new("kill").args([signal, id]).status().unwrap().success());
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        self.run("wipe");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_hangs_and_dies_costs_no_record_no_order_and_no_second_dead_letter() {
    let Some(kafka) = Kafka::start() else { return };
    let address = format!("127.0.0.1:{}", kafka.port);
    let cluster = Arc::new(Cluster::at(&address).await);
    let topic = cluster.topic("hangs", PARTITIONS).await;
    let journal = Journal::default();
    let consumer = {
        let journal = journal.clone();
        let factory = factory_fn(move |_: FactoryContext| {
            let journal = journal.clone();
            async move {
                Ok(handler_fn(move |_: Record, delivery: Delivery| {
                    journal.note(&delivery);
                    async move {
                        match delivery.offset() % 20 {
                            3 => Err(Failure::validation("no")),
                            7 => panic!("poison"),
                            _ => Ok(()),
                        }
                    }
                }))
            }
        });
        cluster
            .consumer("hangs")
            .bootstrap(&address)
            .offset_reset(OffsetReset::Earliest)
            .request_timeout(Duration::from_secs(4))
            .topic(&topic, Raw, factory)
            .start()
            .await
            .unwrap()
    };
    let stop = Arc::new(AtomicBool::new(false));
    let producing: Vec<_> = (0..PARTITIONS)
        .map(|number| {
            let (stop, topic, address) = (Arc::clone(&stop), topic.clone(), address.clone());
            tokio::spawn(async move {
                let mut settings = ConnectionSettings::new([address]);
                settings.request_timeout = Duration::from_secs(4);
                let ports = Plane::Native.connect(settings).await.unwrap();
                let mut sent = 0i64;
                while !stop.load(Ordering::Relaxed) {
                    let records = (0..20).map(|n| ProducerRecord::to("").value((sent + n).to_string())).collect();
                    ports.produce.produce(TopicPartition::new(topic.as_str(), number), records).await.unwrap();
                    sent += 20;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                sent
            })
        })
        .collect();
    for pause in [6, 12] {
        tokio::time::sleep(Duration::from_secs(2)).await;
        kafka.signal("-STOP");
        tokio::time::sleep(Duration::from_secs(pause)).await;
        kafka.signal("-CONT");
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    kafka.run("kill");
    tokio::time::sleep(Duration::from_secs(1)).await;
    kafka.run("start");
    tokio::time::sleep(Duration::from_secs(2)).await;
    stop.store(true, Ordering::Relaxed);
    for (number, task) in (0..).zip(producing) {
        let sent = task.await.unwrap();
        let end = cluster
            .ports
            .admin
            .offset(TopicPartition::new(topic.as_str(), number), bezoar::broker::OffsetSpec::Latest)
            .await;
        assert_eq!(end.unwrap(), sent, "records of an idempotent producer");
        within(Duration::from_secs(90), "all is committed", async || {
            cluster.committed("hangs", &topic, number).await == Some(sent)
        })
        .await;
        let offsets: BTreeSet<i64> = journal.of(number).into_iter().map(|(offset, _)| offset).collect();
        assert_eq!(offsets.len() as i64, sent);
    }
    journal.assert_in_order();
    let letters = cluster.read(&format!("{topic}.dlq")).await;
    let mut sources: Vec<_> =
        letters.iter().map(|letter| format!("{:?}", bezoar::replay::DeadLetter::from_record(letter).origin)).collect();
    sources.sort();
    let count = sources.len();
    sources.dedup();
    assert_eq!(sources.len(), count, "dead letters are there once");

    // And it ends in time while the broker hangs.
    kafka.signal("-STOP");
    tokio::time::sleep(Duration::from_secs(5)).await;

    let ended = tokio::time::timeout(Duration::from_secs(60), Consumer::shutdown(consumer)).await;
    kafka.signal("-CONT");

    assert!(ended.is_ok());
}
