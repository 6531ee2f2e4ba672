//! Transactions: who may write, when records become readable, and what ends them.

use std::time::Duration;

use bezoar::embedded::{BatchWriter, Broker};
use bytes::Bytes;
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, FindCoordinatorRequest, GroupId,
    InitProducerIdRequest, OffsetFetchRequest, ProducerId, TransactionalId, TxnOffsetCommitRequest,
};
use tokio::io::DuplexStream;

use crate::client::{Client, fetch, produce, text, topic_name};

fn payments() -> TransactionalId {
    TransactionalId(text("payments"))
}

/// A transactional producer that does what it is told to.
struct Producer {
    client: Client<DuplexStream>,
    id: i64,
    epoch: i16,
}

impl Producer {
    async fn start(broker: &Broker) -> Self {
        let mut client = Client::pipe(broker);
        let answer = client.call(4, &init(60_000)).await;
        assert_eq!(answer.error_code, 0);
        Self { client, id: answer.producer_id.0, epoch: answer.producer_epoch }
    }

    async fn add(&mut self, version: i16, topic: &str, partitions: &[i32]) -> Vec<i16> {
        let topic =
            AddPartitionsToTxnTopic::default().with_name(topic_name(topic)).with_partitions(partitions.to_vec());
        let request = AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(payments())
            .with_v3_and_below_producer_id(ProducerId(self.id))
            .with_v3_and_below_producer_epoch(self.epoch)
            .with_v3_and_below_topics(vec![topic]);
        let answer = self.client.call(version, &request).await;
        let all = answer.results_by_topic_v3_and_below[0].results_by_partition.iter();
        all.map(|one| one.partition_error_code).collect()
    }

    async fn send(&mut self, partition: i32, sequence: i32) -> i16 {
        let batch = self.batch(sequence);
        let request = produce(-1, "orders", partition, batch).with_transactional_id(Some(payments()));
        self.client.call(9, &request).await.responses[0].partition_responses[0].error_code
    }

    fn batch(&self, sequence: i32) -> Bytes {
        let batch = BatchWriter::new().record(Some(b"k"), Some(b"v"), vec![]).transactional();
        batch.producer(self.id, self.epoch, sequence).build()
    }

    async fn end(&mut self, version: i16, committed: bool) -> i16 {
        let request = EndTxnRequest::default()
            .with_transactional_id(payments())
            .with_producer_id(ProducerId(self.id))
            .with_producer_epoch(self.epoch)
            .with_committed(committed);
        self.client.call(version, &request).await.error_code
    }
}

fn init(timeout: i32) -> InitProducerIdRequest {
    InitProducerIdRequest::default().with_transactional_id(Some(payments())).with_transaction_timeout_ms(timeout)
}

async fn orders() -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    broker
}

/// The last stable offset of a partition, and the first offsets of the aborted transactions in it.
async fn committed(broker: &Broker, partition: i32) -> (i64, Vec<i64>) {
    let request = fetch("orders", &[(partition, 0)]).with_isolation_level(1);
    let answer = Client::pipe(broker).fetch(&request).await;
    let data = &answer.responses[0].partitions[0];
    let aborted = data.aborted_transactions.iter().flatten();
    (data.last_stable_offset, aborted.map(|one| one.first_offset).collect())
}

#[tokio::test]
async fn a_committed_transaction_becomes_readable_in_all_its_partitions() {
    let broker = orders().await;
    let mut producer = Producer::start(&broker).await;
    assert_eq!(producer.add(3, "orders", &[0, 1]).await, [0, 0]);
    for partition in 0..2 {
        assert_eq!(producer.send(partition, 0).await, 0);
        assert_eq!(committed(&broker, partition).await, (0, vec![]));
    }
    assert_eq!(producer.end(3, true).await, 0);
    for partition in 0..2 {
        assert_eq!(committed(&broker, partition).await, (2, vec![]));
        let records = broker.records("orders", partition).unwrap();
        assert_eq!(records.iter().map(|one| one.control).collect::<Vec<_>>(), [false, true]);
        assert_eq!(&records[1].key.as_ref().unwrap()[..], [0, 0, 0, 1]);
    }
    assert_eq!(producer.end(3, true).await, 0, "the same again");
    assert_eq!(producer.end(3, false).await, 48, "INVALID_TXN_STATE");
}

#[tokio::test]
async fn an_aborted_transaction_is_listed_and_the_next_one_goes_on() {
    let broker = orders().await;
    let mut producer = Producer::start(&broker).await;
    producer.add(0, "orders", &[0]).await;
    producer.send(0, 0).await;
    assert_eq!(producer.end(0, false).await, 0);
    assert_eq!(committed(&broker, 0).await, (2, vec![0]));
    assert_eq!(producer.send(0, 1).await, 48, "the partition is not in any transaction now");
    producer.add(2, "orders", &[0]).await;
    assert_eq!(producer.send(0, 1).await, 0, "sequence numbers go on");
    assert_eq!(producer.end(1, true).await, 0);
    assert_eq!(committed(&broker, 0).await, (4, vec![0]));
}

#[tokio::test]
async fn who_starts_anew_fences_the_old_producer_and_aborts_what_it_left() {
    let broker = orders().await;
    let mut old = Producer::start(&broker).await;
    old.add(3, "orders", &[0]).await;
    old.send(0, 0).await;
    let mut new = Producer::start(&broker).await;
    assert!(new.id == old.id && new.epoch > old.epoch);
    assert_eq!(committed(&broker, 0).await, (2, vec![0]));
    assert_eq!(old.send(0, 1).await, 47, "INVALID_PRODUCER_EPOCH");
    assert_eq!(old.add(3, "orders", &[0]).await, [90], "PRODUCER_FENCED");
    assert_eq!(old.add(1, "orders", &[0]).await, [47], "as older versions know it");
    assert_eq!((old.end(3, true).await, old.end(1, true).await), (90, 47));
    assert_eq!(new.add(3, "orders", &[0]).await, [0]);
    assert_eq!(new.send(0, 0).await, 0);
    assert_eq!(new.end(3, true).await, 0);
    let stale = init(60_000).with_producer_id(ProducerId(old.id)).with_producer_epoch(old.epoch);
    assert_eq!((new.client.call(4, &stale).await.error_code, new.client.call(3, &stale).await.error_code), (90, 47));
    let known = init(60_000).with_producer_id(ProducerId(new.id)).with_producer_epoch(new.epoch);
    assert_eq!(new.client.call(4, &known).await.producer_epoch, new.epoch + 1);
}

#[tokio::test]
async fn what_does_not_belong_to_a_transaction_is_refused() {
    let broker = orders().await;
    let mut producer = Producer::start(&broker).await;
    assert_eq!(producer.end(3, true).await, 48, "there is nothing to end");
    assert_eq!(producer.send(0, 0).await, 48, "nothing was added");
    assert_eq!(producer.add(3, "orders", &[0, 7]).await, [55, 3], "all or none");
    assert_eq!(producer.add(3, "orders", &[0]).await, [0]);
    assert_eq!(producer.send(1, 0).await, 48, "another partition was added");
    let without_id = producer.batch(0);
    assert_eq!(producer.client.produce("orders", 0, without_id).await.error_code, 53);
    producer.id += 1;
    assert_eq!(producer.send(0, 0).await, 49, "INVALID_PRODUCER_ID_MAPPING");
    assert_eq!((producer.add(3, "orders", &[0]).await, producer.end(3, true).await), (vec![49], 49));
    for (timeout, code) in [(0, 50), (900_001, 50), (900_000, 0)] {
        assert_eq!(producer.client.call(4, &init(timeout)).await.error_code, code, "a timeout of {timeout} ms");
    }
    let nameless = init(1_000).with_transactional_id(Some(TransactionalId(text(""))));
    assert_eq!(producer.client.call(4, &nameless).await.error_code, 42);
    for partition in 0..2 {
        assert!(broker.records("orders", partition).unwrap().iter().all(|record| record.control));
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_is_open_for_too_long_is_aborted() {
    let broker = orders().await;
    let mut producer = Producer::start(&broker).await;
    producer.add(3, "orders", &[0]).await;
    producer.send(0, 0).await;
    let waiting = fetch("orders", &[(0, 0)]).with_isolation_level(1).with_max_wait_ms(300_000);
    let mut reader = Client::pipe(&broker);
    let started = tokio::time::Instant::now();
    let answer = reader.fetch(&waiting).await;
    let waited = started.elapsed();
    assert!((Duration::from_secs(59)..Duration::from_secs(62)).contains(&waited), "{waited:?}");
    assert_eq!(answer.responses[0].partitions[0].last_stable_offset, 2);
    assert_eq!(committed(&broker, 0).await, (2, vec![0]));
    assert_eq!((producer.send(0, 1).await, producer.end(3, true).await), (47, 90));
}

#[tokio::test]
async fn a_hanging_transaction_holds_readers_until_it_is_ended_by_hand() {
    let broker = orders().await;
    let producer_id = broker.hang_transaction("orders", 0).unwrap();
    let batch = BatchWriter::new().record(None, Some(b"v"), vec![]).build();
    broker.append_raw("orders", 0, batch).unwrap();
    assert_eq!(committed(&broker, 0).await, (0, vec![]));
    assert_eq!(broker.end_hanging_transaction("orders", 0, producer_id, false).unwrap(), 2);
    assert_eq!(committed(&broker, 0).await, (3, vec![0]));
    assert!(broker.hang_transaction("nowhere", 0).is_err());
}

#[tokio::test]
async fn a_truncated_log_opens_the_transactions_whose_markers_it_loses() {
    let broker = orders().await;
    let mut producer = Producer::start(&broker).await;
    producer.add(3, "orders", &[0]).await;
    producer.send(0, 0).await;
    producer.end(3, false).await;
    assert_eq!(committed(&broker, 0).await, (2, vec![0]));
    broker.truncate("orders", 0, 1).unwrap();
    assert_eq!(committed(&broker, 0).await, (0, vec![]));
}

async fn offset(client: &mut Client<DuplexStream>, stable: bool) -> (i16, i64) {
    let topic = OffsetFetchRequestTopics::default().with_name(topic_name("orders")).with_partition_indexes(vec![0]);
    let group = OffsetFetchRequestGroup::default().with_group_id(GroupId(text("g"))).with_topics(Some(vec![topic]));
    let request = OffsetFetchRequest::default().with_groups(vec![group]).with_require_stable(stable);
    let answer = client.call(8, &request).await;
    let partition = &answer.groups[0].topics[0].partitions[0];
    (partition.error_code, partition.committed_offset)
}

#[tokio::test]
async fn offsets_are_committed_with_their_transaction() {
    let broker = orders().await;
    let mut producer = Producer::start(&broker).await;
    let add = |producer: &Producer| {
        AddOffsetsToTxnRequest::default()
            .with_transactional_id(payments())
            .with_producer_id(ProducerId(producer.id))
            .with_producer_epoch(producer.epoch)
            .with_group_id(GroupId(text("g")))
    };
    let commit = |producer: &Producer, partition, offset, generation| {
        let partition =
            TxnOffsetCommitRequestPartition::default().with_partition_index(partition).with_committed_offset(offset);
        let topic = TxnOffsetCommitRequestTopic::default().with_name(topic_name("orders"));
        TxnOffsetCommitRequest::default()
            .with_transactional_id(payments())
            .with_group_id(GroupId(text("g")))
            .with_producer_id(ProducerId(producer.id))
            .with_producer_epoch(producer.epoch)
            .with_generation_id(generation)
            .with_topics(vec![topic.with_partitions(vec![partition])])
    };
    let code = async |producer: &mut Producer, partition, offset, generation| {
        let request = commit(producer, partition, offset, generation);
        producer.client.call(3, &request).await.topics[0].partitions[0].error_code
    };
    assert_eq!(code(&mut producer, 0, 5, -1).await, 48, "no transaction is open");
    for (committed, expected) in [(false, (0, -1)), (true, (0, 5))] {
        let request = add(&producer);
        assert_eq!(producer.client.call(3, &request).await.error_code, 0);
        assert_eq!(code(&mut producer, 7, 5, -1).await, 3, "no such partition");
        assert_eq!(code(&mut producer, 0, 5, 3).await, 22, "no such generation");
        assert_eq!(code(&mut producer, 0, 5, -1).await, 0);
        assert_eq!(offset(&mut producer.client, true).await, (88, -1), "UNSTABLE_OFFSET_COMMIT");
        assert_eq!(offset(&mut producer.client, false).await, (0, -1));
        assert_eq!(producer.end(3, committed).await, 0);
        assert_eq!(offset(&mut producer.client, true).await, expected);
    }
    assert_eq!(broker.committed("g", "orders", 0), Some(5));
}

#[tokio::test]
async fn the_broker_coordinates_transactions() {
    let broker = orders().await;
    let request = FindCoordinatorRequest::default().with_key_type(1).with_coordinator_keys(vec![text("payments")]);
    let answer = Client::pipe(&broker).call(4, &request).await;
    assert_eq!((answer.coordinators[0].error_code, answer.coordinators[0].node_id.0), (0, 1));
    let request = request.with_key_type(2);
    assert_eq!(Client::pipe(&broker).call(6, &request).await.coordinators[0].error_code, 42);
}
