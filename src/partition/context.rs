use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ractor::ActorRef;
use serde::Deserialize;

use super::topic::Sources;
use super::trace::SpanHook;
use crate::classifier::{ClassifierMessage, ErrorTypes, UserClassifier};
use crate::dead_letter::{DeadLetterMessage, Redactor};
use crate::event::Events;
use crate::handler::Origins;
use crate::offsets::OffsetsMessage;
use crate::policy::{Category, DeadLetterTopics};
use crate::producer::Producer;
use crate::record::Record;

/// Chooses a dead-letter topic: given the record and its category, `None` leaves it to the configured topics.
pub(crate) type Router = Arc<dyn Fn(&Record, Category) -> Option<String> + Send + Sync>;

/// What becomes of a record batch that cannot be read (its checksum is wrong, say) though fetching it was tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CorruptBatches {
    /// The whole range of offsets goes to the poison category's dead-letter topic, the raw bytes as the value, and its
    /// partition goes on behind it.
    #[default]
    Quarantine,
    /// The consumer stops with an error that names the range.
    Stop,
}

/// What the partition actors of a lane share: whom to talk to, and the user's hooks. Nothing in it changes.
#[derive(Clone)]
pub(crate) struct PartitionContext {
    pub(crate) classifier: ActorRef<ClassifierMessage>,
    pub(crate) dead_letters: ActorRef<DeadLetterMessage>,
    pub(crate) offsets: ActorRef<OffsetsMessage>,
    pub(crate) events: Events,
    /// Set when the consumer is dropped: no record is delivered after that, whatever the actors have heard of it yet.
    pub(crate) closed: Arc<AtomicBool>,
    pub(crate) producer: Producer,
    pub(crate) origins: Origins,
    /// How long handled records may wait to be reported as settled while a record after them is processed.
    pub(crate) report_interval: Duration,
    /// How many handled records may wait so.
    pub(crate) report_records: u64,
    pub(crate) hooks: Hooks,
    pub(crate) topics: DeadLetterTopics,
    /// The topics that the consumer reads.
    pub(crate) sources: Sources,
    pub(crate) corrupt_batches: CorruptBatches,
    /// How many dead letters of a partition may wait for their acknowledgement while it goes on.
    pub(crate) max_unacknowledged: usize,
}

/// User code other than handlers. It runs on lanes, under the guard.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) classifier: Option<UserClassifier>,
    pub(crate) router: Option<Router>,
    pub(crate) redactor: Option<Redactor>,
    pub(crate) span: Option<SpanHook>,
    pub(crate) error_types: ErrorTypes,
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooks")
    }
}

/// What differs from topic to topic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TopicLimits {
    /// The longest a delivery may take; `None` is no limit.
    pub(crate) poison_timeout: Option<Duration>,
}
