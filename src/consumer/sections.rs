use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::topic::TopicOptions;
use crate::broker::{Compression, ProduceSettings};
use crate::dead_letter::Profile;
use crate::policy::BackoffSettings;
use crate::policy::duration::{optional, or_off};
use crate::supervisor::Escalation;

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
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
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
    /// See [`RestartPolicy::backoff`](crate::consumer::RestartPolicy::backoff).
    pub backoff: BackoffSettings,
    /// See [`RestartPolicy::escalation`](crate::consumer::RestartPolicy::escalation).
    pub escalation: Option<Escalation>,
}

/// What may differ from topic to topic, as a configuration file writes it; see [`TopicOptions`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TopicSection {
    /// See [`TopicOptions::partitions`]: only with `assignment = "manual"`.
    pub partitions: Option<Vec<i32>>,
    /// See [`TopicOptions::poison_timeout`]; `"off"` for no limit.
    #[serde(deserialize_with = "some_or_off")]
    pub poison_timeout: Option<Option<Duration>>,
}

impl TopicSection {
    /// The options that code set, and for what it left open those of the file.
    pub(super) fn below(self, code: TopicOptions) -> TopicOptions {
        TopicOptions {
            partitions: code.partitions.or(self.partitions),
            poison_timeout: code.poison_timeout.or(self.poison_timeout),
        }
    }
}

fn some_or_off<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Duration>>, D::Error> {
    or_off(deserializer).map(Some)
}
