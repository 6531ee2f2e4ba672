//! A monitor without a consumer, over topics that it did not write.

use std::time::Duration;

use bezoar::broker::{NewTopic, OffsetSpec};
use bezoar::monitor::{AlertKind, AlertState, Monitor, Severity, Status, TopicHealth};
use bezoar::policy::Category;
use bezoar::record::TopicPartition;
use tokio::sync::oneshot;

use crate::support::{Cluster, Heard, SOON, eventually, quick};

fn of<'a>(health: &'a [TopicHealth], topic: &str) -> &'a TopicHealth {
    health.iter().find(|health| &*health.topic == topic).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_tells_depth_growth_age_and_status() {
    let cluster = Cluster::start().await;
    let many = cluster.topic("foreign.DLT", 3).await;
    let few = format!("{}.dlq.validation", cluster.name("few"));
    cluster.create(NewTopic::new(&few, 1).replication(1)).await;
    let missing = cluster.name("missing");
    for partition in 0..3 {
        cluster.append(&many, partition, "x", 3).await;
    }
    cluster.append(&few, 0, "x", 1).await;
    let topics = [many.as_str(), few.as_str(), missing.as_str()];
    let monitor = Monitor::new(cluster.ports().await, topics, quick().thresholds(2, 9));
    let health = monitor.check().await.unwrap();
    let health_of = |topic| of(&health, topic);
    let seen = |topic| (health_of(topic).depth, health_of(topic).status);
    assert_eq!(seen(&many), (9, Status::Critical));
    assert_eq!(seen(&few), (1, Status::Healthy));
    assert_eq!(health_of(&few).category, Some(Category::Validation));
    assert_eq!((health_of(&many).category, health_of(&many).growth), (None, None));
    assert!(health_of(&many).age.is_some_and(|age| age < Duration::from_secs(600)), "{health:#?}");
    // One look may be that of a broker which lags behind.
    assert!(health.iter().all(|health| *health.topic != *missing));
    cluster.append(&many, 0, "x", 5).await;
    let health = monitor.check().await.unwrap();
    assert_eq!(of(&health, &many).depth, 14);
    assert!(of(&health, &many).growth.is_some_and(|growth| growth > 0.0), "{health:#?}");
    assert_eq!(of(&health, &few).growth, Some(0.0));
    assert_eq!(of(&health, &missing).status, Status::Missing);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watching_tells_the_sinks_until_it_is_stopped() {
    let (cluster, heard) = (Cluster::start().await, Heard::default());
    let topic = cluster.topic("watched.dlq", 1).await;
    let monitor = Monitor::new(cluster.ports().await, [topic.as_str()], quick().thresholds(2, 50).sink(heard.clone()));
    // That somebody has looked takes nothing away.
    cluster.append(&topic, 0, "x", 2).await;
    assert_eq!(monitor.check().await.unwrap()[0].status, Status::Warning);
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        let mut looks = 0;
        monitor.watch_until(stopped, |health| looks += usize::from(health.is_ok())).await;
        looks
    });
    let told = heard.until(AlertKind::Depth, &topic, 1).await;
    assert_eq!((told[0].severity, told[0].tags.get("group")), (Severity::Warning, None));
    let all = TopicPartition::new(topic.as_str(), 0);
    let end = cluster.ports.admin.offset(all.clone(), OffsetSpec::Latest).await.unwrap();
    cluster.ports.admin.delete_records(all, end).await.unwrap();
    let told = heard.until(AlertKind::Depth, &topic, 2).await;
    assert_eq!(told[1].state, AlertState::Resolved);
    stop.send(()).unwrap();
    let looks = tokio::time::timeout(SOON, task).await.unwrap().unwrap();
    assert!(looks >= 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_deleted_and_made_anew_begins_anew() {
    let (cluster, heard) = (Cluster::embedded().await, Heard::default());
    let topic = cluster.topic("anew.dlq", 1).await;
    cluster.append(&topic, 0, "x", 5).await;
    let monitor = Monitor::new(cluster.ports().await, [topic.as_str()], quick().thresholds(2, 50).sink(heard.clone()));
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(async move { monitor.run_until(stopped).await });
    heard.until(AlertKind::Depth, &topic, 1).await;
    cluster.broker().delete_topic(&topic).unwrap();
    let told = heard.until(AlertKind::Depth, &topic, 2).await;
    assert_eq!(told[1].title, format!("Resolved: dead-letter topic {topic} is gone"));
    cluster.broker().create_topic(&topic, 2).unwrap();
    eventually("the new topic is there", async || cluster.end(&topic).await == 0).await;
    cluster.append(&topic, 1, "x", 3).await;
    let told = heard.until(AlertKind::Depth, &topic, 3).await;
    assert!(told[2].message.starts_with("depth is 3, threshold is 2"), "{}", told[2].message);
    cluster.broker().recreate_topic(&topic).unwrap();
    let told = heard.until(AlertKind::Depth, &topic, 4).await;
    assert_eq!(told[3].state, AlertState::Resolved);
    drop(stop);
    tokio::time::timeout(SOON, task).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_is_away_is_an_error_and_is_found_again() {
    let cluster = Cluster::embedded().await;
    let topic = cluster.topic("away.dlq", 1).await;
    cluster.append(&topic, 0, "x", 1).await;
    let monitor = Monitor::new(cluster.ports().await, [topic.as_str()], quick());
    let refused = bezoar::embedded::Fault::on(bezoar::embedded::Api::ListOffsets).topic(&topic).forever();
    let refused = cluster.broker().inject(refused.error(bezoar::broker::ErrorCode(29)));
    let error = monitor.check().await.unwrap_err().to_string();
    assert!(error.contains("TOPIC_AUTHORIZATION_FAILED"), "{error}");
    refused.remove();
    assert_eq!(monitor.check().await.unwrap()[0].depth, 1);
}
