use tokio::time::Instant;
use uuid::Uuid;

use super::super::leaders::{Leader, Leaders};
use crate::broker::ErrorCode;
use crate::record::TopicPartition;

/// Where a partition is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// At this broker.
    At(Leader),
    /// Metadata is to be asked for first.
    Ask,
    /// Nowhere, for now.
    Nowhere(ErrorCode),
    /// Nowhere: the topic of that name is another one.
    Other,
}

/// Judges by what metadata has told; it must be of after `fresh`, where given.
pub(super) fn place(
    leaders: &Leaders,
    partition: &TopicPartition,
    topic_id: Option<Uuid>,
    fresh: Option<Instant>,
) -> Place {
    let Some(learned) = leaders.learned(partition.topic()) else { return Place::Ask };
    let Some(found) = leaders.of(partition) else { return Place::Ask };
    if fresh.is_some_and(|fresh| learned < fresh) {
        return Place::Ask;
    }
    let id = match found {
        Ok(leader) => leader.topic_id,
        // The topic may be another one with fewer partitions.
        Err(_) => {
            let first = TopicPartition::new(partition.shared_topic(), 0);
            leaders.of(&first).and_then(|first| first.ok()?.topic_id)
        }
    };
    let place = match found {
        _ if matches!((topic_id, id), (Some(known), Some(found)) if known != found) => Place::Other,
        Ok(leader) => return Place::At(leader),
        Err(code) => Place::Nowhere(code),
    };
    // Bad news may be old.
    if fresh.is_none() { Place::Ask } else { place }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kafka_protocol::messages::metadata_response::{MetadataResponsePartition, MetadataResponseTopic};
    use kafka_protocol::messages::{BrokerId, MetadataResponse};

    use super::super::super::topics::topic_name;
    use super::*;

    const ID: Uuid = Uuid::from_u128(1);
    const OTHER: Uuid = Uuid::from_u128(2);

    /// What brokers said: the leaders of the partitions of a topic, -1 for none.
    fn leaders(id: Uuid, code: i16, brokers: &[i32]) -> Leaders {
        let leaders = Leaders::new(Duration::from_secs(60));
        let partitions = brokers.iter().zip(0..).map(|(broker, number)| {
            MetadataResponsePartition::default().with_partition_index(number).with_leader_id(BrokerId(*broker))
        });
        let topic = MetadataResponseTopic::default()
            .with_name(Some(topic_name("orders")))
            .with_topic_id(id)
            .with_error_code(code)
            .with_partitions(partitions.collect());
        leaders.learn(&MetadataResponse::default().with_topics(vec![topic]));
        leaders
    }

    fn judge(leaders: &Leaders, id: Option<Uuid>, fresh: Option<Instant>) -> Place {
        place(leaders, &TopicPartition::new("orders", 1), id, fresh)
    }

    #[test]
    fn good_news_is_believed_unless_it_must_be_newer() {
        let (before, leaders) = (Instant::now(), leaders(ID, 0, &[7, 8]));
        for id in [None, Some(ID)] {
            for fresh in [None, Some(before)] {
                assert!(matches!(judge(&leaders, id, fresh), Place::At(Leader { broker: 8, topic_id: Some(ID), .. })));
            }
            assert_eq!(judge(&leaders, id, Some(Instant::now() + Duration::from_secs(1))), Place::Ask);
        }
        assert_eq!(judge(&Leaders::new(Duration::from_secs(60)), Some(ID), None), Place::Ask);
    }

    #[test]
    fn bad_news_is_believed_only_when_it_was_asked_for() {
        let before = Instant::now();
        let cases = [
            (leaders(OTHER, 0, &[7, 8]), Place::Other),
            (leaders(OTHER, 0, &[7]), Place::Other),
            (leaders(ID, 0, &[7]), Place::Nowhere(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)),
            (leaders(ID, 3, &[]), Place::Nowhere(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)),
            (leaders(ID, 29, &[]), Place::Nowhere(ErrorCode(29))),
            (leaders(ID, 0, &[7, -1]), Place::Nowhere(ErrorCode(5))),
        ];
        for (leaders, expected) in cases {
            assert_eq!(judge(&leaders, Some(ID), None), Place::Ask);
            assert_eq!(judge(&leaders, Some(ID), Some(before)), expected);
        }
    }
}
