//! Ports without a broker: what is read is given, what is written is kept. For records that no adapter could bring here
//! (duplicate headers, null values of headers), and for problems of reading at a chosen moment.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex};

use bezoar::broker::{
    Admin, BoxFuture, BrokerError, CommittedOffset, Feed, NewTopic, OffsetSpec, OffsetStore, Operations, Ports,
    Produce, Source, TopicMetadata,
};
use bezoar::record::{ProducerRecord, RecordBatch, TopicPartition};
use uuid::Uuid;

/// Everything that the ports share.
#[derive(Default)]
pub(crate) struct Memory {
    /// Read by each partition that is added, from its start.
    pub(crate) batch: Mutex<Option<RecordBatch>>,
    /// What the client may do with topics, by name; those not listed say nothing.
    pub(crate) operations: Mutex<HashMap<String, Operations>>,
    pub(crate) feeds: Mutex<Vec<Arc<Feed>>>,
    pub(crate) produced: Mutex<Vec<ProducerRecord>>,
    pub(crate) committed: Mutex<HashMap<TopicPartition, i64>>,
}

impl Memory {
    pub(crate) fn ports(self: &Arc<Self>) -> Ports {
        Ports {
            admin: Arc::new(Shared(Arc::clone(self))),
            source: Arc::new(Shared(Arc::clone(self))),
            produce: Arc::new(Shared(Arc::clone(self))),
            offsets: Arc::new(Shared(Arc::clone(self))),
            membership: None,
        }
    }

    pub(crate) fn committed(&self, partition: &TopicPartition) -> Option<i64> {
        self.committed.lock().unwrap().get(partition).copied()
    }
}

struct Shared(Arc<Memory>);

fn done<T: Send + 'static>(value: T) -> BoxFuture<Result<T, BrokerError>> {
    Box::pin(ready(Ok(value)))
}

impl Admin for Shared {
    fn topics(&self, names: Vec<String>) -> BoxFuture<Result<Vec<Option<TopicMetadata>>, BrokerError>> {
        let operations = self.0.operations.lock().unwrap();
        let describe = |name: String| {
            let operations = operations.get(&name).copied();
            Some(TopicMetadata { name, id: None, partitions: 1, operations })
        };
        done(names.into_iter().map(describe).collect())
    }

    fn create_topic(&self, _: NewTopic) -> BoxFuture<Result<(), BrokerError>> {
        done(())
    }

    fn delete_topics(&self, _: Vec<String>) -> BoxFuture<Result<(), BrokerError>> {
        done(())
    }

    fn topic_config(&self, _: String, _: String) -> BoxFuture<Result<Option<String>, BrokerError>> {
        done(None)
    }

    fn offset(&self, _: TopicPartition, _: OffsetSpec) -> BoxFuture<Result<i64, BrokerError>> {
        done(0)
    }
}

impl Source for Shared {
    fn add(&self, _: TopicPartition, _: Option<Uuid>, _: i64, feed: Arc<Feed>) {
        if let Some(batch) = &*self.0.batch.lock().unwrap() {
            feed.push(batch.clone());
        }
        self.0.feeds.lock().unwrap().push(feed);
    }

    fn remove(&self, _: &TopicPartition) {}
}

impl Produce for Shared {
    fn produce(&self, _: TopicPartition, records: Vec<ProducerRecord>) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        let mut produced = self.0.produced.lock().unwrap();
        let start = produced.len();
        produced.extend(records);
        done((start..produced.len()).map(|offset| offset as i64).collect())
    }
}

impl OffsetStore for Shared {
    fn fetch(
        &self,
        _: String,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<Result<Vec<Option<CommittedOffset>>, BrokerError>> {
        done(vec![None; partitions.len()])
    }

    fn commit(
        &self,
        _: String,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        let count = offsets.len();
        let mut committed = self.0.committed.lock().unwrap();
        committed.extend(offsets.into_iter().map(|offset| (offset.partition, offset.offset)));
        done(vec![Ok(()); count])
    }

    fn group_exists(&self, _: String) -> BoxFuture<Result<bool, BrokerError>> {
        done(!self.0.committed.lock().unwrap().is_empty())
    }

    fn delete_group(&self, _: String) -> BoxFuture<Result<(), BrokerError>> {
        done(())
    }
}
