//! Partitions come and go, from any thread.

use std::sync::Arc;
use std::time::Duration;

use bezoar::broker::Feed;

use crate::reader::{Reading, append, broker, eventually, numbers, orders};
use crate::spy::Spy;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_reaches_a_feed_once_it_is_removed() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|settings| settings.fetch_max_bytes = 200).await;
    append(&broker, &orders(0), numbers(0..2_000));
    for round in 0..30 {
        let reading = Reading::begin_within(&source, &broker, &orders(0), 0, 1 << 20);
        assert_eq!(reading.values(1, 0).await[0], "0");
        if round % 2 == 0 {
            tokio::time::sleep(Duration::from_millis(round)).await;
        }
        source.remove(&orders(0));
        let held = format!("{:?}", reading.feed);
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(format!("{:?}", reading.feed), held);
        assert_eq!(reading.problems(), []);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_partition_may_go_and_the_next_come_at_once() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|settings| settings.fetch_max_wait = Duration::from_millis(20)).await;
    append(&broker, &orders(0), ["a"]);
    for round in 0..60 {
        let reading = Reading::begin(&source, &broker, &orders(0), 0);
        assert_eq!(reading.values(1, 0).await, ["a"]);
        assert_eq!(reading.problems(), [], "the connection that the one before gave up is not used");
        source.remove(&orders(0));
        // So that the next meets each stage of the end of the loop.
        tokio::time::sleep(Duration::from_micros(round % 20 * 20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_comes_and_goes_beside_another_disturbs_nothing() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), numbers(0..1));
    append(&broker, &orders(1), numbers(0..1));
    let reading = Reading::begin(&source, &broker, &orders(0), 0);
    assert_eq!(reading.values(1, 0).await, ["0"]);
    for round in 1..20 {
        let fork = source.fork().expect("the native source forks");
        let beside = Reading::begin(&fork, &broker, &orders(1), 0);
        assert_eq!(beside.values(1, 0).await, ["0"]);
        if round % 2 == 0 {
            fork.remove(&orders(1));
        }
        drop(fork);
        append(&broker, &orders(0), numbers(round..round + 1));
        assert_eq!(reading.values(1, round as i64).await, [round.to_string()]);
        assert_eq!((reading.problems(), beside.problems()), (vec![], vec![]));
    }
}

#[tokio::test]
async fn a_partition_added_again_is_read_from_its_new_offset_into_its_new_feed() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), numbers(0..10));
    let first = Reading::begin(&source, &broker, &orders(0), 0);
    assert_eq!(first.values(10, 0).await, numbers(0..10));
    let second = Reading::begin(&source, &broker, &orders(0), 4);
    assert_eq!(second.values(6, 4).await, numbers(4..10));
    append(&broker, &orders(0), numbers(10..11));
    assert_eq!(second.values(1, 10).await, ["10"]);
    assert!(first.feed.front().is_none());
}

#[tokio::test]
async fn the_connection_is_closed_when_no_partition_is_left_and_opened_again_for_the_next() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), ["a"]);
    for how in ["removed", "closed", "dropped"] {
        let reading = Reading::begin(&source, &broker, &orders(0), 0);
        let other = Reading::begin(&source, &broker, &orders(1), 0);
        assert_eq!(reading.values(1, 0).await, ["a"]);
        assert_eq!(spy.open(), 1);
        other.feed.close();
        match how {
            "removed" => source.remove(&orders(0)),
            "closed" => reading.feed.close(),
            _ => break,
        }
        eventually("the connection is closed", || spy.open() == 0).await;
        assert_eq!(Arc::strong_count(&reading.feed), 1, "nobody holds the feed any more");
    }
    drop(source);
    eventually("the connection is closed", || spy.open() == 0).await;
}

#[tokio::test]
async fn partitions_are_added_and_removed_from_threads_without_a_runtime() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(3), numbers(0..3));
    let reading = Reading::new(&orders(3), 1 << 20);
    let (theirs, feed): (_, Arc<Feed>) = (Arc::clone(&source), Arc::clone(&reading.feed));
    let id = broker.topic_id("orders");
    std::thread::spawn(move || theirs.add(orders(3), id, 0, feed)).join().unwrap();
    assert_eq!(reading.values(3, 0).await, numbers(0..3));
    let theirs = Arc::clone(&source);
    std::thread::spawn(move || theirs.remove(&orders(3))).join().unwrap();
    append(&broker, &orders(3), numbers(3..4));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(reading.feed.front().is_none());
}
