//! What is replayed or discarded does not count any more.

use bezoar::broker::{ErrorCode, NewTopic};
use bezoar::embedded::{Api, Fault};
use bezoar::monitor::{AlertKind, AlertState, Monitor, Status};
use bezoar::record::{ProducerRecord, TopicPartition};
use serde_json::json;
use tokio::sync::oneshot;

use crate::support::{Cluster, Heard, SOON, eventually, quick};

/// Marks a letter as the tools do.
async fn mark(cluster: &Cluster, dead_letters: &str, offset: i64, state: &str) {
    let topic_id = cluster.ports.admin.topics(vec![dead_letters.to_owned()]).await.unwrap()[0].as_ref().unwrap().id;
    let result = (state == "replayed").then(|| format!("success: orders/0/{offset}"));
    let value = json!({
        "version": 1,
        "state": state,
        "dead_letter_topic_id": topic_id.map(|id| id.to_string()),
        "replayed": state == "replayed",
        "replayed_at": "2026-01-01T00:00:00.000Z",
        "replay_result": result,
        "reason": (state == "discarded").then_some("not needed"),
        "run": { "id": uuid::Uuid::from_u128(7).to_string(), "host": "here", "pid": 1 },
        "replay_id": uuid::Uuid::from_u128(8).to_string(),
        "target": { "topic": "orders", "partition": 0 },
        "origin": null,
        "replay_count": 1,
    });
    let topic = format!("{dead_letters}.replays");
    let record = ProducerRecord::to(topic.as_str()).key(format!("{dead_letters}/0/{offset}")).value(value.to_string());
    cluster.ports.produce.produce(TopicPartition::new(topic, 0), vec![record]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replayed_and_discarded_letters_are_resolved_and_the_age_is_that_of_the_rest() {
    let (cluster, heard) = (Cluster::start().await, Heard::default());
    let topic = cluster.topic("marked.dlq", 1).await;
    let at = |minutes: i64| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
        now - minutes * 60_000
    };
    for minutes in [50, 40, 30, 20] {
        let record = ProducerRecord::to(topic.as_str()).value("x").timestamp(at(minutes));
        cluster.ports.produce.produce(TopicPartition::new(topic.as_str(), 0), vec![record]).await.unwrap();
    }
    let monitor = Monitor::new(cluster.ports().await, [topic.as_str()], quick().thresholds(2, 50));
    let watching = Monitor::new(cluster.ports().await, [topic.as_str()], quick().thresholds(2, 50).sink(heard.clone()));
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(async move { watching.run_until(stopped).await });
    heard.until(AlertKind::Depth, &topic, 1).await;
    let minutes = |age: Option<std::time::Duration>| age.map(|age| age.as_secs() / 600 * 10);
    let health = monitor.check().await.unwrap().remove(0);
    assert_eq!((health.depth, health.status, minutes(health.age)), (4, Status::Warning, Some(50)));

    let marks = NewTopic::new(format!("{topic}.replays"), 1).replication(1).config("cleanup.policy", "compact");
    cluster.create(marks).await;
    mark(&cluster, &topic, 0, "replayed").await;
    mark(&cluster, &topic, 2, "discarded").await;
    let health = monitor.check().await.unwrap().remove(0);
    assert_eq!((health.depth, minutes(health.age)), (2, Some(40)));
    mark(&cluster, &topic, 1, "discarded").await;
    let health = monitor.check().await.unwrap().remove(0);
    assert_eq!((health.depth, health.status, minutes(health.age)), (1, Status::Healthy, Some(20)));
    let told = heard.until(AlertKind::Depth, &topic, 2).await;
    assert_eq!(told[1].state, AlertState::Resolved);
    assert!(told[1].message.starts_with("depth is 1, below the threshold of 2"), "{}", told[1].message);
    mark(&cluster, &topic, 3, "replayed").await;
    let health = monitor.check().await.unwrap().remove(0);
    assert_eq!((health.depth, health.age), (0, None));
    drop(stop);
    tokio::time::timeout(SOON, task).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_marks_of_a_topic_that_was_deleted_count_no_more_though_a_reading_fails_in_between() {
    let cluster = Cluster::embedded().await;
    let topic = cluster.topic("anew.dlq", 1).await;
    let marks = format!("{topic}.replays");
    cluster.create(NewTopic::new(&marks, 1).config("cleanup.policy", "compact")).await;
    cluster.append(&topic, 0, "x", 5).await;
    for offset in 0..3 {
        mark(&cluster, &topic, offset, "discarded").await;
    }
    let monitor = Monitor::new(cluster.ports().await, [topic.as_str()], quick().thresholds(50, 500));
    assert_eq!(monitor.check().await.unwrap()[0].depth, 2);
    cluster.broker().recreate_topic(&topic).unwrap();
    cluster.append(&topic, 0, "x", 5).await;
    let refused = Fault::on(Api::Fetch).topic(&marks).forever().error(ErrorCode(29));
    let refused = cluster.broker().inject(refused);
    eventually("reading fails", async || monitor.check().await.is_err()).await;
    refused.remove();
    eventually("all are unresolved", async || monitor.check().await.is_ok_and(|health| health[0].depth == 5)).await;
}
