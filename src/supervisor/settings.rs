use std::sync::Arc;
use std::time::Duration;

use regex::Regex;

use super::restart::RestartPolicy;
use crate::classifier::ClassifierActor;
use crate::dead_letter::DeadLetterActor;
use crate::group::{GroupSettings, Subscription};
use crate::offsets::{OffsetReset, OffsetsActor};
use crate::partition::{CorruptBatches, Spawner, TopicLimits};
use crate::policy::DeadLetterTopics;

/// One of the consumer's topics, or several by a pattern.
pub(crate) struct TopicPlan {
    pub(crate) matches: TopicName,
    pub(crate) spawner: Arc<dyn Spawner>,
    pub(crate) limits: TopicLimits,
}

/// Which topics a plan is for.
#[derive(Debug, Clone)]
pub(crate) enum TopicName {
    /// The topic of this name.
    Exact(String),
    /// Every topic whose name matches; anchored where the whole name is meant.
    Pattern(Regex),
}

impl TopicName {
    /// Which of several a topic belongs to: the one of its name, else the first pattern that matches it.
    pub(crate) fn find<'a>(plans: impl Iterator<Item = &'a Self> + Clone, topic: &str) -> Option<usize> {
        let exact = plans.clone().position(|plan| matches!(plan, Self::Exact(name) if name == topic));
        exact.or_else(|| plans.clone().position(|plan| matches!(plan, Self::Pattern(_)) && plan.matches(topic)))
    }

    /// Whether a topic is meant.
    pub(crate) fn matches(&self, topic: &str) -> bool {
        match self {
            Self::Exact(name) => name == topic,
            Self::Pattern(pattern) => pattern.is_match(topic),
        }
    }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_name_comes_first_then_the_first_pattern_that_matches() {
        let pattern = |pattern| TopicName::Pattern(Regex::new(pattern).unwrap());
        let plans = [pattern("^orders$"), pattern("^orders"), pattern("-eu$"), TopicName::Exact("orders-eu".to_owned())];
        let find = |topic| TopicName::find(plans.iter(), topic);
        assert_eq!(find("orders-eu"), Some(3));
        assert_eq!(find("orders"), Some(0));
        assert_eq!(find("orders-us"), Some(1));
        assert_eq!(find("refunds-eu"), Some(2));
        assert_eq!(find("old-orders"), None);
    }
}
