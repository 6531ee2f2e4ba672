use std::time::Duration;

use uuid::Uuid;

use super::batch::Compression;
use super::security::Security;
use crate::record::TopicPartition;

/// What the cluster says of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicMetadata {
    /// The topic's name.
    pub name: String,
    /// Its id; `None` where the broker has none (before Kafka 2.8).
    pub id: Option<Uuid>,
    /// How many partitions it has.
    pub partitions: i32,
    /// What this client may do with it; `None` where the broker does not tell (before Kafka 2.3).
    pub operations: Option<Operations>,
}

/// The operations on a topic that a client is authorized for, as the broker tells them: bit n stands for the operation of
/// code n (`org.apache.kafka.common.acl.AclOperation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operations(pub i32);

impl Operations {
    /// Whether records may be fetched and offsets committed.
    pub fn may_read(self) -> bool {
        self.0 & (1 << 3) != 0
    }

    /// Whether records may be produced.
    pub fn may_write(self) -> bool {
        self.0 & (1 << 4) != 0
    }
}

/// A topic to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    /// The topic's name.
    pub name: String,
    /// How many partitions; -1 is the broker's default.
    pub partitions: i32,
    /// The replication factor; -1 is the broker's default.
    pub replication: i16,
    /// Topic configuration, e.g. `("cleanup.policy", "delete")`.
    pub configs: Vec<(String, String)>,
}

impl NewTopic {
    /// A topic with `partitions` partitions, the broker's default replication and no configuration of its own.
    pub fn new(name: impl Into<String>, partitions: i32) -> Self {
        Self { name: name.into(), partitions, replication: -1, configs: Vec::new() }
    }

    /// Sets the replication factor.
    pub fn replication(mut self, factor: i16) -> Self {
        self.replication = factor;
        self
    }

    /// Adds a configuration entry.
    pub fn config(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.configs.push((name.into(), value.into()));
        self
    }
}

/// Which offset of a partition is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first offset still in the log.
    Earliest,
    /// The offset that the next record will get.
    Latest,
    /// The first offset whose record has this timestamp (milliseconds since the Unix epoch) or a later one; the end
    /// of the log where there is none.
    Timestamp(i64),
    /// The offset of the record with the latest timestamp; the end of the log where there is none. Kafka 3.0 and later.
    MaxTimestamp,
}

/// A committed offset, to be written or as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset of the next record to process.
    pub offset: i64,
    /// The metadata text kept beside it.
    pub metadata: String,
    /// The leader epoch of the last record below it, where known (KIP-320).
    pub leader_epoch: Option<i32>,
}

impl CommittedOffset {
    /// An offset without metadata.
    pub fn new(partition: TopicPartition, offset: i64) -> Self {
        Self { partition, offset, metadata: String::new(), leader_epoch: None }
    }
}

/// Which records a reader gets while transactions are open or aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadIsolation {
    /// None of an aborted transaction, and none past the first one that is still open.
    #[default]
    ReadCommitted,
    /// All.
    ReadUncommitted,
}

/// How the connections to the brokers behave; every limit has a default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// Addresses (`host:port`) of brokers to start from.
    pub bootstrap: Vec<String>,
    /// The client id sent with each request. Default `bezoar`.
    pub client_id: String,
    /// How connections are encrypted and who this client says it is. Default: neither encryption nor a name.
    pub security: Security,
    /// How long to wait for a connection. Default 10 s.
    pub connect_timeout: Duration,
    /// How long to wait for an answer. Default 30 s.
    pub request_timeout: Duration,
    /// How long to wait for the answer to a heartbeat of a group, which coordinators give at once. A connection over which none
    /// comes is closed, so that the next heartbeat goes over another. Default 10 s; a consumer sets it to a third of its lease.
    pub heartbeat_timeout: Duration,
    /// Which records are read while transactions are open or aborted. Default [`ReadIsolation::ReadCommitted`].
    pub read_isolation: ReadIsolation,
    /// The most bytes that one fetch asks for per partition. Default 1 MiB. A larger record still arrives.
    pub fetch_max_bytes: i32,
    /// The most bytes that one fetch asks of a broker for all its partitions together. Default 16 MiB. A larger record
    /// still arrives.
    pub fetch_max_bytes_per_broker: i32,
    /// How many bytes the broker gathers before it answers a fetch, as far as
    /// [`fetch_max_wait`](Self::fetch_max_wait) allows. Default 1.
    pub fetch_min_bytes: i32,
    /// How long the broker may wait for data. Default 500 ms.
    pub fetch_max_wait: Duration,
    /// The most bytes that one compressed record batch may decompress to. Default 128 MiB. A larger one counts as
    /// corrupt: a few bytes can be made to decompress to gigabytes.
    pub max_decompressed_bytes: usize,
    /// How often metadata is asked for anew though nothing failed. Default 5 min.
    pub metadata_max_age: Duration,
    /// The largest answer accepted, in bytes. Default 256 MiB. A partition whose next record batch makes a larger one can't be
    /// read on ([`SourceProblem::Failed`](super::SourceProblem::Failed)); others are.
    pub max_response_bytes: usize,
    /// The largest request sent, in bytes. Default 100 MiB, which is what brokers accept
    /// (`socket.request.max.bytes`).
    pub max_request_bytes: usize,
    /// How long to wait before the second attempt to connect to an address after one that failed; doubled with each
    /// further one, give or take a fifth. Default 50 ms.
    pub reconnect_backoff: Duration,
    /// The longest wait between attempts to connect to an address. Default 1 s.
    pub reconnect_backoff_max: Duration,
    /// How records are produced.
    pub produce: ProduceSettings,
}

impl ConnectionSettings {
    /// The defaults, with these bootstrap addresses.
    pub fn new(bootstrap: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            bootstrap: bootstrap.into_iter().map(Into::into).collect(),
            client_id: "bezoar".to_owned(),
            security: Security::default(),
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            heartbeat_timeout: Duration::from_secs(10),
            read_isolation: ReadIsolation::ReadCommitted,
            fetch_max_bytes: 1 << 20,
            fetch_max_bytes_per_broker: 16 << 20,
            fetch_min_bytes: 1,
            fetch_max_wait: Duration::from_millis(500),
            max_decompressed_bytes: 128 << 20,
            metadata_max_age: Duration::from_secs(300),
            max_response_bytes: 256 << 20,
            max_request_bytes: 100 << 20,
            reconnect_backoff: Duration::from_millis(50),
            reconnect_backoff_max: Duration::from_secs(1),
            produce: ProduceSettings::default(),
        }
    }
}

/// How records are produced; every limit has a default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProduceSettings {
    /// Whether batches carry the numbers by which the broker knows one that is sent again after a lost answer, so that nothing is
    /// appended twice. Default true. It needs the right to produce idempotently (`IdempotentWrite` on the cluster before Kafka
    /// 2.8). Without it one batch per partition is under way at a time, and what is sent again may be there twice.
    pub idempotence: bool,
    /// How long records wait for others to share a batch with. Default 0: a batch is sent at once, and what comes while it is
    /// under way shares the next one, which is sent when that is acknowledged or when it is full.
    pub linger: Duration,
    /// How large a batch may become before compression, in bytes. Default 512 KiB, which is below the brokers' default limit of
    /// 1 MiB (`message.max.bytes`). Records that are to be appended together are never split: more of them than this
    /// go alone, in a larger batch.
    pub batch_bytes: usize,
    /// How batches are compressed. Default not at all.
    pub compression: Compression,
    /// How many bytes of records a [`Producer`](crate::producer::Producer) holds that are not acknowledged yet; who sends more
    /// waits. Default 32 MiB. A larger record is sent when nothing else is held.
    pub buffer_bytes: usize,
    /// How long records may take from being handed over to being acknowledged, attempts and pauses included. Default 2 min.
    pub delivery_timeout: Duration,
}

impl Default for ProduceSettings {
    fn default() -> Self {
        Self {
            idempotence: true,
            linger: Duration::ZERO,
            batch_bytes: 512 << 10,
            compression: Compression::None,
            buffer_bytes: 32 << 20,
            delivery_timeout: Duration::from_secs(120),
        }
    }
}
