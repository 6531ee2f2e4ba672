use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::defaults;
use super::membership::{Assignment, MissingTopics};
use super::sections::{DeadLetterSettings, ProducerSettings, RestartSettings, TopicSection};
use crate::broker::security::SecuritySettings;
use crate::broker::{Plane, ReadIsolation};
use crate::classifier::RuleSettings;
use crate::group::{Assignor, GroupProtocol};
use crate::monitor::MonitorSection;
use crate::offsets::OffsetReset;
use crate::partition::CorruptBatches;
use crate::policy::duration::{optional, or_off, required};
use crate::policy::{PolicySettings, TopicSettings};

/// A consumer's settings as a configuration file writes them. Everything but `group` and `bootstrap` has a default;
/// unknown names are errors. Durations are text such as `"250ms"`, `"30s"` or `"5m"`.
///
/// ```toml
/// group = "fulfilment"
/// bootstrap = ["127.0.0.1:9092"]
/// poison_timeout = "10s"
///
/// [policies.transient]
/// retries = 8
/// backoff = { base = "500ms", cap = "1m" }
///
/// [dead_letter_topics]
/// preset = "single"
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ConsumerSettings {
    /// The consumer group, under which offsets are committed.
    pub group: String,
    /// Addresses (`host:port`) of brokers to start from.
    pub bootstrap: Vec<String>,
    /// Which client reads and produces. Default [`Plane::Native`].
    #[serde(default)]
    pub plane: Plane,
    /// The client id sent with each request. Default `bezoar`.
    #[serde(default = "defaults::client_id")]
    pub client_id: String,
    /// Who dead-lettered a record, in its dead letter. Default: group, host and process id.
    #[serde(default)]
    pub consumer_id: Option<String>,
    /// The version of the service, in its dead letters. Default `1.0.0`.
    #[serde(default = "defaults::consumer_version")]
    pub consumer_version: String,
    /// Who decides which partitions are processed. Default `"group"`: the consumer is a member of the group; `"manual"`: all
    /// partitions of its topics, or those that are listed.
    #[serde(default)]
    pub assignment: Assignment,
    /// Which protocol the group speaks: `"auto"` (default), `"classic"` or `"consumer"` (KIP-848).
    #[serde(default)]
    pub group_protocol: GroupProtocol,
    /// Makes the consumer a static member: see [`instance_id`](super::ConsumerBuilder::instance_id). Default none.
    #[serde(default)]
    pub instance_id: Option<String>,
    /// Where the instance runs, for assignors that look at it. Default none.
    #[serde(default)]
    pub rack: Option<String>,
    /// How long the group's coordinator waits for a heartbeat. Default 45 s. Not for `"consumer"`, where the broker has it.
    #[serde(default = "defaults::session_timeout", deserialize_with = "required")]
    pub session_timeout: Duration,
    /// How often heartbeats are sent. Default 3 s. Not for `"consumer"`, where the broker tells.
    #[serde(default = "defaults::heartbeat_interval", deserialize_with = "required")]
    pub heartbeat_interval: Duration,
    /// How long giving partitions up may take. Default 60 s.
    #[serde(default = "defaults::rebalance_timeout", deserialize_with = "required")]
    pub rebalance_timeout: Duration,
    /// How long after the sending of the last heartbeat that succeeded records may be dispatched. Default two thirds of
    /// `session_timeout` with `"classic"`, 30 s with `"consumer"`, the smaller of both with `"auto"`.
    #[serde(default, deserialize_with = "optional")]
    pub lease: Option<Duration>,
    /// How a classic group divides partitions, the preferred way first. Default `["cooperative-sticky"]`.
    #[serde(default = "defaults::assignors")]
    pub assignors: Vec<Assignor>,
    /// The broker's assignor by name, for `"consumer"`. Default: the broker's choice.
    #[serde(default)]
    pub server_assignor: Option<String>,
    /// What happens at the start where a topic does not exist: `"fail"` (default) or `"wait"`.
    #[serde(default)]
    pub missing_topics: MissingTopics,
    /// How often it is looked for new topics and partitions. Default 30 s, 500 ms to 5 min.
    #[serde(default = "defaults::topic_refresh", deserialize_with = "required")]
    pub topic_refresh: Duration,
    /// Where partitions without a valid committed offset start: `"earliest"` (default), `"latest"`, `"none"` for an error,
    /// `{ timestamp = "2026-01-01T00:00:00Z" }` or `{ ago = "7d" }`.
    #[serde(default)]
    pub offset_reset: OffsetReset,
    /// How often watermarks are committed. Default 1 s.
    #[serde(default = "defaults::commit_interval", deserialize_with = "required")]
    pub commit_interval: Duration,
    /// Commits as soon as this many records were settled, besides. Default: by time only.
    #[serde(default)]
    pub commit_every: Option<u64>,
    /// How often offsets that did not change are committed again, so that an idle group's do not expire. Default 1 h. Only for
    /// `assignment = "manual"`: a group with members keeps its offsets.
    #[serde(default = "defaults::offsets_recommit", deserialize_with = "required")]
    pub offsets_recommit: Duration,
    /// The longest that a delivery may await, `"off"` for no limit. Past it the record is poison. Default 30 s.
    #[serde(default = "defaults::poison_timeout", deserialize_with = "or_off")]
    pub poison_timeout: Option<Duration>,
    /// How long records in flight may take to finish when the consumer stops. Default 30 s.
    #[serde(default = "defaults::drain_timeout", deserialize_with = "required")]
    pub drain_timeout: Duration,
    /// The most bytes fetched ahead per partition. Default 2 MiB. One batch may exceed it.
    #[serde(default = "defaults::feed_bytes")]
    pub feed_bytes: usize,
    /// The most bytes that one fetch asks for per partition. Default 1 MiB. A larger record still arrives.
    #[serde(default = "defaults::fetch_max_bytes")]
    pub fetch_max_bytes: i32,
    /// The most bytes that one fetch asks of a broker for all its partitions together. Default 16 MiB. A larger record
    /// still arrives. Not for [`Plane::Rskafka`], which fetches partition by partition.
    #[serde(default = "defaults::fetch_max_bytes_per_broker")]
    pub fetch_max_bytes_per_broker: i32,
    /// How many bytes the broker gathers before it answers a fetch, as far as `fetch_max_wait` allows. Default 1.
    #[serde(default = "defaults::fetch_min_bytes")]
    pub fetch_min_bytes: i32,
    /// Which records are read while transactions are open or aborted. Default `read_committed`. Not for
    /// [`Plane::Rskafka`]: see `docs/limits.md`.
    #[serde(default)]
    pub read_isolation: ReadIsolation,
    /// The most bytes that one compressed record batch may decompress to. Default 128 MiB. A larger one counts as
    /// corrupt. Not for [`Plane::Rskafka`].
    #[serde(default = "defaults::max_decompressed_bytes")]
    pub max_decompressed_bytes: usize,
    /// What becomes of record batches that cannot be read. Default `quarantine`. Not for [`Plane::Rskafka`], which
    /// stops there.
    #[serde(default)]
    pub corrupt_batches: CorruptBatches,
    /// How often metadata is asked for anew though nothing failed. Default 5 min.
    #[serde(default = "defaults::metadata_max_age", deserialize_with = "required")]
    pub metadata_max_age: Duration,
    /// The largest answer of the broker that is accepted, in bytes. Default 256 MiB.
    #[serde(default = "defaults::max_response_bytes")]
    pub max_response_bytes: usize,
    /// How long the broker may wait for data before it answers a fetch. Default 500 ms.
    #[serde(default = "defaults::fetch_max_wait", deserialize_with = "required")]
    pub fetch_max_wait: Duration,
    /// How long to wait for a connection. Default 10 s.
    #[serde(default = "defaults::connect_timeout", deserialize_with = "required")]
    pub connect_timeout: Duration,
    /// How long to wait for an answer of the broker. Default 30 s.
    #[serde(default = "defaults::request_timeout", deserialize_with = "required")]
    pub request_timeout: Duration,
    /// The largest request sent, in bytes. Default 100 MiB, which is what brokers accept.
    #[serde(default = "defaults::max_request_bytes")]
    pub max_request_bytes: usize,
    /// How long to wait before connecting again after a first failure, longer with each further one. Default 50 ms.
    #[serde(default = "defaults::reconnect_backoff", deserialize_with = "required")]
    pub reconnect_backoff: Duration,
    /// The longest wait between attempts to connect to an address. Default 1 s.
    #[serde(default = "defaults::reconnect_backoff_max", deserialize_with = "required")]
    pub reconnect_backoff_max: Duration,
    /// TLS and SASL. Default neither.
    #[serde(default)]
    pub security: SecuritySettings,
    /// How dead letters, and records that handlers send, are produced.
    #[serde(default)]
    pub producer: ProducerSettings,
    /// How many times the broker is tried at start before the error is returned. Default 5.
    #[serde(default = "defaults::start_attempts")]
    pub start_attempts: u32,
    /// How many one-thread runtimes handlers run on. Default: as many as the machine has cores.
    #[serde(default)]
    pub lanes: Option<usize>,
    /// What differs from topic to topic, by the topic's name or the pattern. What code sets for a topic replaces it.
    #[serde(default)]
    pub topics: BTreeMap<String, TopicSection>,
    /// What each category gets.
    #[serde(default)]
    pub policies: PolicySettings,
    /// Which topics dead letters go to.
    #[serde(default)]
    pub dead_letter_topics: TopicSettings,
    /// Dead-letter topics whose replays are believed besides those of the consumer's own topics: see
    /// [`trusted_replays`](super::ConsumerBuilder::trusted_replays). Default none.
    #[serde(default)]
    pub trusted_replays: Vec<String>,
    /// How dead letters are written and their topics made.
    #[serde(default)]
    pub dead_letters: DeadLetterSettings,
    /// Rules of classification before the built-in ones.
    #[serde(default)]
    pub classifier: RuleSettings,
    /// How often partition actors are restarted.
    #[serde(default)]
    pub restart: RestartSettings,
    /// What the monitor of dead letters watches for, and whom it tells.
    #[serde(default)]
    pub monitor: MonitorSection,
}
