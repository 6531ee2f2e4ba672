//! Brokers old and new.

use bezoar::broker::{Admin, BrokerError, NewTopic, OffsetSpec};
use bezoar::record::TopicPartition;

use crate::net::{Behind, Net};
use crate::peer::{NEW, OLD, Peer};

const LIST_OFFSETS: i16 = 2;
const METADATA: i16 = 3;
const API_VERSIONS: i16 = 18;
const CREATE_TOPICS: i16 = 19;

/// Uses a broker, and tells in which versions it was asked.
async fn used(peer: &std::sync::Arc<Peer>) -> [Vec<i16>; 4] {
    let net = Net::new();
    net.put("broker:9092", Behind::Broker(peer.clone()));
    let native = net.connect(&["broker:9092"]).await.unwrap();
    native.create_topic(NewTopic::new("orders", 1)).await.unwrap();
    assert_eq!(native.topics(vec!["orders".to_owned()]).await.unwrap()[0].as_ref().unwrap().partitions, 1);
    assert_eq!(native.offset(TopicPartition::new("orders", 0), OffsetSpec::Latest).await.unwrap(), 7);
    [API_VERSIONS, METADATA, CREATE_TOPICS, LIST_OFFSETS].map(|api| {
        let mut versions = peer.asked(api);
        versions.dedup();
        versions
    })
}

#[tokio::test(start_paused = true)]
async fn a_broker_of_kafka_4_is_asked_once() {
    let peer = Peer::alone("one", "broker", NEW);
    assert_eq!(used(&peer).await, [vec![4], vec![12], vec![7], vec![7]]);
    assert_eq!(peer.asked(API_VERSIONS).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_broker_of_kafka_2_1_is_asked_again_in_version_0_and_spoken_to_in_its_own_versions() {
    let peer = Peer::alone("one", "broker", OLD);
    assert_eq!(used(&peer).await, [vec![4, 0], vec![7], vec![3], vec![4]]);
}

#[tokio::test(start_paused = true)]
async fn what_an_old_broker_cannot_do_is_said() {
    let net = Net::new();
    net.put("broker:9092", Behind::Broker(Peer::alone("one", "broker", OLD)));
    let native = net.connect(&["broker:9092"]).await.unwrap();
    let latest = native.offset(TopicPartition::new("orders", 0), OffsetSpec::MaxTimestamp).await.unwrap_err();
    assert!(matches!(&latest, BrokerError::Unsupported { remedy, .. } if remedy.contains("Kafka 3.0")), "{latest}");
    let altered = native.alter_topic_configs("orders".to_owned(), Vec::new()).await.unwrap_err();
    assert!(altered.to_string().contains("does not offer IncrementalAlterConfigs"), "{altered}");
    assert!(!altered.is_retriable());
}

#[tokio::test(start_paused = true)]
async fn a_broker_without_a_common_version_is_an_error_that_names_it_and_the_versions() {
    let net = Net::new();
    net.put("broker:9092", Behind::Broker(Peer::alone("one", "broker", &[(3, 40, 50), (18, 0, 4)])));
    let error = net.connect(&["broker:9092"]).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, BrokerError::Unsupported { .. }), "{text}");
    assert!(
        text.contains("broker:9092") && text.contains("versions 40 to 50 of Metadata, this client 4 to 12"),
        "{text}"
    );
}
