use bezoar::broker::NewTopic;
use bezoar::embedded::{BatchWriter, Broker};
use bezoar::record::Header;
use bytes::Bytes;
use kafka_protocol::messages::{ApiVersionsRequest, InitProducerIdRequest};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use crate::client::{Client, produce};

fn one(key: &[u8]) -> BatchWriter {
    BatchWriter::new().record(Some(key), Some(b"value"), Vec::new())
}

async fn broker(topic: NewTopic) -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create(topic).unwrap();
    broker
}

#[tokio::test]
async fn headers_keep_order_duplicates_and_nulls() {
    let broker = broker(NewTopic::new("orders", 1)).await;
    let headers =
        vec![Header::new("b", "1"), Header::null("a"), Header::new("b", "2"), Header::new("", ""), Header::null("b")];
    let batch =
        BatchWriter::new().timestamp(-5).record(None, None, headers.clone()).record(Some(b""), Some(b""), vec![]);
    let answer = Client::pipe(&broker).produce("orders", 0, batch.build()).await;
    assert_eq!((answer.error_code, answer.base_offset), (0, 0));
    let records = broker.records("orders", 0).unwrap();
    assert_eq!(records[0].headers, headers);
    assert_eq!((&records[0].key, &records[0].value, records[0].timestamp), (&None, &None, -5));
    assert_eq!((&records[1].key, &records[1].value), (&Some(Bytes::new()), &Some(Bytes::new())));
}

#[tokio::test]
async fn an_idempotent_batch_sent_again_is_not_written_again() {
    let broker = broker(NewTopic::new("orders", 1)).await;
    let mut client = Client::pipe(&broker);
    let init = InitProducerIdRequest::default().with_transactional_id(None);
    let id = client.call(4, &init).await.producer_id.0;
    assert_ne!(client.call(4, &init).await.producer_id.0, id);
    let batch = |epoch, sequence| one(b"k").producer(id, epoch, sequence).build();
    for sequence in 0..6 {
        let answer = client.produce("orders", 0, batch(0, sequence)).await;
        assert_eq!((answer.error_code, answer.base_offset), (0, i64::from(sequence)));
    }
    for sequence in 1..6 {
        let answer = client.produce("orders", 0, batch(0, sequence)).await;
        assert_eq!((answer.error_code, answer.base_offset), (0, i64::from(sequence)), "the original offset");
    }
    let mut refused = async |batch| client.produce("orders", 0, batch).await.error_code;
    assert_eq!(refused(batch(0, 0)).await, 45, "older than the five that are remembered");
    assert_eq!(refused(batch(0, 7)).await, 45, "OUT_OF_ORDER_SEQUENCE_NUMBER");
    assert_eq!(refused(batch(1, 0)).await, 0, "a new epoch begins at 0");
    assert_eq!(refused(batch(0, 6)).await, 47, "INVALID_PRODUCER_EPOCH");
    assert_eq!(broker.end_offset("orders", 0), Some(7));
}

#[tokio::test]
async fn batches_that_kafka_refuses_are_refused_and_leave_nothing() {
    let broker = broker(NewTopic::new("orders", 1).config("max.message.bytes", "200")).await;
    let mut client = Client::pipe(&broker);
    let good = one(b"k").build();
    let mut corrupt = good.to_vec();
    *corrupt.last_mut().unwrap() ^= 1;
    let mut old = good.to_vec();
    old[16] = 1;
    let twice = [&good[..], &good[..]].concat();
    let large = BatchWriter::new().record(None, Some(&[0; 300]), vec![]).build();
    let miscounted = one(b"k").last_offset_delta(3).build();
    for (what, batch, code) in [
        ("corrupt", Bytes::from(corrupt), 2),
        ("cut off", good.slice(..good.len() - 1), 87),
        ("empty", Bytes::new(), 87),
        ("of magic 1", old.into(), 87),
        ("two at once", twice.into(), 87),
        ("too large", large, 10),
        ("miscounted", miscounted, 87),
        ("control", one(b"k").control().build(), 87),
        ("transactional", one(b"k").producer(1, 0, 0).transactional().build(), 53),
        ("id without sequence", one(b"k").producer(1, 0, -1).build(), 87),
    ] {
        let answer = client.produce("orders", 0, batch).await;
        assert_eq!((answer.error_code, answer.base_offset), (code, -1), "{what}: {:?}", answer.error_message);
        assert!(answer.error_message.is_some_and(|message| !message.is_empty()), "{what}");
    }
    assert_eq!(broker.end_offset("orders", 0), Some(0));
}

#[tokio::test]
async fn unknown_topics_partitions_and_ids_have_their_codes() {
    let broker = broker(NewTopic::new("orders", 1)).await;
    let mut client = Client::pipe(&broker);
    for (topic, partition) in [("nowhere", 0), ("orders", 1), ("orders", -1)] {
        assert_eq!(client.produce(topic, partition, one(b"k").build()).await.error_code, 3, "{topic}/{partition}");
    }
    let mut by_id = produce(1, "", 0, one(b"k").build());
    by_id.topic_data[0].topic_id = Uuid::from_u128(1);
    assert_eq!(client.call(13, &by_id).await.responses[0].partition_responses[0].error_code, 100);
    by_id.topic_data[0].topic_id = broker.topic_id("orders").unwrap();
    assert_eq!(client.call(13, &by_id).await.responses[0].partition_responses[0].error_code, 0);
    let acks = client.call(9, &produce(2, "orders", 0, one(b"k").build())).await;
    assert_eq!(acks.responses[0].partition_responses[0].error_code, 21);
    assert_eq!(broker.end_offset("orders", 0), Some(1));
}

#[tokio::test]
async fn a_compacted_topic_refuses_records_without_a_key() {
    let broker = broker(NewTopic::new("orders", 1).config("cleanup.policy", "compact")).await;
    let mut client = Client::pipe(&broker);
    let batch = one(b"k").record(None, Some(b"value"), vec![]).build();
    let answer = client.produce("orders", 0, batch).await;
    assert_eq!(answer.error_code, 87);
    assert_eq!(answer.record_errors.iter().map(|error| error.batch_index).collect::<Vec<_>>(), [1]);
    assert_eq!(client.produce("orders", 0, one(b"k").build()).await.error_code, 0);
}

#[tokio::test]
async fn too_few_replicas_matter_only_to_those_who_wait_for_all() {
    let broker = broker(NewTopic::new("orders", 1).config("min.insync.replicas", "2")).await;
    let mut client = Client::pipe(&broker);
    assert_eq!(client.produce("orders", 0, one(b"k").build()).await.error_code, 19);
    let answer = client.call(9, &produce(1, "orders", 0, one(b"k").build())).await;
    assert_eq!(answer.responses[0].partition_responses[0].error_code, 0);
}

#[tokio::test]
async fn append_time_replaces_the_producers() {
    let broker = broker(NewTopic::new("orders", 1).config("message.timestamp.type", "LogAppendTime")).await;
    let answer = Client::pipe(&broker).produce("orders", 0, one(b"k").build()).await;
    assert!(answer.log_append_time_ms > 1_600_000_000_000);
    let records = broker.records("orders", 0).unwrap();
    assert_eq!(records[0].timestamp, answer.log_append_time_ms);
    // What is served must still carry a right CRC.
    let fetched = Client::pipe(&broker).fetch(&crate::client::fetch("orders", &[(0, 0)])).await;
    let batch = fetched.responses[0].partitions[0].records.clone().unwrap();
    assert_eq!(crc32c::crc32c(&batch[21..]).to_be_bytes(), batch[17..21]);
}

#[tokio::test]
async fn without_acknowledgement_nothing_is_answered_and_a_failure_closes() {
    let broker = broker(NewTopic::new("orders", 1)).await;
    let mut client = Client::pipe(&broker);
    client.send(9, &produce(0, "orders", 0, one(b"k").build())).await;
    // The next answer belongs to the next request: its correlation id says so.
    let api_versions = ApiVersionsRequest::default()
        .with_client_software_name(StrBytes::from_static_str("test"))
        .with_client_software_version(StrBytes::from_static_str("1"));
    client.call(3, &api_versions).await;
    assert_eq!(broker.end_offset("orders", 0), Some(1));
    client.send(9, &produce(0, "nowhere", 0, one(b"k").build())).await;
    assert_eq!(client.frame().await, None);
}
