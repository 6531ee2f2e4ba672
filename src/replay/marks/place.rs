use std::fmt;

use crate::record::{RecordId, TopicPartition};

/// Where a dead letter lies in its dead-letter topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// The dead-letter topic's partition.
    pub(crate) partition: i32,
    /// The offset in it.
    pub(crate) offset: i64,
}

impl Place {
    pub(crate) fn new(partition: i32, offset: i64) -> Self {
        Self { partition, offset }
    }

    /// The key of its mark.
    pub(crate) fn key(self, topic: &str) -> String {
        format!("{topic}/{self}")
    }

    /// Reads a mark's key; `None` where it is none of `topic`.
    pub(super) fn of_key(key: &[u8], topic: &str) -> Option<Self> {
        let record = parse_record(std::str::from_utf8(key).ok()?)?;
        let is_of = record.partition.topic() == topic && record.offset >= 0;
        is_of.then(|| Self::new(record.partition.partition(), record.offset))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.partition, self.offset)
    }
}

/// Reads `topic/partition/offset`, as a [`RecordId`] displays; the offset is -1 where the broker did not tell it. The topic's id
/// is not part of it.
pub(crate) fn parse_record(text: &str) -> Option<RecordId> {
    let (partition, offset) = text.rsplit_once('/')?;
    let offset = offset.parse().ok().filter(|offset: &i64| *offset >= -1)?;
    Some(RecordId { topic_id: None, partition: parse_partition(partition)?, offset })
}

/// Reads `topic/partition`, as a [`TopicPartition`] displays.
pub(super) fn parse_partition(text: &str) -> Option<TopicPartition> {
    let (topic, partition) = text.rsplit_once('/')?;
    let partition = partition.parse().ok().filter(|partition: &i32| *partition >= 0)?;
    (!topic.is_empty()).then(|| TopicPartition::new(topic, partition))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_names_a_place_of_its_topic_only() {
        let place = Place::new(2, 7);
        let key = place.key("orders.dlq");
        assert_eq!(key, "orders.dlq/2/7");
        assert_eq!(Place::of_key(key.as_bytes(), "orders.dlq"), Some(place));
        assert_eq!(Place::of_key(key.as_bytes(), "orders"), None);
        for garbage in
            ["", "orders.dlq", "orders.dlq/2", "orders.dlq/2/-1", "orders.dlq/x/1", "/2/7", "orders.dlq/2/7/"]
        {
            assert_eq!(Place::of_key(garbage.as_bytes(), "orders.dlq"), None, "{garbage}");
        }
    }

    proptest! {
        #[test]
        fn garbage_never_panics(key in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Place::of_key(&key, "orders.dlq");
        }
    }
}
