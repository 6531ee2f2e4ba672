use std::sync::Arc;
use std::time::Duration;

use super::restart::RestartPolicy;
use crate::classifier::ClassifierActor;
use crate::dead_letter::DeadLetterActor;
use crate::group::{GroupSettings, Subscription};
use crate::handler::OriginSettings;
use crate::monitor::MonitorActor;
use crate::offsets::{OffsetReset, OffsetsActor};
use crate::partition::{CorruptBatches, Spawner, TopicLimits, TopicName};
use crate::policy::DeadLetterTopics;

/// One of the consumer's topics, or several by a pattern.
pub(crate) struct TopicPlan {
    pub(crate) matches: TopicName,
    pub(crate) spawner: Arc<dyn Spawner>,
    pub(crate) limits: TopicLimits,
}

pub(crate) struct SupervisorSettings {
    pub(crate) group: String,
    /// How to be a member of the group; `None` where partitions are assigned by hand.
    pub(crate) membership: Option<MembershipPlan>,
    pub(crate) offset_reset: OffsetReset,
    pub(crate) feed_bytes: usize,
    pub(crate) restart: RestartPolicy,
    /// How long what is in flight may take to end: when the consumer stops, and when a partition is revoked.
    pub(crate) drain_timeout: Duration,
    pub(crate) dead_letter_topics: DeadLetterTopics,
    pub(crate) max_unacknowledged: usize,
    /// How it is found out where replayed records came from.
    pub(crate) origins: OriginSettings,
    pub(crate) corrupt_batches: CorruptBatches,
    /// How many bytes of records that handlers sent may wait for their acknowledgement.
    pub(crate) buffer_bytes: usize,
    /// Commit once so many records are settled, without waiting for the interval; `None` leaves it to the interval.
    pub(crate) commit_every: Option<u64>,
    /// How often offsets that did not change are committed again where partitions are assigned by hand, so that they don't
    /// expire. For members the broker keeps them.
    pub(crate) offsets_recommit: Duration,
}

/// Membership in a group.
pub(crate) struct MembershipPlan {
    pub(crate) settings: GroupSettings,
    pub(crate) subscription: Subscription,
}

/// The control actors that the supervisor starts; each by its own settings.
pub(crate) struct ControlActors {
    pub(crate) classifier: ClassifierActor,
    pub(crate) dead_letter: DeadLetterActor,
    pub(crate) offsets: OffsetsActor,
    /// `None` where it is off.
    pub(crate) monitor: Option<MonitorActor>,
}
