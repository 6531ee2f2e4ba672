use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

use crate::broker::ConnectionSettings;
use crate::classifier::{RuleSettings, Rules};
use crate::dead_letter::{DeadLetterFormat, Profile, TopicCreation};
use crate::isolation::Isolation;
use crate::offsets::OffsetReset;
use crate::policy::duration::{optional, required};
use crate::policy::{ConfigError, DeadLetterTopics, Policies, PolicySettings, TopicSettings};
use crate::supervisor::{Escalation, RestartPolicy};

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
    /// See [`DeadLetterFormat::profiles`].
    pub profiles: Vec<Profile>,
    /// See [`DeadLetterFormat::keep_timestamp`].
    pub keep_timestamp: bool,
    /// See [`DeadLetterFormat::message_limit`].
    pub message_limit: Option<usize>,
    /// See [`DeadLetterFormat::backtrace_limit`].
    pub backtrace_limit: Option<usize>,
    /// The most dead letters of a partition that may wait for their acknowledgement while it goes on; 0 waits for
    /// each. Default 256, at most 100,000.
    pub max_unacknowledged: Option<usize>,
    /// See [`TopicCreation::enabled`].
    pub create_topics: Option<bool>,
    /// See [`TopicCreation::retention`].
    #[serde(deserialize_with = "optional")]
    pub retention: Option<Duration>,
    /// See [`TopicCreation::max_message_bytes`].
    pub max_message_bytes: Option<u32>,
    /// See [`TopicCreation::replication`].
    pub replication: Option<i16>,
}

/// How often partition actors are restarted, as a configuration file writes it; see [`RestartPolicy`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RestartSettings {
    /// See [`RestartPolicy::max_per_partition`].
    pub max_per_partition: Option<u32>,
    /// See [`RestartPolicy::max_overall`].
    pub max_overall: Option<u32>,
    /// See [`RestartPolicy::window`].
    #[serde(deserialize_with = "optional")]
    pub window: Option<Duration>,
    /// See [`RestartPolicy::escalation`].
    pub escalation: Option<Escalation>,
}

fn client_id() -> String {
    "bezoar".to_owned()
}

fn consumer_version() -> String {
    "1.0.0".to_owned()
}

const fn commit_interval() -> Duration {
    Duration::from_secs(1)
}

const fn poison_timeout() -> Option<Duration> {
    Some(Duration::from_secs(30))
}

const fn drain_timeout() -> Duration {
    Duration::from_secs(30)
}

const fn feed_bytes() -> usize {
    2 << 20
}

const fn fetch_max_bytes() -> i32 {
    1 << 20
}

const fn max_response_bytes() -> usize {
    256 << 20
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

const fn start_attempts() -> u32 {
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

/// What a consumer runs by: the settings with everything resolved.
#[derive(Debug, Clone)]
pub(super) struct Resolved {
    pub(super) group: String,
    pub(super) connection: ConnectionSettings,
    pub(super) consumer_id: String,
    pub(super) consumer_version: String,
    pub(super) offset_reset: OffsetReset,
    pub(super) commit_interval: Duration,
    pub(super) poison_timeout: Option<Duration>,
    pub(super) drain_timeout: Duration,
    pub(super) feed_bytes: usize,
    pub(super) start_attempts: u32,
    pub(super) isolation: Isolation,
    pub(super) policies: Policies,
    pub(super) dead_letter_topics: DeadLetterTopics,
    pub(super) format: DeadLetterFormat,
    pub(super) creation: TopicCreation,
    pub(super) max_unacknowledged: usize,
    pub(super) rules: Rules,
    pub(super) restart: RestartPolicy,
}

impl Resolved {
    /// The defaults.
    pub(super) fn new(group: String) -> Self {
        let host = gethostname::gethostname();
        Self {
            consumer_id: format!("{group}@{}:{}", host.to_string_lossy(), std::process::id()),
            group,
            connection: ConnectionSettings::new(Vec::<String>::new()),
            consumer_version: consumer_version(),
            offset_reset: OffsetReset::default(),
            commit_interval: commit_interval(),
            poison_timeout: poison_timeout(),
            drain_timeout: drain_timeout(),
            feed_bytes: feed_bytes(),
            start_attempts: start_attempts(),
            isolation: Isolation::default(),
            policies: Policies::default(),
            dead_letter_topics: DeadLetterTopics::per_category(),
            format: DeadLetterFormat::default(),
            creation: TopicCreation::default(),
            max_unacknowledged: 256,
            rules: Rules::default(),
            restart: RestartPolicy::default(),
        }
    }

    /// What a configuration file says, over the defaults.
    pub(super) fn from_settings(settings: ConsumerSettings) -> Result<Self, ConfigError> {
        let defaults = Self::new(settings.group);
        let (letters, restart) = (settings.dead_letters, settings.restart);
        let (format, creation) = (defaults.format.clone(), defaults.creation.clone());
        Ok(Self {
            connection: ConnectionSettings {
                bootstrap: settings.bootstrap,
                client_id: settings.client_id,
                connect_timeout: settings.connect_timeout,
                request_timeout: settings.request_timeout,
                fetch_max_bytes: settings.fetch_max_bytes,
                fetch_max_wait: settings.fetch_max_wait,
                max_response_bytes: settings.max_response_bytes,
                ..defaults.connection
            },
            consumer_id: settings.consumer_id.unwrap_or(defaults.consumer_id),
            consumer_version: settings.consumer_version,
            offset_reset: settings.offset_reset,
            commit_interval: settings.commit_interval,
            poison_timeout: settings.poison_timeout,
            drain_timeout: settings.drain_timeout,
            feed_bytes: settings.feed_bytes,
            start_attempts: settings.start_attempts,
            isolation: settings.lanes.map_or(defaults.isolation, Isolation::Lanes),
            policies: settings.policies.build()?,
            dead_letter_topics: settings.dead_letter_topics.build()?,
            format: DeadLetterFormat {
                profiles: letters.profiles,
                keep_timestamp: letters.keep_timestamp,
                message_limit: letters.message_limit.unwrap_or(format.message_limit),
                backtrace_limit: letters.backtrace_limit.unwrap_or(format.backtrace_limit),
            },
            creation: TopicCreation {
                enabled: letters.create_topics.unwrap_or(creation.enabled),
                retention: letters.retention.unwrap_or(creation.retention),
                max_message_bytes: letters.max_message_bytes,
                replication: letters.replication.unwrap_or(creation.replication),
            },
            max_unacknowledged: letters.max_unacknowledged.unwrap_or(defaults.max_unacknowledged),
            rules: settings.classifier.build()?,
            restart: RestartPolicy {
                max_per_partition: restart.max_per_partition.unwrap_or(defaults.restart.max_per_partition),
                max_overall: restart.max_overall.unwrap_or(defaults.restart.max_overall),
                window: restart.window.unwrap_or(defaults.restart.window),
                escalation: restart.escalation.unwrap_or(defaults.restart.escalation),
                ..defaults.restart
            },
            group: defaults.group,
        })
    }
}
