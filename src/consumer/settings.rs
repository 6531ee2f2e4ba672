use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

use crate::broker::security::SecuritySettings;
use crate::broker::{Compression, Plane, ProduceSettings, ReadIsolation};
use crate::classifier::RuleSettings;
use crate::dead_letter::Profile;
use crate::offsets::OffsetReset;
use crate::partition::CorruptBatches;
use crate::policy::duration::{optional, required};
use crate::policy::{PolicySettings, TopicSettings};
use crate::supervisor::Escalation;

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
    #[serde(default = "client_id")]
    pub client_id: String,
    /// Who dead-lettered a record, in its dead letter. Default: group, host and process id.
    #[serde(default)]
    pub consumer_id: Option<String>,
    /// The version of the service, in its dead letters. Default `1.0.0`.
    #[serde(default = "consumer_version")]
    pub consumer_version: String,
    /// Where partitions without a valid committed offset start. Default `earliest`.
    #[serde(default)]
    pub offset_reset: OffsetReset,
    /// How often watermarks are committed. Default 1 s.
    #[serde(default = "commit_interval", deserialize_with = "required")]
    pub commit_interval: Duration,
    /// The longest that a delivery may await, `"off"` for no limit. Past it the record is poison. Default 30 s.
    #[serde(default = "poison_timeout", deserialize_with = "duration_or_off")]
    pub poison_timeout: Option<Duration>,
    /// How long records in flight may take to finish when the consumer stops. Default 30 s.
    #[serde(default = "drain_timeout", deserialize_with = "required")]
    pub drain_timeout: Duration,
    /// The most bytes fetched ahead per partition. Default 2 MiB. One batch may exceed it.
    #[serde(default = "feed_bytes")]
    pub feed_bytes: usize,
    /// The most bytes that one fetch asks for per partition. Default 1 MiB. A larger record still arrives.
    #[serde(default = "fetch_max_bytes")]
    pub fetch_max_bytes: i32,
    /// The most bytes that one fetch asks of a broker for all its partitions together. Default 16 MiB. A larger record
    /// still arrives. Not for [`Plane::Rskafka`], which fetches partition by partition.
    #[serde(default = "fetch_max_bytes_per_broker")]
    pub fetch_max_bytes_per_broker: i32,
    /// How many bytes the broker gathers before it answers a fetch, as far as `fetch_max_wait` allows. Default 1.
    #[serde(default = "fetch_min_bytes")]
    pub fetch_min_bytes: i32,
    /// Which records are read while transactions are open or aborted. Default `read_committed`. Not for
    /// [`Plane::Rskafka`]: see `docs/limits.md`.
    #[serde(default)]
    pub read_isolation: ReadIsolation,
    /// The most bytes that one compressed record batch may decompress to. Default 128 MiB. A larger one counts as
    /// corrupt. Not for [`Plane::Rskafka`].
    #[serde(default = "max_decompressed_bytes")]
    pub max_decompressed_bytes: usize,
    /// What becomes of record batches that cannot be read. Default `quarantine`. Not for [`Plane::Rskafka`], which
    /// stops there.
    #[serde(default)]
    pub corrupt_batches: CorruptBatches,
    /// How often metadata is asked for anew though nothing failed. Default 5 min.
    #[serde(default = "metadata_max_age", deserialize_with = "required")]
    pub metadata_max_age: Duration,
    /// The largest answer of the broker that is accepted, in bytes. Default 256 MiB.
    #[serde(default = "max_response_bytes")]
    pub max_response_bytes: usize,
    /// How long the broker may wait for data before it answers a fetch. Default 500 ms.
    #[serde(default = "fetch_max_wait", deserialize_with = "required")]
    pub fetch_max_wait: Duration,
    /// How long to wait for a connection. Default 10 s.
    #[serde(default = "connect_timeout", deserialize_with = "required")]
    pub connect_timeout: Duration,
    /// How long to wait for an answer of the broker. Default 30 s.
    #[serde(default = "request_timeout", deserialize_with = "required")]
    pub request_timeout: Duration,
    /// The largest request sent, in bytes. Default 100 MiB, which is what brokers accept.
    #[serde(default = "max_request_bytes")]
    pub max_request_bytes: usize,
    /// How long to wait before connecting again after a first failure, longer with each further one. Default 50 ms.
    #[serde(default = "reconnect_backoff", deserialize_with = "required")]
    pub reconnect_backoff: Duration,
    /// The longest wait between attempts to connect to an address. Default 1 s.
    #[serde(default = "reconnect_backoff_max", deserialize_with = "required")]
    pub reconnect_backoff_max: Duration,
    /// TLS and SASL. Default neither.
    #[serde(default)]
    pub security: SecuritySettings,
    /// How dead letters, and records that handlers send, are produced.
    #[serde(default)]
    pub producer: ProducerSettings,
    /// How many times the broker is tried at start before the error is returned. Default 5.
    #[serde(default = "start_attempts")]
    pub start_attempts: u32,
    /// How many one-thread runtimes handlers run on. Default: as many as the machine has cores.
    #[serde(default)]
    pub lanes: Option<usize>,
    /// What each category gets.
    #[serde(default)]
    pub policies: PolicySettings,
    /// Which topics dead letters go to.
    #[serde(default)]
    pub dead_letter_topics: TopicSettings,
    /// How dead letters are written and their topics made.
    #[serde(default)]
    pub dead_letters: DeadLetterSettings,
    /// Rules of classification before the built-in ones.
    #[serde(default)]
    pub classifier: RuleSettings,
    /// How often partition actors are restarted.
    #[serde(default)]
    pub restart: RestartSettings,
}

/// How dead letters are written and their topics made, as a configuration file writes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct DeadLetterSettings {
    /// See [`DeadLetterFormat::profiles`](crate::dead_letter::DeadLetterFormat::profiles).
    pub profiles: Vec<Profile>,
    /// See [`DeadLetterFormat::keep_timestamp`](crate::dead_letter::DeadLetterFormat::keep_timestamp).
    pub keep_timestamp: bool,
    /// See [`DeadLetterFormat::message_limit`](crate::dead_letter::DeadLetterFormat::message_limit).
    pub message_limit: Option<usize>,
    /// See [`DeadLetterFormat::backtrace_limit`](crate::dead_letter::DeadLetterFormat::backtrace_limit).
    pub backtrace_limit: Option<usize>,
    /// The most dead letters of a partition that may wait for their acknowledgement while it goes on; 0 waits for
    /// each. Default 256, at most 100,000.
    pub max_unacknowledged: Option<usize>,
    /// See [`TopicCreation::enabled`](crate::dead_letter::TopicCreation::enabled).
    pub create_topics: Option<bool>,
    /// See [`TopicCreation::retention`](crate::dead_letter::TopicCreation::retention).
    #[serde(deserialize_with = "optional")]
    pub retention: Option<Duration>,
    /// See [`TopicCreation::max_message_bytes`](crate::dead_letter::TopicCreation::max_message_bytes).
    pub max_message_bytes: Option<u32>,
    /// See [`TopicCreation::replication`](crate::dead_letter::TopicCreation::replication).
    pub replication: Option<i16>,
}

/// How records are produced, as a configuration file writes it; what is left out has the default of [`ProduceSettings`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ProducerSettings {
    /// See [`ProduceSettings::idempotence`].
    pub idempotence: Option<bool>,
    /// See [`ProduceSettings::linger`].
    #[serde(deserialize_with = "optional")]
    pub linger: Option<Duration>,
    /// See [`ProduceSettings::batch_bytes`].
    pub batch_bytes: Option<usize>,
    /// See [`ProduceSettings::compression`].
    pub compression: Option<Compression>,
    /// See [`ProduceSettings::buffer_bytes`].
    pub buffer_bytes: Option<usize>,
    /// See [`ProduceSettings::delivery_timeout`].
    #[serde(deserialize_with = "optional")]
    pub delivery_timeout: Option<Duration>,
}

impl ProducerSettings {
    pub(super) fn resolve(self) -> ProduceSettings {
        let defaults = ProduceSettings::default();
        ProduceSettings {
            idempotence: self.idempotence.unwrap_or(defaults.idempotence),
            linger: self.linger.unwrap_or(defaults.linger),
            batch_bytes: self.batch_bytes.unwrap_or(defaults.batch_bytes),
            compression: self.compression.unwrap_or(defaults.compression),
            buffer_bytes: self.buffer_bytes.unwrap_or(defaults.buffer_bytes),
            delivery_timeout: self.delivery_timeout.unwrap_or(defaults.delivery_timeout),
        }
    }
}

/// How often partition actors are restarted, as a configuration file writes it; see [`RestartPolicy`](crate::consumer::RestartPolicy).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RestartSettings {
    /// See [`RestartPolicy::max_per_partition`](crate::consumer::RestartPolicy::max_per_partition).
    pub max_per_partition: Option<u32>,
    /// See [`RestartPolicy::max_overall`](crate::consumer::RestartPolicy::max_overall).
    pub max_overall: Option<u32>,
    /// See [`RestartPolicy::window`](crate::consumer::RestartPolicy::window).
    #[serde(deserialize_with = "optional")]
    pub window: Option<Duration>,
    /// See [`RestartPolicy::escalation`](crate::consumer::RestartPolicy::escalation).
    pub escalation: Option<Escalation>,
}

fn client_id() -> String {
    "bezoar".to_owned()
}

pub(super) fn consumer_version() -> String {
    "1.0.0".to_owned()
}

pub(super) const fn commit_interval() -> Duration {
    Duration::from_secs(1)
}

pub(super) const fn poison_timeout() -> Option<Duration> {
    Some(Duration::from_secs(30))
}

pub(super) const fn drain_timeout() -> Duration {
    Duration::from_secs(30)
}

pub(super) const fn feed_bytes() -> usize {
    2 << 20
}

const fn fetch_max_bytes() -> i32 {
    1 << 20
}

const fn fetch_max_bytes_per_broker() -> i32 {
    16 << 20
}

const fn fetch_min_bytes() -> i32 {
    1
}

const fn max_decompressed_bytes() -> usize {
    128 << 20
}

const fn metadata_max_age() -> Duration {
    Duration::from_secs(300)
}

const fn max_response_bytes() -> usize {
    256 << 20
}

const fn max_request_bytes() -> usize {
    100 << 20
}

const fn reconnect_backoff() -> Duration {
    Duration::from_millis(50)
}

const fn reconnect_backoff_max() -> Duration {
    Duration::from_secs(1)
}

const fn fetch_max_wait() -> Duration {
    Duration::from_millis(500)
}

const fn connect_timeout() -> Duration {
    Duration::from_secs(10)
}

const fn request_timeout() -> Duration {
    Duration::from_secs(30)
}

pub(super) const fn start_attempts() -> u32 {
    5
}

fn duration_or_off<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text == "off" {
        return Ok(None);
    }
    let invalid = |error| de::Error::custom(format!("{text:?} is not a duration ({error}): write \"30s\", or \"off\""));
    humantime::parse_duration(&text).map(Some).map_err(invalid)
}
