use std::fmt;
use std::str::FromStr;
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

impl RecordId {
    /// A record by its place, as it is written for people; the topic's id is not told.
    pub fn new(partition: TopicPartition, offset: i64) -> Self {
        Self { topic_id: None, partition, offset }
    }
}

/// Why a text is not the place of a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not the place of a record: write topic/partition/offset, such as orders.dlq.poison/0/17")]
pub struct NotAPlace {
    text: String,
}

/// Reads what is displayed: `orders/0/17`. The topic's id is no part of it.
impl FromStr for RecordId {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Self, NotAPlace> {
        // From the right: partition and offset are numbers.
        let mut parts = text.rsplitn(3, '/');
        let mut next = || parts.next().filter(|part| !part.is_empty());
        let place = (|| {
            let offset = next()?.parse().ok().filter(|offset: &i64| *offset >= 0)?;
            let partition = next()?.parse().ok().filter(|partition: &i32| *partition >= 0)?;
            Some(Self::new(TopicPartition::new(next()?, partition), offset))
        })();
        place.ok_or_else(|| NotAPlace { text: text.to_owned() })
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.partition, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_displayed_is_read(topic in "[a-z./_-]{1,9}", partition in 0..i32::MAX, offset in 0..i64::MAX) {
            let record = RecordId::new(TopicPartition::new(topic, partition), offset);
            prop_assert_eq!(record.to_string().parse(), Ok(record));
        }

        #[test]
        fn garbage_is_an_error(text in "[a-z/0-9-]{0,12}") {
            if let Ok(record) = text.parse::<RecordId>() {
                prop_assert!(record.offset >= 0 && record.partition.partition() >= 0 && !record.partition.topic().is_empty());
            }
        }
    }

    #[test]
    fn the_error_says_what_to_write() {
        let error = "orders/0".parse::<RecordId>().unwrap_err().to_string();
        assert!(error.contains("topic/partition/offset"), "{error}");
        assert!("/0/1".parse::<RecordId>().is_err() && "orders/0/-1".parse::<RecordId>().is_err());
    }
}
