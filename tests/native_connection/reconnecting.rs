//! Connections that are lost, refused, slow or throttled.

use std::sync::Arc;
use std::time::Duration;

use bezoar::broker::{Admin, BrokerError, NewTopic, OffsetSpec};
use bezoar::record::TopicPartition;
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::net::{Behind, Net};
use crate::peer::{NEW, Peer};

fn orders() -> TopicPartition {
    TopicPartition::new("orders", 0)
}

/// A client, and the two brokers of its cluster: the one that it began with, and the one that leads.
async fn two() -> (Arc<Net>, bezoar::broker::native::Native, [Arc<Peer>; 2]) {
    let net = Net::new();
    let brokers = vec![(1, "first", 9092), (2, "second", 9092)];
    let peers = [Peer::among("one", brokers.clone(), NEW), Peer::among("one", brokers, NEW)];
    peers.iter().for_each(|peer| peer.change(|told| told.leader = (2, 0)));
    net.put("first:9092", Behind::Broker(peers[0].clone()));
    net.put("second:9092", Behind::Broker(peers[1].clone()));
    let native = net.connect(&["first:9092"]).await.unwrap();
    (net, native, peers)
}

#[tokio::test(start_paused = true)]
async fn many_callers_share_one_connection_and_one_attempt() {
    let (net, native, peers) = two().await;
    net.put("second:9092", Behind::Slow(Duration::from_secs(3), peers[1].clone()));
    let calls = (0..50).map(|_| native.offset(orders(), OffsetSpec::Latest));
    assert!(join_all(calls).await.into_iter().all(|result| result == Ok(7)));
    assert_eq!(net.attempts("second:9092").len(), 1);
    assert_eq!(peers[1].asked(2).len(), 50);
}

#[tokio::test(start_paused = true)]
async fn callers_that_give_up_do_not_stop_the_attempt_for_those_that_come() {
    let (net, native, peers) = two().await;
    net.put("second:9092", Behind::Slow(Duration::from_secs(8), peers[1].clone()));
    let impatient = tokio::time::timeout(Duration::from_secs(1), native.offset(orders(), OffsetSpec::Latest)).await;
    assert!(impatient.is_err());
    assert_eq!(native.offset(orders(), OffsetSpec::Latest).await, Ok(7));
    assert_eq!(net.attempts("second:9092").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_is_gone_is_tried_ever_more_slowly_whoever_asks() {
    let (net, native, _) = two().await;
    net.remove("second:9092");
    let begun = Instant::now();
    let calls = (0..20).map(|_| native.offset(orders(), OffsetSpec::Latest));
    for result in join_all(calls).await {
        let error = result.unwrap_err();
        assert!(matches!(&error, BrokerError::Connection { .. }), "{error}");
        assert!(error.to_string().contains("second:9092: connection refused"), "{error}");
    }
    let attempts = net.attempts("second:9092");
    let waits: Vec<_> = attempts.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
    for (index, wait) in waits.iter().enumerate() {
        let least = (50 << index.min(5)).min(1_000) * 8 / 10;
        assert!(*wait >= least, "wait {index} of {waits:?}");
    }
    assert!(begun.elapsed() <= Duration::from_secs(30), "the request timeout");
    // 30 s of at least 0.8 s each, and the first few, which are shorter.
    assert!((10..=45).contains(&attempts.len()), "{} attempts", attempts.len());
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_comes_back_is_found_within_the_longest_wait() {
    let (net, native, peers) = two().await;
    net.remove("second:9092");
    let calling = tokio::spawn(native.offset(orders(), OffsetSpec::Latest));
    tokio::time::sleep(Duration::from_secs(10)).await;
    let back = Instant::now();
    net.put("second:9092", Behind::Broker(peers[1].clone()));
    assert_eq!(calling.await.unwrap(), Ok(7));
    // The wait with its jitter, and the pause of the call.
    assert!(back.elapsed() <= Duration::from_millis(1_800), "{:?}", back.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_the_broker_closed_when_idle_is_no_error_for_the_next_caller() {
    let (net, native, peers) = two().await;
    assert_eq!(native.offset(orders(), OffsetSpec::Latest).await, Ok(7));
    net.hang_up().await;
    // Sent once only: it would not be tried again.
    native.create_topic(NewTopic::new("refunds", 1)).await.unwrap();
    assert_eq!(native.offset(orders(), OffsetSpec::Latest).await, Ok(7));
    assert_eq!((net.attempts("first:9092").len(), net.attempts("second:9092").len()), (2, 2));
    assert_eq!(peers[0].asked(19).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn throttling_by_one_broker_holds_up_what_only_that_can_answer_and_nothing_else() {
    let (_net, native, peers) = two().await;
    peers[1].change(|told| told.throttle = 5_000);
    assert_eq!(native.offset(orders(), OffsetSpec::Latest).await, Ok(7));
    let begun = Instant::now();
    native.create_topic(NewTopic::new("refunds", 1)).await.unwrap();
    native.topics(vec!["orders".to_owned()]).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "the controller is the other broker, and metadata any");
    assert_eq!(native.offset(orders(), OffsetSpec::Latest).await, Ok(7));
    assert_eq!(begun.elapsed().as_secs(), 5);
}
