//! Records that are about to be removed before they are handled, and such that were.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bezoar::broker::NewTopic;
use bezoar::monitor::{AlertKind, AlertState, Severity};
use bezoar::policy::{Backoff, Category, Policies};
use bezoar::record::{ProducerRecord, TopicPartition};
use bezoar::{Delivery, Failure, Utf8, handler_fn};

use crate::support::{Cluster, Heard, eventually, quick};

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
