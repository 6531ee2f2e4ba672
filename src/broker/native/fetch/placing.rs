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
