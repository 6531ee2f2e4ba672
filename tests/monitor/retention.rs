//! Records that are about to be removed before they are handled, and such that were.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bezoar::broker::NewTopic;
use bezoar::embedded::{Api, Fault};
use bezoar::monitor::{AlertKind, AlertState, Severity};
use bezoar::policy::{Backoff, Category, Policies};
use bezoar::record::{ProducerRecord, TopicPartition};
use bezoar::{Delivery, Failure, Utf8, handler_fn};

use crate::support::{Cluster, Heard, eventually, obey, quick};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_wait_too_long_and_such_that_are_lost_are_told() {
    let (cluster, heard) = (Cluster::start().await, Heard::default());
    let (topic, group) = (cluster.name("old"), cluster.name("old"));
    let hour = 3_600_000;
    cluster.create(NewTopic::new(&topic, 1).replication(1).config("retention.ms", hour.to_string())).await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    let partition = TopicPartition::new(topic.as_str(), 0);
    let record = |minutes: i64| ProducerRecord::to(topic.as_str()).value("x").timestamp(now - minutes * 60_000);
    cluster.ports.produce.produce(partition.clone(), vec![record(50), record(50), record(1), record(1)]).await.unwrap();
    // The first record waits for its next attempt, and all others for it.
    let waits = Backoff::fixed(Duration::from_secs(3_600));
    let policies = Policies::default().with(Category::Transient, |policy| policy.retries(9).backoff(waits));
    let builder = cluster.consumer(&group).policies(policies).monitor(quick().sink(heard.clone()));
    let handler = handler_fn(|_: String, _: Delivery| async { Err::<(), _>(Failure::transient("not yet")) });
    let consumer = builder.topic(&topic, Utf8, handler).start().await.unwrap();
    let told = heard.until(AlertKind::Retention, &topic, 1).await;
    assert_eq!((told[0].severity, told[0].tags["partition"].as_str()), (Severity::Warning, "0"));
    assert!(
        told[0].message.contains("(offset 0) is older than 80 % of the topic's retention of 1h; 4 offsets"),
        "{told:#?}"
    );
    cluster.ports.admin.delete_records(partition, 3).await.unwrap();
    let told = heard.until(AlertKind::Retention, &topic, 2).await;
    assert_eq!((told[1].severity, told[1].previous), (Severity::Critical, Some(Severity::Warning)));
    assert!(told[1].title.ends_with("were removed before they were handled"), "{told:#?}");
    assert!(told[1].message.starts_with("the log starts at offset 3, 3 past the oldest"), "{told:#?}");
    consumer.seek(TopicPartition::new(topic.as_str(), 0), bezoar::consumer::SeekTo::Latest).await.unwrap();
    let told = heard.until(AlertKind::Retention, &topic, 3).await;
    assert_eq!(told[2].state, AlertState::Resolved);
    eventually("the end is committed", async || cluster.ports_committed(&group, &topic).await == Some(4)).await;
    consumer.shutdown().await.unwrap();
}

/// The broker tells the start of a log a while after the consumer has told where it stands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_were_handled_while_the_broker_was_asked_are_not_called_lost() {
    let (cluster, heard) = (Cluster::embedded().await, Heard::default());
    let (topic, group) = (cluster.topic("slow", 1).await, cluster.name("slow"));
    let builder = cluster.consumer(&group).monitor(quick().sink(heard.clone()));
    let consumer = builder.topic(&topic, Utf8, obey()).start().await.unwrap();
    let asked = || cluster.broker().requests(Api::ListOffsets);
    let slow = cluster.broker().inject(Fault::on(Api::ListOffsets).forever().delay(Duration::from_millis(500)));
    for round in 1..=4 {
        let before = asked();
        eventually("a look is under way", async || asked() > before).await;
        cluster.append(&topic, 0, "fine", 100).await;
        let all = round * 100;
        eventually("all is handled", async || cluster.broker().committed(&group, &topic, 0) == Some(all)).await;
        cluster.broker().delete_records_before(&topic, 0, all).unwrap();
    }
    let before = asked();
    eventually("two looks more", async || asked() > before + 2).await;
    slow.remove();
    consumer.shutdown().await.unwrap();
    let told = heard.of(AlertKind::Retention, &topic);
    assert!(!told.iter().any(|alert| alert.title.contains("were removed")), "{told:#?}");
}
