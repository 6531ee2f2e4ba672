//! A producer of transactions, for which no adapter has an API yet, over the protocol's own requests.

use std::time::Duration;

use bezoar::embedded::BatchWriter;
use bezoar::record::Header;
use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::add_partitions_to_txn_request::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic};
use kafka_protocol::messages::{
    EndTxnRequest, FindCoordinatorRequest, InitProducerIdRequest, ProducerId, TransactionalId,
};

use crate::fixture::{Fixture, unique};
use crate::wire;

/// Writes to a topic with one partition, in one transaction after another.
pub(crate) struct Transactional<'a> {
    fixture: &'a Fixture,
    topic: &'a str,
    name: String,
    id: ProducerId,
    epoch: i16,
    sequence: i32,
}

impl<'a> Transactional<'a> {
    /// The key of all that is written.
    pub(crate) const KEY: &'static str = "transactional";

    pub(crate) async fn start(fixture: &'a Fixture, topic: &'a str) -> Self {
        Self::start_as(fixture, topic, unique("transactional")).await
    }

    /// The next producer of the same name: the one before is fenced, and its open transaction aborted.
    pub(crate) async fn successor(&self) -> Self {
        Self::start_as(self.fixture, self.topic, self.name.clone()).await
    }

    async fn start_as(fixture: &'a Fixture, topic: &'a str, name: String) -> Self {
        // The first question makes the broker create its own topic for transactions, which takes a while.
        let (id, epoch) = wire::retried(async || {
            let find = FindCoordinatorRequest::default().with_key(wire::text(&name)).with_key_type(1);
            let found = wire::call(&fixture.address, find, 2).await;
            if found.error_code != 0 {
                return (found.error_code, (ProducerId(0), 0));
            }
            let init = InitProducerIdRequest::default()
                .with_transactional_id(Some(TransactionalId(wire::text(&name))))
                .with_transaction_timeout_ms(600_000);
            let answer = wire::call(&fixture.address, init, 1).await;
            (answer.error_code, (answer.producer_id, answer.producer_epoch))
        })
        .await;
        Self { fixture, topic, name, id, epoch, sequence: 0 }
    }

    /// Writes a batch, and begins a transaction for it where none is open.
    pub(crate) async fn write(&mut self, values: &[&str]) {
        wire::retried(async || (self.add().await, ())).await;
        wire::retried(async || (self.send(values).await, ())).await;
        self.sequence += values.len() as i32;
    }

    /// What the broker says when a batch is to be added to the transaction, once it says something that lasts.
    pub(crate) async fn refusal(&self, values: &[&str]) -> Option<ResponseError> {
        for _ in 0..600 {
            let code = match self.add().await {
                0 => self.send(values).await,
                refused => refused,
            };
            match ResponseError::try_from_code(code) {
                Some(ResponseError::ConcurrentTransactions) => tokio::time::sleep(Duration::from_millis(100)).await,
                lasting => return lasting,
            }
        }
        panic!("the broker does not finish the transaction before");
    }

    pub(crate) async fn commit(&self) {
        wire::retried(async || (self.end(true).await, ())).await;
    }

    pub(crate) async fn abort(&self) {
        wire::retried(async || (self.end(false).await, ())).await;
    }

    async fn add(&self) -> i16 {
        let topic = AddPartitionsToTxnTopic::default().with_name(wire::name(self.topic)).with_partitions(vec![0]);
        let add = AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(TransactionalId(wire::text(&self.name)))
            .with_v3_and_below_producer_id(self.id)
            .with_v3_and_below_producer_epoch(self.epoch)
            .with_v3_and_below_topics(vec![topic]);
        let answer = wire::call(&self.fixture.address, add, 1).await;
        answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
    }

    async fn send(&self, values: &[&str]) -> i16 {
        wire::try_produce(&self.fixture.address, self.topic, Some(&self.name), self.batch(values)).await.0
    }

    fn batch(&self, values: &[&str]) -> Bytes {
        let empty = BatchWriter::new().timestamp(1_700_000_000_000);
        let records = values.iter().fold(empty, |batch, value| {
            batch.record(
                Some(Self::KEY.as_bytes()),
                Some(value.as_bytes()),
                vec![Header::new("producer", self.name.clone())],
            )
        });
        records.producer(self.id.0, self.epoch, self.sequence).transactional().build()
    }

    async fn end(&self, committed: bool) -> i16 {
        let end = EndTxnRequest::default()
            .with_transactional_id(TransactionalId(wire::text(&self.name)))
            .with_producer_id(self.id)
            .with_producer_epoch(self.epoch)
            .with_committed(committed);
        wire::call(&self.fixture.address, end, 1).await.error_code
    }
}
