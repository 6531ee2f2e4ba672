//! The embedded broker against a client that is not ours: rskafka.

#![cfg(feature = "rskafka")]
use std::collections::BTreeMap;
use std::time::Duration;

use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, Broker, Fault};
use bytes::Bytes;
use chrono::DateTime;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;

async fn client(broker: &Broker) -> Client {
    ClientBuilder::new(vec![broker.bootstrap()]).build().await.unwrap()
}

async fn partition(client: &Client, topic: &str, partition: i32) -> PartitionClient {
    client.partition_client(topic, partition, UnknownTopicHandling::Error).await.unwrap()
}

fn record(millis: i64, value: &str) -> Record {
    Record {
        key: Some(b"key".to_vec()),
        value: Some(value.as_bytes().to_vec()),
        headers: BTreeMap::from([("trace".to_owned(), b"1".to_vec())]),
        timestamp: DateTime::from_timestamp_millis(millis).unwrap(),
    }
}

#[tokio::test]
async fn creates_lists_and_deletes_topics() {
    let broker = Broker::start().await.unwrap();
    let client = client(&broker).await;
    let controller = client.controller_client().unwrap();
    controller.create_topic("orders", 3, 1, 5_000).await.unwrap();
    let topics = client.list_topics().await.unwrap();
    assert_eq!(topics.len(), 1);
    assert_eq!(topics[0].name, "orders");
    assert_eq!(topics[0].partitions.len(), 3);
    let again = controller.create_topic("orders", 3, 1, 5_000).await.unwrap_err();
    assert!(matches!(again, Error::ServerError { protocol_error: ProtocolError::TopicAlreadyExists, .. }), "{again}");
    controller.delete_topic("orders", 5_000).await.unwrap();
    assert!(broker.topics().is_empty());
}

#[tokio::test]
async fn what_is_produced_is_consumed_and_found_by_offset_and_time() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    let client = client(&broker).await;
    let orders = partition(&client, "orders", 1).await;
    let first = orders.produce(vec![record(1_000, "a"), record(2_000, "b")], Compression::NoCompression).await.unwrap();
    let second = orders.produce(vec![record(3_000, "c")], Compression::NoCompression).await.unwrap();
    assert_eq!((first, second), (vec![0, 1], vec![2]));

    let (records, high_watermark) = orders.fetch_records(1, 1..1_000_000, 100).await.unwrap();
    assert_eq!(high_watermark, 3);
    let read: Vec<_> = records.iter().map(|r| (r.offset, r.record.clone())).collect();
    assert_eq!(read, [(1, record(2_000, "b")), (2, record(3_000, "c"))]);

    let at = |millis| OffsetAt::Timestamp(DateTime::from_timestamp_millis(millis).unwrap());
    assert_eq!(orders.get_offset(OffsetAt::Earliest).await.unwrap(), 0);
    assert_eq!(orders.get_offset(OffsetAt::Latest).await.unwrap(), 3);
    assert_eq!(orders.get_offset(at(1_500)).await.unwrap(), 1);
    assert_eq!(orders.get_offset(at(4_000)).await.unwrap(), -1);

    let stored = broker.records("orders", 1).unwrap();
    assert_eq!(stored[0].value, Some(Bytes::from_static(b"a")));
    assert_eq!(&stored[0].headers[0].name[..], b"trace");
    assert_eq!(broker.end_offset("orders", 0), Some(0));
}

#[tokio::test]
async fn compressed_batches_pass_through() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let client = client(&broker).await;
    let orders = partition(&client, "orders", 0).await;
    for compression in [Compression::Gzip, Compression::Snappy] {
        orders.produce(vec![record(1_000, "packed"), record(1_000, "packed")], compression).await.unwrap();
    }
    let (records, _) = orders.fetch_records(0, 1..1_000_000, 100).await.unwrap();
    assert_eq!(records.len(), 4);
    assert_eq!(records[3].record, record(1_000, "packed"));
    let stored = broker.records("orders", 0).unwrap();
    assert!(stored.len() == 4 && stored.iter().all(|record| record.value.as_deref() == Some(b"packed")), "{stored:?}");
}

#[tokio::test]
async fn an_offset_outside_the_log_is_refused() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let client = client(&broker).await;
    let orders = partition(&client, "orders", 0).await;
    for value in ["a", "b", "c"] {
        orders.produce(vec![record(1_000, value)], Compression::NoCompression).await.unwrap();
    }
    orders.delete_records(2, 5_000).await.unwrap();
    assert_eq!(broker.start_offset("orders", 0), Some(2));
    for offset in [1, 4] {
        let error = orders.fetch_records(offset, 1..1_000, 10).await.unwrap_err();
        assert!(matches!(error, Error::ServerError { protocol_error: ProtocolError::OffsetOutOfRange, .. }), "{error}");
    }
    assert_eq!(orders.fetch_records(2, 1..1_000, 10).await.unwrap().0.len(), 1);
}

#[tokio::test]
async fn a_fetch_waits_for_records() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let client = client(&broker).await;
    let reader = partition(&client, "orders", 0).await;
    let reading = tokio::spawn(async move { reader.fetch_records(0, 1..1_000_000, 60_000).await });
    while broker.requests(Api::Fetch) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let writer = partition(&client, "orders", 0).await;
    writer.produce(vec![record(1_000, "late")], Compression::NoCompression).await.unwrap();
    let (records, _) = reading.await.unwrap().unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(broker.requests(Api::Fetch), 1);
}

#[tokio::test]
async fn an_injected_error_reaches_the_client() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let client = client(&broker).await;
    let orders = partition(&client, "orders", 0).await;
    let fault = broker.inject(Fault::on(Api::Produce).topic("orders").partition(0).error(ErrorCode::MESSAGE_TOO_LARGE));
    let error = orders.produce(vec![record(1_000, "a")], Compression::NoCompression).await.unwrap_err();
    assert!(matches!(error, Error::ServerError { protocol_error: ProtocolError::MessageTooLarge, .. }), "{error}");
    assert_eq!((fault.fired(), broker.end_offset("orders", 0)), (1, Some(0)));
    orders.produce(vec![record(1_000, "a")], Compression::NoCompression).await.unwrap();
    assert_eq!(broker.end_offset("orders", 0), Some(1));
}

#[tokio::test]
async fn a_lost_answer_makes_a_client_without_idempotence_write_twice() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let client = client(&broker).await;
    let orders = partition(&client, "orders", 0).await;
    let fault = broker.inject(Fault::on(Api::Produce).drop_after_effect());
    orders.produce(vec![record(1_000, "a")], Compression::NoCompression).await.unwrap();
    assert_eq!((fault.fired(), broker.end_offset("orders", 0)), (1, Some(2)));

    let fault = broker.inject(Fault::on(Api::Produce).drop_before_effect());
    orders.produce(vec![record(1_000, "b")], Compression::NoCompression).await.unwrap();
    assert_eq!((fault.fired(), broker.end_offset("orders", 0)), (1, Some(3)));
}

#[tokio::test]
async fn a_broker_that_stops_leaves_its_port() {
    let broker = Broker::start().await.unwrap();
    let client = client(&broker).await;
    client.list_topics().await.unwrap();
    let address = broker.address();
    broker.shutdown().await;
    let next = Broker::builder().address(address).start().await.unwrap();
    assert_eq!(next.address(), address);
}
