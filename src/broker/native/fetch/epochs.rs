use std::collections::HashMap;

use kafka_protocol::messages::OffsetForLeaderEpochRequest;
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use tokio::time::Instant;

use super::super::call::Call;
use super::super::connection::Connection;
use super::super::topics::topic_name;
use super::message::{Doubt, Then};
use super::reading::Reading;
use crate::broker::{BrokerError, ErrorCode};
use crate::record::TopicPartition;

/// What a leader says of the epochs of what was fetched: the error code, and the offset at which the epoch ends in its
/// log.
pub(super) type EpochEnds = HashMap<TopicPartition, (i16, i64)>;

/// The request that asks a new leader where the epochs of what was fetched end in its log (KIP-320): for versions of fetches
/// that cannot carry the epoch themselves. `None` where there is nothing to ask.
pub(super) fn request(readings: &[&Reading]) -> Option<OffsetForLeaderEpochRequest> {
    let topics = readings.iter().filter_map(|reading| {
        let asked = OffsetForLeaderPartition::default()
            .with_partition(reading.partition.partition())
            .with_current_leader_epoch(reading.leader_epoch)
            .with_leader_epoch(reading.position.epoch?);
        Some(
            OffsetForLeaderTopic::default()
                .with_topic(topic_name(reading.partition.topic()))
                .with_partitions(vec![asked]),
        )
    });
    let topics: Vec<_> = topics.collect();
    let request = OffsetForLeaderEpochRequest::default().with_replica_id((-1).into());
    (!topics.is_empty()).then(|| request.with_topics(topics))
}

/// Asks.
pub(super) async fn ask(
    connection: &Connection,
    call: &Call,
    request: OffsetForLeaderEpochRequest,
) -> Result<EpochEnds, BrokerError> {
    let answer = connection.call(call, |_| request).await?;
    let mut ends = EpochEnds::new();
    for topic in answer.topics {
        for found in topic.partitions {
            let partition = TopicPartition::new(&*topic.topic.0, found.partition);
            ends.insert(partition, (found.error_code, found.end_offset));
        }
    }
    Ok(ends)
}

/// Judges a reading by the answer: `None` where it can go on.
pub(super) fn judge(reading: &mut Reading, ends: &EpochEnds) -> Option<Then> {
    let asked = reading.position.offset;
    if !std::mem::take(&mut reading.unvalidated) {
        return None;
    }
    match ends.get(&reading.partition) {
        Some((0, end)) if (0..asked).contains(end) => {
            reading.unvalidated = true;
            Some(Then::Doubt(Doubt::Truncated { diverged_at: *end }))
        }
        // A leader that does not know the epoch has nothing to compare with.
        Some((0, _)) | None => None,
        Some((code, _)) => {
            reading.unvalidated = true;
            let pause = reading.failed(reading.response(ErrorCode(*code)));
            Some(Then::Again { due: Instant::now() + pause, stale: true })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::broker::outlet::Outlet;
    use crate::broker::{Feed, SourceProblem};

    fn reading(offset: i64, epoch: Option<i32>) -> Reading {
        let partition = TopicPartition::new("orders", 0);
        let feed = Feed::new(partition.clone(), 1, |problem| assert!(matches!(problem, SourceProblem::Retrying(_))));
        let mut reading = Reading::new(1, partition, None, offset, Arc::new(Outlet::new(Arc::new(feed))));
        reading.position.move_to(offset, epoch);
        reading.unvalidated = true;
        reading
    }

    fn judged(code: i16, end: i64) -> Option<Then> {
        judge(&mut reading(7, Some(2)), &EpochEnds::from([(TopicPartition::new("orders", 0), (code, end))]))
    }

    #[test]
    fn an_epoch_that_ends_before_the_offset_raises_a_doubt() {
        assert_eq!(judged(0, 6), Some(Then::Doubt(Doubt::Truncated { diverged_at: 6 })));
        assert_eq!([judged(0, 7), judged(0, 8), judged(0, -1)], [None; 3]);
        assert!(matches!(judged(74, -1), Some(Then::Again { stale: true, .. })));
        let mut once = reading(7, Some(2));
        assert_eq!((judge(&mut once, &EpochEnds::new()), once.unvalidated), (None, false));
    }

    #[test]
    fn nothing_is_asked_where_no_epoch_is_known() {
        assert_eq!(request(&[&reading(7, None)]), None);
        let asked = request(&[&reading(7, Some(2))]).map(|request| request.topics[0].partitions[0].leader_epoch);
        assert_eq!(asked, Some(2));
    }
}
