use std::collections::HashMap;

use kafka_protocol::messages::OffsetForLeaderEpochRequest;
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use tokio::time::Instant;

use super::super::call::Call;
use super::super::connection::Connection;
use super::super::topics::topic_name;
use super::message::Then;
use super::reading::Reading;
use crate::broker::{BrokerError, ErrorCode, SourceProblem};
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
            reading.stop(SourceProblem::LogTruncated { asked, diverged_at: *end });
            Some(Then::End)
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
