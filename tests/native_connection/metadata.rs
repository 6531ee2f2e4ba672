//! How often metadata is asked for, and what is made of it.

use std::time::Duration;

use bezoar::broker::{Admin, OffsetSpec};
use bezoar::record::TopicPartition;
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::net::{Behind, Net};
use crate::peer::{NEW, Peer};

const LIST_OFFSETS: i16 = 2;
const METADATA: i16 = 3;

fn partition(topic: &str) -> TopicPartition {
    TopicPartition::new(topic, 0)
}

#[tokio::test(start_paused = true)]
async fn callers_at_the_same_time_share_requests_for_metadata_and_later_ones_need_none() {
    let net = Net::new();
    let peer = Peer::alone("one", "broker", NEW);
    net.put("broker:9092", Behind::Broker(peer.clone()));
    let native = net.connect(&["broker:9092"]).await.unwrap();
    let before = peer.asked(METADATA).len();
    let topics: Vec<_> = (0..30).map(|number| format!("topic-{}", number % 10)).collect();
    let ask = || join_all(topics.iter().map(|topic| native.offset(partition(topic), OffsetSpec::Latest)));
    assert!(ask().await.into_iter().all(|result| result == Ok(7)));
    let asked = peer.asked(METADATA).len() - before;
    assert!((1..=2).contains(&asked), "{asked} requests");
    assert!(ask().await.into_iter().all(|result| result == Ok(7)));
    assert_eq!(peer.asked(METADATA).len() - before, asked);

    tokio::time::sleep(Duration::from_secs(301)).await;
    assert!(ask().await.into_iter().all(|result| result == Ok(7)));
    assert!(peer.asked(METADATA).len() - before > asked, "it has grown old");
}

#[tokio::test(start_paused = true)]
async fn many_offsets_take_one_request_to_each_leader() {
    let net = Net::new();
    let peer = Peer::alone("one", "broker", NEW);
    net.put("broker:9092", Behind::Broker(peer.clone()));
    let native = net.connect(&["broker:9092"]).await.unwrap();
    let asked = (0..100).map(|number| (partition(&format!("topic-{number}")), OffsetSpec::Earliest)).collect();
    assert_eq!(native.offsets(asked).await.unwrap(), [7; 100]);
    assert_eq!(peer.asked(LIST_OFFSETS).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_has_moved_is_looked_for_without_hammering() {
    let net = Net::new();
    let peer = Peer::alone("one", "broker", NEW);
    net.put("broker:9092", Behind::Broker(peer.clone()));
    let native = net.connect(&["broker:9092"]).await.unwrap();
    // NOT_LEADER_OR_FOLLOWER, until the election is over.
    peer.change(|told| told.offset = (6, -1));
    let before = peer.asked(METADATA).len();
    let calls = (0..20).map(|_| native.offset(partition("orders"), OffsetSpec::Latest));
    let calls = tokio::spawn(join_all(calls));
    let begun = Instant::now();
    tokio::time::sleep(Duration::from_secs(5)).await;
    peer.change(|told| told.offset = (0, 9));
    assert!(calls.await.unwrap().into_iter().all(|result| result == Ok(9)));
    let most = begun.elapsed().as_millis() as usize / 100 + 2;
    let asked = peer.asked(METADATA).len() - before;
    assert!((2..=most).contains(&asked), "{asked} requests in {:?}", begun.elapsed());
}
