use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::partition::Spawner;

/// What may differ from topic to topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TopicOptions {
    pub(super) partitions: Option<Vec<i32>>,
    pub(super) poison_timeout: Option<Option<Duration>>,
}

impl TopicOptions {
    /// All partitions, and the consumer's limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes only these partitions, 0-based; with [`Assignment::Manual`](super::Assignment::Manual) only, since a group
    /// divides the partitions among its members itself. Without it: all that the topic has at start.
    pub fn partitions(mut self, partitions: impl IntoIterator<Item = i32>) -> Self {
        self.partitions = Some(partitions.into_iter().collect());
        self
    }

    /// The longest that a delivery of this topic may await, in place of the consumer's; `None` for no limit.
    pub fn poison_timeout(mut self, limit: Option<Duration>) -> Self {
        self.poison_timeout = Some(limit);
        self
    }
}

/// One topic of a consumer, or one pattern.
#[derive(Clone)]
pub(super) struct TopicEntry {
    pub(super) topics: Topics,
    pub(super) options: TopicOptions,
    pub(super) spawner: Arc<dyn Spawner>,
}

/// Which topics an entry stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Topics {
    Named(String),
    /// Those whose whole name matches this regular expression.
    Pattern(String),
}

impl fmt::Display for Topics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Named(text) | Self::Pattern(text)) = self;
        f.write_str(text)
    }
}
