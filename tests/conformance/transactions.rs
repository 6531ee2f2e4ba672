//! Logs that transactional producers write. On a real broker the transactions are real; the embedded one, which has
//! none, gets the batches and markers that they leave.

use std::time::Duration;

use bezoar::embedded::BatchWriter;
use kafka_protocol::messages::add_partitions_to_txn_request::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic};
use kafka_protocol::messages::{
    EndTxnRequest, FindCoordinatorRequest, InitProducerIdRequest, ProducerId, TransactionalId,
};

use crate::fixture::{Fixture, Reading, partition, records, unique};
use crate::wire;

/// A producer of one transaction on a topic with one partition.
struct Transaction<'a> {
    fixture: &'a Fixture,
    topic: &'a str,
    id: String,
    producer: (ProducerId, i16),
    sequence: i32,
}

impl<'a> Transaction<'a> {
    async fn begin(fixture: &'a Fixture, topic: &'a str) -> Self {
        let id = unique("transaction");
        let producer = if fixture.embedded.is_some() { (ProducerId(7), 0) } else { init(fixture, &id).await };
        Self { fixture, topic, id, producer, sequence: 0 }
    }

    async fn write(&mut self, value: &str) {
        let (id, epoch) = self.producer;
        let batch = BatchWriter::new()
            .timestamp(1_700_000_000_000)
            .record(None, Some(value.as_bytes()), vec![])
            .producer(id.0, epoch, self.sequence)
            .transactional()
            .build();
        self.sequence += 1;
        if let Some(broker) = &self.fixture.embedded {
            broker.append_raw(self.topic, 0, batch).unwrap();
            return;
        }
        let topic = AddPartitionsToTxnTopic::default().with_name(wire::name(self.topic)).with_partitions(vec![0]);
        wire::retried(async || {
            let add = AddPartitionsToTxnRequest::default()
                .with_v3_and_below_transactional_id(TransactionalId(wire::text(&self.id)))
                .with_v3_and_below_producer_id(id)
                .with_v3_and_below_producer_epoch(epoch)
                .with_v3_and_below_topics(vec![topic.clone()]);
            let answer = wire::call(&self.fixture.address, add, 1).await;
            (answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code, ())
        })
        .await;
        wire::produce(&self.fixture.address, self.topic, Some(&self.id), batch).await;
    }

    async fn commit(self) {
        let (id, epoch) = self.producer;
        if let Some(broker) = &self.fixture.embedded {
            broker.append_raw(self.topic, 0, BatchWriter::marker(id.0, epoch, true).build()).unwrap();
            return;
        }
        wire::retried(async || {
            let end = EndTxnRequest::default()
                .with_transactional_id(TransactionalId(wire::text(&self.id)))
                .with_producer_id(id)
                .with_producer_epoch(epoch)
                .with_committed(true);
            (wire::call(&self.fixture.address, end, 1).await.error_code, ())
        })
        .await;
    }
}

async fn init(fixture: &Fixture, id: &str) -> (ProducerId, i16) {
    // The first question makes the broker create its own topic for transactions, which takes a while.
    wire::retried(async || {
        let find = FindCoordinatorRequest::default().with_key(wire::text(id)).with_key_type(1);
        let found = wire::call(&fixture.address, find, 2).await;
        if found.error_code != 0 {
            return (found.error_code, (ProducerId(0), 0));
        }
        let init = InitProducerIdRequest::default()
            .with_transactional_id(Some(TransactionalId(wire::text(id))))
            .with_transaction_timeout_ms(60_000);
        let answer = wire::call(&fixture.address, init, 1).await;
        (answer.error_code, (answer.producer_id, answer.producer_epoch))
    })
    .await
}

fn assert_nothing_stopped(reading: &Reading) {
    let problems = reading.problems();
    assert!(problems.is_empty(), "{problems:?}");
}

pub(crate) async fn committed_records_are_read_past_the_markers(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..3)).await;
    for value in 3..6 {
        let mut transaction = Transaction::begin(fixture, &topic).await;
        transaction.write("within").await;
        transaction.commit().await;
        fixture.produce(&partition, records(value..value + 1)).await;
    }
    let reading = fixture.read(&partition, 0).await;
    let values = reading.values(9).await;
    assert_eq!(values, ["0", "1", "2", "within", "3", "within", "4", "within", "5"]);
    assert_nothing_stopped(&reading);
}

pub(crate) async fn a_marker_at_the_end_is_passed_and_told(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let mut transaction = Transaction::begin(fixture, &topic).await;
    transaction.write("within").await;
    transaction.commit().await;
    let reading = fixture.read(&partition, 0).await;
    // The watermark is to reach the end of the log, as an operator expects of a consumer without lag.
    let records = reading.records_until(2).await;
    assert_eq!(records.into_iter().map(|record| record.value.unwrap()).collect::<Vec<_>>(), [b"within"]);
    assert_nothing_stopped(&reading);
}

pub(crate) async fn an_open_transaction_is_waited_for_and_not_skipped(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let mut transaction = Transaction::begin(fixture, &topic).await;
    transaction.write("within").await;
    fixture.produce(&partition, records(0..2)).await;
    let reading = fixture.read(&partition, 0).await;
    // Fetches come back empty below the high watermark, which is what a gap looks like.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(reading.feed.front().is_none());
    transaction.commit().await;
    assert_eq!(reading.values(3).await, ["within", "0", "1"]);
    fixture.produce(&partition, records(2..3)).await;
    assert_eq!(reading.values(1).await, ["2"], "past the marker");
    assert_nothing_stopped(&reading);
}
