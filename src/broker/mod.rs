//! The ports to a broker and the adapters behind them.
//!
//! The ports are narrow traits: [`Admin`] (topics and offsets of the log), [`Source`] (one multiplexed reader that
//! fills partition [`Feed`]s under credit), [`Produce`] (records with acknowledgements) and [`OffsetStore`]
//! (committed offsets of a group, kept in Kafka itself). [`Ports`] bundles one of each. Every call ends: with a
//! result, or with an error after the request timeout of the [`ConnectionSettings`]; producing over the native plane after its
//! delivery timeout ([`ProduceSettings`]).

mod batch;
mod code;
mod description;
mod error;
mod feed;
mod membership;
mod model;
mod outlet;
mod plane;
mod shape;

#[cfg(feature = "embedded")]
pub mod embedded;
pub mod native;
#[cfg(feature = "rskafka")]
pub mod rskafka;
pub mod security;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use batch::Compression;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub use batch::decode_answer;
pub use code::ErrorCode;
pub use description::{
    BrokerNode, ClusterDescription, ConfigChange, ConfigEntry, GroupDescription, GroupMember, ListedGroup,
};
pub use error::BrokerError;
pub use feed::{Feed, SourceProblem};
pub use membership::{
    ConsumerHeartbeat, ConsumerHeartbeatAnswer, JoinAnswer, JoinGroup, JoinedMember, MemberIdentity, Membership,
    SyncGroup,
};
pub use model::{
    CommittedOffset, ConnectionSettings, NewTopic, OffsetSpec, Operations, ProduceSettings, ReadIsolation,
    TopicMetadata,
};
pub use plane::Plane;
use uuid::Uuid;

use crate::record::{ProducerRecord, TopicPartition};

/// A boxed future, as the ports return it (once per batch or rarer, never per record).
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Topics, the offsets of their logs, the cluster and its groups.
///
/// The methods with a body of their own were added later: an adapter without them answers
/// [`BrokerError::Unsupported`].
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

    /// Offsets of partitions' logs, in the order asked for, or the first error. By default each is asked for by itself.
    fn offsets(&self, asked: Vec<(TopicPartition, OffsetSpec)>) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        let each: Vec<_> = asked.into_iter().map(|(partition, spec)| self.offset(partition, spec)).collect();
        Box::pin(async move {
            let mut offsets = Vec::with_capacity(each.len());
            for offset in each {
                offsets.push(offset.await?);
            }
            Ok(offsets)
        })
    }

    /// The names of all topics that this client may see, internal ones (`__consumer_offsets`) included, in order.
    fn list_topics(&self) -> BoxFuture<Result<Vec<String>, BrokerError>> {
        unsupported("listing topics")
    }

    /// Gives a topic more partitions: `total`, those that it has included. Keys move to other partitions by that.
    fn create_partitions(&self, topic: String, total: i32) -> BoxFuture<Result<(), BrokerError>> {
        unsupported(format!("giving topic {topic} {total} partitions"))
    }

    /// All configuration entries of a topic, defaults included, by name.
    fn describe_topic_configs(&self, topic: String) -> BoxFuture<Result<Vec<ConfigEntry>, BrokerError>> {
        unsupported(format!("reading the configuration of topic {topic}"))
    }

    /// Changes configuration entries of a topic; those that are not named stay as they are. Kafka 2.3 and later.
    fn alter_topic_configs(&self, topic: String, changes: Vec<ConfigChange>) -> BoxFuture<Result<(), BrokerError>> {
        unsupported(format!("changing {} configuration entries of topic {topic}", changes.len()))
    }

    /// Deletes the records of a partition below the offset `before` (-1: all that are replicated), and returns the first
    /// offset still in the log.
    fn delete_records(&self, partition: TopicPartition, before: i64) -> BoxFuture<Result<i64, BrokerError>> {
        unsupported(format!("deleting the records of {partition} below {before}"))
    }

    /// The cluster: its id, its brokers, its controller.
    fn describe_cluster(&self) -> BoxFuture<Result<ClusterDescription, BrokerError>> {
        unsupported("describing the cluster")
    }

    /// All groups that this client may see, of all brokers, by id.
    fn list_groups(&self) -> BoxFuture<Result<Vec<ListedGroup>, BrokerError>> {
        unsupported("listing groups")
    }

    /// A group and its members; one that does not exist is [`ErrorCode::GROUP_ID_NOT_FOUND`].
    fn describe_group(&self, group: String) -> BoxFuture<Result<GroupDescription, BrokerError>> {
        unsupported(format!("describing group {group}"))
    }
}

fn unsupported<T>(doing: impl Into<String>) -> BoxFuture<Result<T, BrokerError>> {
    let remedy = "this adapter cannot do it; use the native one (broker::native)".to_owned();
    let error = BrokerError::Unsupported { doing: doing.into(), remedy };
    Box::pin(async move { Err(error) })
}

/// One multiplexed reader: partitions are added and removed, and it fills their feeds under credit, in offset order,
/// leaving nothing out. It keeps reading through failures of the broker, and says so through [`Feed::report`].
pub trait Source: Send + Sync + 'static {
    /// Starts to read `partition` at `offset` into `feed`. `topic_id` is the topic's id at that time: the source
    /// reports [`SourceProblem::TopicRecreated`] when it changes.
    fn add(&self, partition: TopicPartition, topic_id: Option<Uuid>, offset: i64, feed: Arc<Feed>);

    /// Like [`add`](Self::add), with the leader epoch of the last record below `offset`, as it was committed: where the log
    /// was cut back since, the source reports [`SourceProblem::LogTruncated`]. By default the epoch is not looked at.
    fn add_at(
        &self,
        partition: TopicPartition,
        topic_id: Option<Uuid>,
        offset: i64,
        _leader_epoch: Option<i32>,
        feed: Arc<Feed>,
    ) {
        self.add(partition, topic_id, offset, feed);
    }

    /// Stops reading `partition`; its feed gets nothing more.
    fn remove(&self, partition: &TopicPartition);

    /// Another reader over the same connections, for somebody who reads what others may be reading too. By default there is none.
    fn fork(&self) -> Option<Arc<dyn Source>> {
        None
    }
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

    /// Why records for `partition` are not acknowledged yet: the failure of the last attempt, while it is being tried again.
    /// `None` where nothing has failed, or the adapter does not tell.
    fn trouble(&self, _partition: &TopicPartition) -> Option<BrokerError> {
        None
    }
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

    /// Commits offsets as a member of the group: refused once the group has gone on without it
    /// ([`ErrorCode::is_fenced`]). By default [`BrokerError::Unsupported`].
    fn commit_as(
        &self,
        group: String,
        _member: MemberIdentity,
        _offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        unsupported(format!("committing offsets as a member of group {group}"))
    }

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
    /// Membership in groups; without it partitions can be assigned by hand only.
    pub membership: Option<Arc<dyn Membership>>,
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ports")
    }
}
