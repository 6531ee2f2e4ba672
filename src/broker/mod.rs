//! The ports to a broker and the adapters behind them.
//!
//! The ports are narrow traits: [`Admin`] (topics and offsets of the log), [`Source`] (one multiplexed reader that
//! fills partition [`Feed`]s under credit), [`Produce`] (records with acknowledgements) and [`OffsetStore`]
//! (committed offsets of a group, kept in Kafka itself). [`Ports`] bundles one of each. Every call ends: with a
//! result, or with an error after the request timeout of the [`ConnectionSettings`].

mod batch;
mod error;
mod feed;
mod model;

#[cfg(feature = "embedded")]
pub mod embedded;
pub mod native;
#[cfg(feature = "rskafka")]
pub mod rskafka;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use batch::Compression;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub use batch::decode_answer;
pub use error::{BrokerError, ErrorCode};
pub use feed::{Feed, SourceProblem};
pub use model::{CommittedOffset, ConnectionSettings, NewTopic, OffsetSpec, Operations, ReadIsolation, TopicMetadata};
use uuid::Uuid;

use crate::record::{ProducerRecord, TopicPartition};

/// A boxed future, as the ports return it (once per batch or rarer, never per record).
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Topics, and the offsets of their logs.
pub trait Admin: Send + Sync + 'static {
    /// Metadata of the named topics, in the order asked for; `None` for a topic that does not exist. Never creates one.
    fn topics(&self, names: Vec<String>) -> BoxFuture<Result<Vec<Option<TopicMetadata>>, BrokerError>>;

    /// Creates a topic. One that exists already is [`ErrorCode::TOPIC_ALREADY_EXISTS`].
    fn create_topic(&self, topic: NewTopic) -> BoxFuture<Result<(), BrokerError>>;

    /// Deletes topics; those that do not exist are [`ErrorCode::UNKNOWN_TOPIC_OR_PARTITION`].
    fn delete_topics(&self, names: Vec<String>) -> BoxFuture<Result<(), BrokerError>>;

    /// The value of one configuration entry of a topic; `None` where the broker does not know the entry.
    fn topic_config(&self, topic: String, entry: String) -> BoxFuture<Result<Option<String>, BrokerError>>;

    /// An offset of a partition's log.
    fn offset(&self, partition: TopicPartition, spec: OffsetSpec) -> BoxFuture<Result<i64, BrokerError>>;
}

/// One multiplexed reader: partitions are added and removed, and it fills their feeds under credit, in offset order,
/// leaving nothing out. It keeps reading through failures of the broker, and says so through [`Feed::report`].
pub trait Source: Send + Sync + 'static {
    /// Starts to read `partition` at `offset` into `feed`. `topic_id` is the topic's id at that time: the source
    /// reports [`SourceProblem::TopicRecreated`] when it changes.
    fn add(&self, partition: TopicPartition, topic_id: Option<Uuid>, offset: i64, feed: Arc<Feed>);

    /// Stops reading `partition`; its feed gets nothing more.
    fn remove(&self, partition: &TopicPartition);
}

/// Producing with acknowledgements of all in-sync replicas.
pub trait Produce: Send + Sync + 'static {
    /// Appends `records` to one partition in their order, all or nothing, and returns their offsets. The topic and
    /// partition within the records are not looked at.
    fn produce(
        &self,
        partition: TopicPartition,
        records: Vec<ProducerRecord>,
    ) -> BoxFuture<Result<Vec<i64>, BrokerError>>;
}

/// Committed offsets of consumer groups, kept in Kafka.
pub trait OffsetStore: Send + Sync + 'static {
    /// The committed offsets of `group` for `partitions`, in their order; `None` where there is none.
    fn fetch(
        &self,
        group: String,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<Result<Vec<Option<CommittedOffset>>, BrokerError>>;

    /// Commits offsets; the result of each, in their order.
    fn commit(
        &self,
        group: String,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>>;

    /// Whether a group exists: with members, or with committed offsets of any topic.
    fn group_exists(&self, group: String) -> BoxFuture<Result<bool, BrokerError>>;

    /// Deletes a group; one that does not exist is [`ErrorCode::GROUP_ID_NOT_FOUND`].
    fn delete_group(&self, group: String) -> BoxFuture<Result<(), BrokerError>>;
}

/// One of each port, of one adapter.
#[derive(Clone)]
pub struct Ports {
    /// Topics and log offsets.
    pub admin: Arc<dyn Admin>,
    /// The reader.
    pub source: Arc<dyn Source>,
    /// The producer.
    pub produce: Arc<dyn Produce>,
    /// Committed offsets.
    pub offsets: Arc<dyn OffsetStore>,
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ports")
    }
}
