use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

/// A partition of a topic. Cheap to clone; displays as `orders/0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    topic: Arc<str>,
    partition: i32,
}

impl TopicPartition {
    /// Names partition `partition` (0-based) of `topic`.
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }

    /// The topic's name.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// The topic's name, shared.
    pub fn shared_topic(&self) -> Arc<str> {
        Arc::clone(&self.topic)
    }

    /// The partition's number, 0-based.
    pub fn partition(&self) -> i32 {
        self.partition
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.partition)
    }
}

/// What identifies a record for good: the same for every delivery of it, on every machine and after every crash.
///
/// Use it as the key of side effects that must not happen twice. The topic id tells a topic from a later one of the
/// same name; it is `None` where the broker has none (before Kafka 2.8). Displays as `orders/0/17`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    /// The topic's id, which changes when a topic is deleted and created anew.
    pub topic_id: Option<Uuid>,
    /// The partition that the record was read from.
    pub partition: TopicPartition,
    /// The record's offset in it.
    pub offset: i64,
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.partition, self.offset)
    }
}
