//! What retention and the log cleaner leave behind.

use bezoar::broker::{Compression, NewTopic};
use bezoar::embedded::{BatchWriter, Broker};
use bytes::Bytes;
use kafka_protocol::messages::ListOffsetsRequest;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use proptest::prelude::*;

use crate::client::{Client, fetch, topic_name};

fn writer(keys: &[&str]) -> BatchWriter {
    keys.iter().fold(BatchWriter::new(), |batch, key| batch.record(Some(key.as_bytes()), Some(b"value"), vec![]))
}

async fn orders() -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    broker
}

fn append(broker: &Broker, batch: BatchWriter) {
    broker.append_raw("orders", 0, batch.build()).unwrap();
}

/// Offsets and keys of the records that are left.
fn left(broker: &Broker) -> Vec<(i64, String)> {
    let records = broker.records("orders", 0).unwrap();
    let key = |key: Option<Bytes>| key.map_or(String::new(), |key| String::from_utf8_lossy(&key).into_owned());
    records.into_iter().filter(|record| !record.control).map(|record| (record.offset, key(record.key))).collect()
}

/// Base offset, last offset and count of each batch that a fetch from the start brings.
async fn batches(broker: &Broker) -> Vec<(i64, i64, i32)> {
    let answer = Client::pipe(broker).fetch(&fetch("orders", &[(0, broker.start_offset("orders", 0).unwrap())])).await;
    let mut rest = &answer.responses[0].partitions[0].records.as_ref().unwrap()[..];
    let mut found = Vec::new();
    while !rest.is_empty() {
        let size = 12 + i32::from_be_bytes(rest[8..12].try_into().unwrap()) as usize;
        assert_eq!(rest[17..21], crc32c::crc32c(&rest[21..size]).to_be_bytes());
        let base = i64::from_be_bytes(rest[..8].try_into().unwrap());
        let delta = i32::from_be_bytes(rest[23..27].try_into().unwrap());
        found.push((base, base + i64::from(delta), i32::from_be_bytes(rest[57..61].try_into().unwrap())));
        rest = &rest[size..];
    }
    found
}

#[tokio::test]
async fn the_last_record_of_each_key_stays_where_it_was() {
    let broker = orders().await;
    append(&broker, writer(&["a", "b", "c"]));
    append(&broker, writer(&["b", "b"]));
    append(&broker, writer(&["a"]).record(None, Some(b"keyless"), vec![]));
    append(&broker, BatchWriter::new().record(Some(b"c"), None, vec![]));
    broker.compact("orders", 0).unwrap();
    assert_eq!(left(&broker), [(4, "b".into()), (5, "a".into()), (7, "c".into())]);
    assert_eq!(batches(&broker).await, [(3, 4, 1), (5, 6, 1), (7, 7, 1)], "ranges stay, emptied batches go");
    assert_eq!(broker.end_offset("orders", 0), Some(8));
    assert!(broker.compact("nowhere", 0).is_err());
}

#[tokio::test]
async fn the_last_batch_of_a_producer_stays_though_it_is_empty() {
    let broker = orders().await;
    append(&broker, writer(&["a", "b"]).producer(7, 0, 0));
    append(&broker, writer(&["a", "b"]).producer(7, 0, 2));
    append(&broker, writer(&["a", "b"]));
    broker.compact("orders", 0).unwrap();
    assert_eq!(batches(&broker).await, [(2, 3, 0), (4, 5, 2)]);
    // Whoever builds up what is known of producers anew finds the batch there.
    broker.truncate("orders", 0, 6).unwrap();
    let mut client = Client::pipe(&broker);
    let again = client.produce("orders", 0, writer(&["a", "b"]).producer(7, 0, 2).build()).await;
    assert_eq!((again.error_code, again.base_offset), (0, 2), "it is still known");
}

#[tokio::test]
async fn aborted_records_go_markers_stay_and_open_transactions_are_left_alone() {
    let broker = orders().await;
    append(&broker, writer(&["a"]));
    append(&broker, writer(&["a"]).producer(7, 0, 0).transactional());
    broker.append_raw("orders", 0, BatchWriter::marker(7, 0, false).build()).unwrap();
    append(&broker, writer(&["b"]));
    append(&broker, writer(&["c"]).producer(8, 0, 0).transactional());
    append(&broker, writer(&["b"]));
    broker.compact("orders", 0).unwrap();
    // The aborted "a" does not replace the first one; the later "b" is not looked at yet.
    let expected = [(0, "a".to_owned()), (3, "b".to_owned()), (4, "c".to_owned()), (5, "b".to_owned())];
    assert_eq!(left(&broker), expected);
    assert_eq!(batches(&broker).await, [(0, 0, 1), (1, 1, 0), (2, 2, 1), (3, 3, 1), (4, 4, 1), (5, 5, 1)]);
}

#[tokio::test]
async fn compressed_batches_are_taken_read_and_compacted() {
    let broker = Broker::start().await.unwrap();
    broker.create(NewTopic::new("orders", 1).config("cleanup.policy", "compact")).unwrap();
    let mut client = Client::pipe(&broker);
    let value = [b'x'; 500];
    let all = [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
    for (index, compression) in all.into_iter().enumerate() {
        let (own, millis) = (format!("k{index}"), 100 * index as i64);
        let batch = BatchWriter::new()
            .timestamp(millis)
            .record(Some(own.as_bytes()), Some(&value), vec![])
            .timestamp(millis + 50)
            .record(Some(b"shared"), Some(&value), vec![])
            .compression(compression)
            .build();
        assert!(batch.len() < 500, "{compression:?}");
        assert_eq!(client.produce("orders", 0, batch.clone()).await.error_code, 0, "{compression:?}");
        let mut corrupt = batch.to_vec();
        corrupt[61..].fill(0xaa);
        let crc = crc32c::crc32c(&corrupt[21..]);
        corrupt[17..21].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(client.produce("orders", 0, corrupt.into()).await.error_code, 2, "{compression:?}");
        let keyless = BatchWriter::new().record(None, Some(&value), vec![]).compression(compression).build();
        assert_eq!(client.produce("orders", 0, keyless).await.error_code, 87, "{compression:?}");
    }
    let partition = ListOffsetsPartition::default().with_timestamp(210);
    let topic = ListOffsetsTopic::default().with_name(topic_name("orders")).with_partitions(vec![partition]);
    let found = client.call(7, &ListOffsetsRequest::default().with_topics(vec![topic])).await;
    let found = &found.topics[0].partitions[0];
    assert_eq!((found.offset, found.timestamp), (5, 250), "a time within a compressed batch");
    broker.compact("orders", 0).unwrap();
    let expected = [(0, "k0"), (2, "k1"), (4, "k2"), (6, "k3"), (7, "shared")];
    assert_eq!(left(&broker), expected.map(|(offset, key)| (offset, key.to_owned())));
}

#[tokio::test]
async fn the_start_of_a_log_moves_even_past_its_end() {
    let broker = orders().await;
    append(&broker, writer(&["a", "b", "c"]));
    broker.set_log_start("orders", 0, 2).unwrap();
    assert_eq!((broker.start_offset("orders", 0), left(&broker)), (Some(2), vec![(2, "c".to_owned())]));
    broker.set_log_start("orders", 0, 100).unwrap();
    assert_eq!((broker.start_offset("orders", 0), broker.end_offset("orders", 0)), (Some(100), Some(100)));
    let answer = Client::pipe(&broker).fetch(&fetch("orders", &[(0, 3)])).await;
    assert_eq!(answer.responses[0].partitions[0].error_code, 1);
    append(&broker, writer(&["d"]));
    assert_eq!(left(&broker), [(100, "d".to_owned())]);
}

#[test]
fn compaction_keeps_exactly_the_last_record_of_each_key() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let keys = prop::collection::vec(prop::collection::vec(0u8..6, 1..5), 1..8);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(60));
    let outcome = runner.run(&keys, |keys| {
        runtime.block_on(async {
            let broker = orders().await;
            for batch in &keys {
                let names: Vec<String> = batch.iter().map(u8::to_string).collect();
                append(&broker, writer(&names.iter().map(String::as_str).collect::<Vec<_>>()));
            }
            let before = left(&broker);
            let is_last = |(offset, key): &&(i64, String)| !before.iter().any(|(o, k)| k == key && o > offset);
            let expected: Vec<_> = before.iter().filter(is_last).cloned().collect();
            broker.compact("orders", 0).unwrap();
            prop_assert_eq!(&left(&broker), &expected);
            broker.compact("orders", 0).unwrap();
            prop_assert_eq!(&left(&broker), &expected, "again changes nothing");
            broker.shutdown().await;
            Ok(())
        })
    });
    outcome.unwrap();
}
