//! Memory is bounded by credit, and those without credit hold up nobody.

use std::time::Duration;

use bezoar::embedded::Api;

use crate::reader::{Reading, append, broker, eventually, numbers, orders};
use crate::spy::Spy;

#[tokio::test]
async fn nobody_is_asked_while_no_feed_has_credit() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|settings| settings.fetch_max_bytes = 1_000).await;
    append(&broker, &orders(0), vec!["x".repeat(500); 50]);
    let reading = Reading::begin_within(&source, &broker, &orders(0), 0, 4_000);
    eventually("the feed is full", || reading.feed.credit() == Some(0)).await;
    // What was under way then comes to its end.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (asked, credit) = (broker.requests(Api::Fetch), reading.feed.credit());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((broker.requests(Api::Fetch), reading.feed.credit()), (asked, credit));
    // Draining is enough for it to go on.
    assert_eq!(reading.values(50, 0).await.len(), 50);
    assert_eq!(reading.problems(), []);
}

#[tokio::test]
async fn a_full_feed_is_left_out_of_the_session_and_comes_back() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|settings| settings.fetch_max_wait = Duration::from_secs(20)).await;
    append(&broker, &orders(0), vec!["x".repeat(500); 50]);
    let full = Reading::begin_within(&source, &broker, &orders(0), 0, 4_000);
    let other = Reading::begin(&source, &broker, &orders(1), 0);
    eventually("it is forgotten", || spy.fetches().iter().any(|(_, fetch)| !fetch.forgotten_topics_data.is_empty()))
        .await;
    // The requests without it wait for a short while at first, so that it is not kept waiting for the others' data.
    let leaving = spy.fetches().iter().position(|(_, fetch)| !fetch.forgotten_topics_data.is_empty()).unwrap();
    assert!((1..=20_000).contains(&spy.fetches()[leaving].1.max_wait_ms));
    assert!(spy.fetches()[leaving].1.max_wait_ms <= 20);
    append(&broker, &orders(1), numbers(0..3));
    assert_eq!(other.values(3, 0).await, numbers(0..3), "others go on");
    assert_eq!(full.values(50, 0).await.len(), 50);
}

#[tokio::test]
async fn an_idle_source_asks_at_the_pace_of_the_broker() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    let readings: Vec<_> = (0..4).map(|number| Reading::begin(&source, &broker, &orders(number), 0)).collect();
    eventually("it reads", || broker.requests(Api::Fetch) >= 2).await;
    let (fetches, metadata) = (broker.requests(Api::Fetch), broker.requests(Api::Metadata));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(broker.requests(Api::Fetch) - fetches <= 6);
    assert_eq!(broker.requests(Api::Metadata), metadata);
    drop(readings);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_partitions_share_one_connection() {
    let broker = broker().await;
    broker.create_topic("many", 1_000).unwrap();
    let many = |number| bezoar::record::TopicPartition::new("many", number);
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    let readings: Vec<_> = (0..1_000).map(|number| Reading::begin(&source, &broker, &many(number), 0)).collect();
    for number in 0..1_000 {
        append(&broker, &many(number), ["a", "b"]);
    }
    for reading in &readings {
        assert_eq!(reading.values(2, 0).await, ["a", "b"]);
    }
    assert_eq!(spy.open(), 1);
    assert!(readings.iter().all(|reading| reading.problems().is_empty()));
}
