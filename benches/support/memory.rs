#[path = "membership.rs"]
mod membership;

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex};

use bezoar::broker::{
    Admin, BoxFuture, BrokerError, CommittedOffset, Feed, MemberIdentity, NewTopic, OffsetSpec, OffsetStore, Ports,
    Produce, Source, TopicMetadata,
};
use bezoar::record::{ProducerRecord, TopicPartition};
use tokio::sync::watch;
use uuid::Uuid;

/// Ports without a broker: every topic exists, every produced record and every commit is acknowledged at once, and what
/// is read is what the bench pushes into the feeds.
pub struct Memory {
    partitions: i32,
    feeds: Mutex<HashMap<TopicPartition, Arc<Feed>>>,
    committed: Mutex<HashMap<TopicPartition, CommittedOffset>>,
    produced: watch::Sender<usize>,
}

impl Memory {
    /// Topics have `partitions` partitions.
    pub fn new(partitions: i32) -> Arc<Self> {
        Arc::new(Self {
            partitions,
            feeds: Mutex::default(),
            committed: Mutex::default(),
            produced: watch::Sender::new(0),
        })
    }

    pub fn ports(self: &Arc<Self>) -> Ports {
        Ports {
            admin: self.clone(),
            source: self.clone(),
            produce: self.clone(),
            offsets: self.clone(),
            membership: Some(Arc::new(membership::Alone { partitions: self.partitions })),
        }
    }

    /// The feed of a partition that the consumer reads.
    pub fn feed(&self, partition: &TopicPartition) -> Option<Arc<Feed>> {
        self.feeds.lock().unwrap().get(partition).cloned()
    }

    /// The committed offset of a partition.
    pub fn committed(&self, partition: &TopicPartition) -> Option<i64> {
        self.committed.lock().unwrap().get(partition).map(|committed| committed.offset)
    }

    /// How many records were produced.
    pub fn produced(&self) -> watch::Receiver<usize> {
        self.produced.subscribe()
    }
}

fn done<T: Send + 'static>(value: T) -> BoxFuture<Result<T, BrokerError>> {
    Box::pin(ready(Ok(value)))
}

impl Admin for Memory {
    fn topics(&self, names: Vec<String>) -> BoxFuture<Result<Vec<Option<TopicMetadata>>, BrokerError>> {
        let partitions = self.partitions;
        done(
            names
                .into_iter()
                .map(|name| Some(TopicMetadata { name, id: Some(membership::TOPIC_ID), partitions, operations: None }))
                .collect(),
        )
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

impl Source for Memory {
    fn add(&self, partition: TopicPartition, _: Option<Uuid>, _: i64, feed: Arc<Feed>) {
        self.feeds.lock().unwrap().insert(partition, feed);
    }

    fn remove(&self, partition: &TopicPartition) {
        self.feeds.lock().unwrap().remove(partition);
    }
}

impl Produce for Memory {
    fn produce(&self, _: TopicPartition, records: Vec<ProducerRecord>) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        let mut first = 0;
        self.produced.send_modify(|count| {
            first = *count as i64;
            *count += records.len();
        });
        done((first..first + records.len() as i64).collect())
    }
}

impl OffsetStore for Memory {
    fn fetch(
        &self,
        _: String,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<Result<Vec<Option<CommittedOffset>>, BrokerError>> {
        let committed = self.committed.lock().unwrap();
        done(partitions.iter().map(|partition| committed.get(partition).cloned()).collect())
    }

    fn commit(
        &self,
        _: String,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        let results = offsets.iter().map(|_| Ok(())).collect();
        let offsets = offsets.into_iter().map(|committed| (committed.partition.clone(), committed));
        self.committed.lock().unwrap().extend(offsets);
        done(results)
    }

    fn commit_as(
        &self,
        group: String,
        _: MemberIdentity,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        self.commit(group, offsets)
    }

    fn group_exists(&self, _: String) -> BoxFuture<Result<bool, BrokerError>> {
        Box::pin(ready(Ok(false)))
    }

    fn delete_group(&self, _: String) -> BoxFuture<Result<(), BrokerError>> {
        done(())
    }
}
