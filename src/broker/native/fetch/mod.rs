//! Reading: one loop per broker over all the partitions that it leads.

use std::sync::Arc;

use tokio::runtime::Handle;
use uuid::Uuid;

use super::cluster::Cluster;
use crate::broker::{Feed, Source};
use crate::record::TopicPartition;

/// The source.
pub(super) struct Fetcher {
    cluster: Arc<Cluster>,
    runtime: Handle,
}

impl Fetcher {
    pub(super) fn new(cluster: Arc<Cluster>, runtime: Handle) -> Self {
        Self { cluster, runtime }
    }
}

impl Source for Fetcher {
    fn add(&self, partition: TopicPartition, topic_id: Option<Uuid>, offset: i64, feed: Arc<Feed>) {
        let _ = (&self.cluster, &self.runtime, partition, topic_id, offset, feed);
    }

    fn remove(&self, partition: &TopicPartition) {
        let _ = partition;
    }
}
