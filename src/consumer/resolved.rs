use std::collections::BTreeMap;
use std::time::Duration;

use super::defaults;
use super::membership::{Assignment, MembershipSettings};
use super::sections::TopicSection;
use super::settings::ConsumerSettings;
use crate::broker::{ConnectionSettings, Plane};
use crate::classifier::Rules;
use crate::dead_letter::{DeadLetterFormat, TopicCreation};
use crate::isolation::Isolation;
use crate::monitor::MonitorSettings;
use crate::offsets::OffsetReset;
use crate::partition::CorruptBatches;
use crate::policy::{ConfigError, DeadLetterTopics, Policies};
use crate::supervisor::RestartPolicy;

/// What a consumer runs by: the settings with everything resolved.
#[derive(Debug, Clone)]
pub(super) struct Resolved {
    pub(super) group: String,
    pub(super) plane: Plane,
    pub(super) connection: ConnectionSettings,
    pub(super) consumer_id: String,
    pub(super) consumer_version: String,
    pub(super) assignment: Assignment,
    pub(super) membership: MembershipSettings,
    pub(super) offset_reset: OffsetReset,
    pub(super) commit_interval: Duration,
    pub(super) commit_every: Option<u64>,
    pub(super) offsets_recommit: Duration,
    pub(super) poison_timeout: Option<Duration>,
    pub(super) drain_timeout: Duration,
    pub(super) feed_bytes: usize,
    pub(super) corrupt_batches: CorruptBatches,
    pub(super) start_attempts: u32,
    pub(super) isolation: Isolation,
    pub(super) policies: Policies,
    pub(super) dead_letter_topics: DeadLetterTopics,
    /// Dead-letter topics whose replays are believed besides.
    pub(super) trusted_replays: Vec<String>,
    pub(super) format: DeadLetterFormat,
    pub(super) creation: TopicCreation,
    pub(super) max_unacknowledged: usize,
    pub(super) rules: Rules,
    pub(super) restart: RestartPolicy,
    pub(super) monitor: MonitorSettings,
    /// By a topic's name or the pattern: what a file says of it.
    pub(super) topics: BTreeMap<String, TopicSection>,
}

impl Resolved {
    /// The defaults.
    pub(super) fn new(group: String) -> Self {
        let host = gethostname::gethostname();
        Self {
            consumer_id: format!("{group}@{}:{}", host.to_string_lossy(), std::process::id()),
            group,
            plane: Plane::default(),
            connection: ConnectionSettings::new(Vec::<String>::new()),
            consumer_version: defaults::consumer_version(),
            assignment: Assignment::default(),
            membership: MembershipSettings::default(),
            offset_reset: OffsetReset::default(),
            commit_interval: defaults::commit_interval(),
            commit_every: None,
            offsets_recommit: defaults::offsets_recommit(),
            poison_timeout: defaults::poison_timeout(),
            drain_timeout: defaults::drain_timeout(),
            feed_bytes: defaults::feed_bytes(),
            corrupt_batches: CorruptBatches::default(),
            start_attempts: defaults::start_attempts(),
            isolation: Isolation::default(),
            policies: Policies::default(),
            dead_letter_topics: DeadLetterTopics::per_category(),
            trusted_replays: Vec::new(),
            format: DeadLetterFormat::default(),
            creation: TopicCreation::default(),
            max_unacknowledged: 256,
            rules: Rules::default(),
            restart: RestartPolicy::default(),
            monitor: MonitorSettings::new(),
            topics: BTreeMap::new(),
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
                heartbeat_timeout: defaults.connection.heartbeat_timeout,
                read_isolation: settings.read_isolation,
                fetch_max_bytes: settings.fetch_max_bytes,
                fetch_max_bytes_per_broker: settings.fetch_max_bytes_per_broker,
                fetch_min_bytes: settings.fetch_min_bytes,
                fetch_max_wait: settings.fetch_max_wait,
                max_response_bytes: settings.max_response_bytes,
                max_decompressed_bytes: settings.max_decompressed_bytes,
                metadata_max_age: settings.metadata_max_age,
                max_request_bytes: settings.max_request_bytes,
                reconnect_backoff: settings.reconnect_backoff,
                reconnect_backoff_max: settings.reconnect_backoff_max,
                security: settings.security.security()?,
                produce: settings.producer.resolve(),
            },
            consumer_id: settings.consumer_id.unwrap_or(defaults.consumer_id),
            consumer_version: settings.consumer_version,
            assignment: settings.assignment,
            membership: MembershipSettings {
                protocol: settings.group_protocol,
                instance_id: settings.instance_id,
                rack: settings.rack,
                session_timeout: settings.session_timeout,
                heartbeat_interval: settings.heartbeat_interval,
                rebalance_timeout: settings.rebalance_timeout,
                lease: settings.lease,
                assignors: settings.assignors,
                server_assignor: settings.server_assignor,
                missing_topics: settings.missing_topics,
                topic_refresh: settings.topic_refresh,
            },
            offset_reset: settings.offset_reset,
            commit_interval: settings.commit_interval,
            commit_every: settings.commit_every,
            offsets_recommit: settings.offsets_recommit,
            poison_timeout: settings.poison_timeout,
            drain_timeout: settings.drain_timeout,
            feed_bytes: settings.feed_bytes,
            corrupt_batches: settings.corrupt_batches,
            plane: settings.plane,
            start_attempts: settings.start_attempts,
            isolation: settings.lanes.map_or(defaults.isolation, Isolation::Lanes),
            policies: settings.policies.build()?,
            dead_letter_topics: settings.dead_letter_topics.build()?,
            trusted_replays: settings.trusted_replays,
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
                backoff: restart.backoff.apply(defaults.restart.backoff, "restart.backoff")?,
            },
            monitor: settings.monitor.build()?,
            topics: settings.topics,
            group: defaults.group,
        })
    }
}
