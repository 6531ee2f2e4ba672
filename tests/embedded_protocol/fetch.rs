use bezoar::embedded::{BatchWriter, Broker};
use bytes::Bytes;
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{FetchResponse, ListOffsetsRequest};
use uuid::Uuid;

use crate::client::{Client, fetch, topic_name};

fn batch(records: usize, value: usize) -> Bytes {
    let value = vec![b'v'; value];
    (0..records).fold(BatchWriter::new(), |batch, _| batch.record(Some(b"k"), Some(&value), vec![])).build()
}

async fn orders(partitions: i32) -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", partitions).unwrap();
    broker
}

fn partition(answer: &FetchResponse, index: usize) -> &PartitionData {
    assert_eq!((answer.error_code, answer.session_id), (0, 0));
    &answer.responses[0].partitions[index]
}

/// Base offsets and lengths (stated, present) of the batches in `records`.
fn batches(records: &Bytes) -> Vec<(i64, usize, usize)> {
    let (mut rest, mut found) = (&records[..], Vec::new());
    while rest.len() >= 12 {
        let base = i64::from_be_bytes(rest[..8].try_into().unwrap());
        let stated = 12 + i32::from_be_bytes(rest[8..12].try_into().unwrap()) as usize;
        let present = stated.min(rest.len());
        found.push((base, stated, present));
        rest = &rest[present..];
    }
    found
}

#[tokio::test]
async fn an_answer_begins_with_the_batch_that_holds_the_offset() {
    let broker = orders(1).await;
    for _ in 0..3 {
        broker.append_raw("orders", 0, batch(4, 10)).unwrap();
    }
    let mut client = Client::pipe(&broker);
    let answer = client.fetch(&fetch("orders", &[(0, 6)])).await;
    let data = partition(&answer, 0);
    assert_eq!((data.error_code, data.high_watermark, data.log_start_offset), (0, 12, 0));
    let bases: Vec<_> = batches(data.records.as_ref().unwrap()).into_iter().map(|(base, ..)| base).collect();
    assert_eq!(bases, [4, 8]);
    let at_end = client.fetch(&fetch("orders", &[(0, 12)])).await;
    assert_eq!(partition(&at_end, 0).records, Some(Bytes::new()));
}

#[tokio::test]
async fn the_first_batch_comes_whole_and_the_last_may_be_cut() {
    let broker = orders(2).await;
    let size = batch(1, 500).len();
    for index in 0..2 {
        for _ in 0..3 {
            broker.append_raw("orders", index, batch(1, 500)).unwrap();
        }
    }
    let mut client = Client::pipe(&broker);
    let both = [(0, 0), (1, 0)];
    let sizes = |answer: &FetchResponse| {
        let size = |index| partition(answer, index).records.as_ref().unwrap().len();
        (size(0), size(1))
    };

    let tiny = client.fetch(&fetch("orders", &both).with_max_bytes(1)).await;
    assert_eq!(sizes(&tiny), (size, 0), "the first batch of the first partition, whatever the limit");
    let some = client.fetch(&fetch("orders", &both).with_max_bytes((size * 4) as i32)).await;
    assert_eq!(sizes(&some), (size * 3, size));
    let cut = client.fetch(&fetch("orders", &both).with_max_bytes((size * 2 + 100) as i32)).await;
    assert_eq!(sizes(&cut), (size * 2 + 100, 0));
    let last = *batches(partition(&cut, 0).records.as_ref().unwrap()).last().unwrap();
    assert_eq!(last, (2, size, 100));
    let mut narrow = fetch("orders", &both);
    narrow.topics[0].partitions.iter_mut().for_each(|one| one.partition_max_bytes = 1);
    let narrow = client.fetch(&narrow).await;
    assert_eq!(sizes(&narrow), (size, 0), "only the first partition with data may exceed its limit");
}

#[tokio::test]
async fn offsets_outside_the_log_are_out_of_range() {
    let broker = orders(1).await;
    broker.append_raw("orders", 0, batch(5, 10)).unwrap();
    broker.append_raw("orders", 0, batch(5, 10)).unwrap();
    broker.delete_records_before("orders", 0, 7).unwrap();
    let mut client = Client::pipe(&broker);
    for (offset, code) in [(6, 1), (7, 0), (10, 0), (11, 1), (-1, 1)] {
        let answer = client.fetch(&fetch("orders", &[(0, offset)])).await;
        assert_eq!(partition(&answer, 0).error_code, code, "offset {offset}");
    }
    let missing = client.fetch(&fetch("orders", &[(1, 0)])).await;
    assert_eq!(partition(&missing, 0).error_code, 3);
    let mut epoch = fetch("orders", &[(0, 7)]);
    epoch.topics[0].partitions[0].current_leader_epoch = 5;
    assert_eq!(partition(&client.fetch(&epoch).await, 0).error_code, 75);
}

#[tokio::test]
async fn a_topic_made_anew_has_another_id() {
    let broker = orders(1).await;
    let old = broker.topic_id("orders").unwrap();
    let mut client = Client::pipe(&broker);
    let mut by_id = fetch("", &[(0, 0)]);
    by_id.topics[0].topic_id = old;
    assert_eq!(partition(&client.call(13, &by_id).await, 0).error_code, 0);
    let new = broker.recreate_topic("orders").unwrap();
    assert_ne!(old, new);
    assert_eq!(partition(&client.call(13, &by_id).await, 0).error_code, 100);
    by_id.topics[0].topic_id = new;
    assert_eq!(partition(&client.call(13, &by_id).await, 0).error_code, 0);
    by_id.topics[0].topic_id = Uuid::nil();
    assert_eq!(partition(&client.call(13, &by_id).await, 0).error_code, 100);
}

#[tokio::test]
async fn committed_readers_stop_at_open_transactions_and_hear_of_aborted_ones() {
    let broker = orders(1).await;
    let transactional =
        |id| BatchWriter::new().record(Some(b"k"), Some(b"v"), vec![]).producer(id, 0, 0).transactional();
    broker.append_raw("orders", 0, transactional(7).build()).unwrap();
    broker.append_raw("orders", 0, transactional(8).build()).unwrap();
    broker.append_raw("orders", 0, BatchWriter::marker(7, 0, false).build()).unwrap();
    let mut client = Client::pipe(&broker);
    let committed = fetch("orders", &[(0, 0)]).with_isolation_level(1);
    let read = async |client: &mut Client<_>| {
        let data = partition(&client.fetch(&committed).await, 0).clone();
        let aborted = data.aborted_transactions.unwrap();
        let aborted: Vec<_> = aborted.iter().map(|one| (one.producer_id.0, one.first_offset)).collect();
        (data.high_watermark, data.last_stable_offset, batches(&data.records.unwrap()).len(), aborted)
    };
    assert_eq!(read(&mut client).await, (3, 1, 1, vec![(7, 0)]));
    let latest = |level| {
        let partition = ListOffsetsPartition::default().with_timestamp(-1);
        let topic = ListOffsetsTopic::default().with_name(topic_name("orders")).with_partitions(vec![partition]);
        ListOffsetsRequest::default().with_isolation_level(level).with_topics(vec![topic])
    };
    assert_eq!(client.call(5, &latest(1)).await.topics[0].partitions[0].offset, 1);
    assert_eq!(client.call(5, &latest(0)).await.topics[0].partitions[0].offset, 3);
    broker.append_raw("orders", 0, BatchWriter::marker(8, 0, true).build()).unwrap();
    assert_eq!(read(&mut client).await, (4, 4, 4, vec![(7, 0)]));
    let records = broker.records("orders", 0).unwrap();
    let control: Vec<_> = records.iter().map(|record| record.control).collect();
    assert_eq!(control, [false, false, true, true]);
}

#[tokio::test]
async fn what_compaction_leaves_can_be_laid_down() {
    let broker = orders(1).await;
    assert_eq!(broker.append_raw("orders", 0, BatchWriter::new().last_offset_delta(9).build()).unwrap(), 0);
    assert_eq!(broker.leave_gap("orders", 0, 5).unwrap(), 15);
    let sparse = BatchWriter::new().record_at(2, Some(b"k"), None, vec![]).last_offset_delta(4).build();
    assert_eq!(broker.append_raw("orders", 0, sparse).unwrap(), 15);
    let records = broker.records("orders", 0).unwrap();
    assert_eq!(records.iter().map(|record| record.offset).collect::<Vec<_>>(), [17]);
    assert_eq!(broker.end_offset("orders", 0), Some(20));
    let answer = Client::pipe(&broker).fetch(&fetch("orders", &[(0, 12)])).await;
    assert_eq!(batches(partition(&answer, 0).records.as_ref().unwrap())[0].0, 15, "the gap is stepped over");
}

#[tokio::test]
async fn offsets_are_found_by_time() {
    let broker = orders(1).await;
    for millis in [100, 300, 200] {
        let batch = BatchWriter::new().timestamp(millis).record(None, Some(b"a"), vec![]).timestamp(millis + 50);
        broker.append_raw("orders", 0, batch.record(None, Some(b"b"), vec![]).build()).unwrap();
    }
    let mut client = Client::pipe(&broker);
    for (asked, expected) in [
        (0, (0, 100)),
        (101, (1, 150)),
        (151, (2, 300)),
        (301, (3, 350)),
        (351, (-1, -1)),
        (-1, (6, -1)),
        (-2, (0, -1)),
        (-3, (3, 350)),
    ] {
        let partition = ListOffsetsPartition::default().with_timestamp(asked);
        let topic = ListOffsetsTopic::default().with_name(topic_name("orders")).with_partitions(vec![partition]);
        let answer = client.call(7, &ListOffsetsRequest::default().with_topics(vec![topic])).await;
        let found = &answer.topics[0].partitions[0];
        assert_eq!((found.offset, found.timestamp), expected, "asked for {asked}");
    }
}
