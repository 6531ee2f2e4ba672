//! Which address is connected to.

use std::time::Duration;

use bezoar::broker::{Admin, BrokerError, OffsetSpec};
use bezoar::record::TopicPartition;
use tokio::time::Instant;

use crate::net::{Behind, Net};
use crate::peer::{NEW, Peer};

fn orders() -> TopicPartition {
    TopicPartition::new("orders", 0)
}

#[tokio::test(start_paused = true)]
async fn the_first_bootstrap_address_that_answers_is_used_and_silence_costs_its_share_of_the_time() {
    let net = Net::new();
    net.put("silent:9092", Behind::Silence);
    net.put("third:9092", Behind::Broker(Peer::alone("one", "third", NEW)));
    let begun = Instant::now();
    net.connect(&["silent:9092", "gone:9092", "third:9092"]).await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 10, "the connect timeout of the first");
}

#[tokio::test(start_paused = true)]
async fn where_none_answers_each_is_named_with_its_cause() {
    let net = Net::new();
    net.put("silent:9092", Behind::Silence);
    let error = net.connect(&["silent:9092", "gone:9092"]).await.unwrap_err();
    assert!(error.is_retriable());
    let BrokerError::Unreachable { addresses, causes } = error else { panic!("{error}") };
    assert_eq!(addresses, "silent:9092, gone:9092");
    assert_eq!(
        causes,
        "silent:9092: no usable connection within 10s: does a Kafka broker listen there, and does it answer?; gone:9092: connection refused"
    );
}

#[tokio::test(start_paused = true)]
async fn ipv6_hosts_are_asked_for_in_brackets() {
    let net = Net::new();
    let peer = Peer::alone("one", "::1", NEW);
    net.put("[::1]:9092", Behind::Broker(peer.clone()));
    net.put("boot:9092", Behind::Broker(peer));
    let native = net.connect(&["boot:9092"]).await.unwrap();
    assert_eq!(native.offset(orders(), OffsetSpec::Latest).await.unwrap(), 7);
    assert_eq!(net.attempts("[::1]:9092").len(), 1);
    assert_eq!(native.describe_cluster().await.unwrap().brokers[0].address, "[::1]:9092");
}

#[tokio::test(start_paused = true)]
async fn when_all_known_brokers_were_replaced_the_bootstrap_list_leads_to_the_new_ones() {
    let net = Net::new();
    net.put("boot:9092", Behind::Broker(Peer::alone("one", "old", NEW)));
    net.put("old:9092", Behind::Broker(Peer::alone("one", "old", NEW)));
    let native = net.connect(&["boot:9092"]).await.unwrap();
    assert_eq!(native.offset(orders(), OffsetSpec::Latest).await.unwrap(), 7);

    net.remove("old:9092");
    let new = Peer::among("one", vec![(2, "new", 9092)], NEW);
    net.put("boot:9092", Behind::Broker(new.clone()));
    net.put("new:9092", Behind::Broker(new));
    net.hang_up().await;
    assert_eq!(native.offset(orders(), OffsetSpec::Latest).await.unwrap(), 7);
    assert_eq!(net.attempts("new:9092").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_known_broker_is_found_when_the_bootstrap_addresses_are_gone() {
    let net = Net::new();
    let peer = Peer::alone("one", "known", NEW);
    net.put("boot:9092", Behind::Broker(peer.clone()));
    net.put("known:9092", Behind::Broker(peer));
    let native = net.connect(&["boot:9092"]).await.unwrap();
    net.remove("boot:9092");
    net.hang_up().await;
    assert_eq!(native.offset(orders(), OffsetSpec::Latest).await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_leads_to_another_cluster_by_now_is_told_and_not_used() {
    let net = Net::new();
    net.put("boot:9092", Behind::Broker(Peer::alone("one", "boot", NEW)));
    let native = net.connect(&["boot:9092"]).await.unwrap();
    let other = Peer::alone("two", "boot", NEW);
    net.put("boot:9092", Behind::Broker(other.clone()));
    net.hang_up().await;
    let error = native.offset(orders(), OffsetSpec::Latest).await.unwrap_err();
    let BrokerError::OtherCluster { doing, expected, found } = &error else { panic!("{error}") };
    assert!(doing.contains("boot:9092"), "{doing}");
    assert_eq!((expected.as_str(), found.as_str()), ("one", "two"));
    assert!(!error.is_retriable());
    assert_eq!(other.all_asked(), [18, 3], "its versions and its cluster");

    // Time heals it where the name is put right.
    net.put("boot:9092", Behind::Broker(Peer::alone("one", "boot", NEW)));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(native.offset(orders(), OffsetSpec::Latest).await.unwrap(), 7);
}
