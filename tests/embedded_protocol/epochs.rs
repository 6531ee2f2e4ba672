//! Leader epochs, and logs that lose their end (KIP-320).

use bezoar::embedded::{BatchWriter, Broker};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::{FetchRequest, ListOffsetsRequest, MetadataRequest, OffsetForLeaderEpochRequest};

use crate::client::{Client, fetch, topic_name};

/// Three records in epoch 0, two in epoch 1.
async fn elected() -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    append(&broker, 3);
    assert_eq!(broker.bump_leader_epoch("orders", 0).unwrap(), 1);
    append(&broker, 2);
    broker
}

fn append(broker: &Broker, times: usize) {
    for _ in 0..times {
        let batch = BatchWriter::new().record(Some(b"k"), Some(b"v"), vec![]).build();
        broker.append_raw("orders", 0, batch).unwrap();
    }
}

fn end_of(current: i32, epoch: i32) -> OffsetForLeaderEpochRequest {
    let partition = OffsetForLeaderPartition::default().with_current_leader_epoch(current).with_leader_epoch(epoch);
    let topic = OffsetForLeaderTopic::default().with_topic(topic_name("orders")).with_partitions(vec![partition]);
    OffsetForLeaderEpochRequest::default().with_topics(vec![topic])
}

fn with_epochs(offset: i64, current: i32, last_fetched: i32) -> FetchRequest {
    let mut request = fetch("orders", &[(0, offset)]);
    let partition = &mut request.topics[0].partitions[0];
    (partition.current_leader_epoch, partition.last_fetched_epoch) = (current, last_fetched);
    request
}

#[tokio::test]
async fn a_client_with_another_leader_epoch_is_told_so() {
    let broker = elected().await;
    let mut client = Client::pipe(&broker);
    for (current, code) in [(-1, 0), (0, 74), (1, 0), (2, 75)] {
        let answer = client.fetch(&with_epochs(0, current, -1)).await;
        assert_eq!(answer.responses[0].partitions[0].error_code, code, "fetch, {current}");
        let partition = ListOffsetsPartition::default().with_timestamp(-1).with_current_leader_epoch(current);
        let topic = ListOffsetsTopic::default().with_name(topic_name("orders")).with_partitions(vec![partition]);
        let answer = client.call(4, &ListOffsetsRequest::default().with_topics(vec![topic])).await;
        assert_eq!(answer.topics[0].partitions[0].error_code, code, "list offsets, {current}");
        let answer = client.call(4, &end_of(current, 0)).await;
        assert_eq!(answer.topics[0].partitions[0].error_code, code, "end of epoch, {current}");
    }
}

#[tokio::test]
async fn epochs_are_told_and_lie_in_batches() {
    let broker = elected().await;
    let mut client = Client::pipe(&broker);
    let asked = MetadataRequestTopic::default().with_name(Some(topic_name("orders")));
    let answer = client.call(12, &MetadataRequest::default().with_topics(Some(vec![asked]))).await;
    assert_eq!((answer.topics[0].partitions[0].leader_epoch, broker.leader_epoch("orders", 0)), (1, Some(1)));
    let answer = client.fetch(&fetch("orders", &[(0, 0)])).await;
    let mut rest = &answer.responses[0].partitions[0].records.as_ref().unwrap()[..];
    let mut epochs = Vec::new();
    while !rest.is_empty() {
        epochs.push(i32::from_be_bytes(rest[12..16].try_into().unwrap()));
        rest = &rest[12 + i32::from_be_bytes(rest[8..12].try_into().unwrap()) as usize..];
    }
    assert_eq!(epochs, [0, 0, 0, 1, 1]);
    for (timestamp, epoch) in [(-1, 1), (-2, 0)] {
        let partition = ListOffsetsPartition::default().with_timestamp(timestamp);
        let topic = ListOffsetsTopic::default().with_name(topic_name("orders")).with_partitions(vec![partition]);
        let answer = client.call(7, &ListOffsetsRequest::default().with_topics(vec![topic])).await;
        assert_eq!(answer.topics[0].partitions[0].leader_epoch, epoch, "{timestamp}");
    }
}

#[tokio::test]
async fn the_end_of_an_epoch_can_be_asked_for() {
    let broker = elected().await;
    let mut client = Client::pipe(&broker);
    for (epoch, expected) in [(0, (0, 3)), (1, (1, 5)), (2, (-1, -1)), (-1, (-1, -1))] {
        let answer = client.call(4, &end_of(1, epoch)).await;
        let end = &answer.topics[0].partitions[0];
        assert_eq!((end.error_code, (end.leader_epoch, end.end_offset)), (0, expected), "epoch {epoch}");
    }
}

#[tokio::test]
async fn a_truncated_log_tells_where_it_parts_from_what_was_read() {
    let broker = elected().await;
    assert_eq!(broker.truncate("orders", 0, 4).unwrap(), 4);
    assert_eq!((broker.end_offset("orders", 0), broker.leader_epoch("orders", 0)), (Some(4), Some(2)));
    append(&broker, 3);
    let mut client = Client::pipe(&broker);
    // Offset 5 of epoch 1 was read before; what lies there now is another record.
    let answer = client.fetch(&with_epochs(5, 2, 1).with_max_wait_ms(i32::MAX)).await;
    let data = &answer.responses[0].partitions[0];
    assert_eq!((data.error_code, data.records.as_ref().unwrap().len()), (0, 0));
    assert_eq!((data.diverging_epoch.epoch, data.diverging_epoch.end_offset), (1, 4));
    let agreed = client.fetch(&with_epochs(4, 2, 1)).await;
    let data = &agreed.responses[0].partitions[0];
    assert_eq!((data.diverging_epoch.epoch, data.records.as_ref().unwrap().is_empty()), (-1, false));
    let unknown = client.fetch(&with_epochs(5, -1, 7)).await;
    assert_eq!(unknown.responses[0].partitions[0].error_code, 1, "an epoch from the future: OFFSET_OUT_OF_RANGE");
}

#[tokio::test]
async fn an_offset_beyond_a_truncated_end_is_out_of_range() {
    let broker = elected().await;
    broker.truncate("orders", 0, 2).unwrap();
    let mut client = Client::pipe(&broker);
    let answer = client.fetch(&with_epochs(5, -1, -1).with_max_wait_ms(i32::MAX)).await;
    assert_eq!(answer.responses[0].partitions[0].error_code, 1);
    append(&broker, 1);
    let offsets: Vec<_> = broker.records("orders", 0).unwrap().iter().map(|record| record.offset).collect();
    assert_eq!(offsets, [0, 1, 2]);
}

#[tokio::test]
async fn a_truncated_log_forgets_what_idempotent_producers_wrote_there() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let mut client = Client::pipe(&broker);
    let batch = |sequence| BatchWriter::new().record(None, Some(b"v"), vec![]).producer(7, 0, sequence).build();
    for sequence in 0..3 {
        client.produce("orders", 0, batch(sequence)).await;
    }
    broker.truncate("orders", 0, 1).unwrap();
    assert_eq!(client.produce("orders", 0, batch(2)).await.error_code, 45);
    let again = client.produce("orders", 0, batch(1)).await;
    assert_eq!((again.error_code, again.base_offset), (0, 1));
}
