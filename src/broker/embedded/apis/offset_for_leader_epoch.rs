//! OffsetForLeaderEpoch, versions 2 to 4.
//!
//! - 2: the client's leader epoch is checked; throttle time. 3: the replica that asks. 4: flexible.
//!
//! Answers where a leader epoch ended: by that a client finds out how far a log agrees with what it read before the
//! leader changed.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_for_leader_epoch_response::{EpochEndOffset, OffsetForLeaderTopicResult};
use kafka_protocol::messages::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::State;
use super::OK;

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 4,
    fields: &[
        since(3, Kind::Fixed(4)),
        always(Kind::Structs(&[always(Kind::Text), always(Kind::Structs(&[always(Kind::Fixed(12))]))])),
    ],
};

pub(in super::super) fn handle(
    state: &State,
    call: &Call<'_>,
    request: &OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            let index = partition.partition;
            let answer = EpochEndOffset::default().with_partition(index);
            let log = state.topics.get(&topic.topic).and_then(|topic| topic.log(index));
            let end = match (call.errors.partition(&topic.topic, index), log) {
                (Some(code), _) => Err(code),
                (None, None) => Err(ResponseError::UnknownTopicOrPartition.code()),
                (None, Some(log)) => log
                    .check_leader_epoch(partition.current_leader_epoch)
                    .map(|()| log.end_of_epoch(partition.leader_epoch))
                    .map_err(|error| error.code()),
            };
            match end {
                Ok(end) => {
                    let (epoch, end) = end.unwrap_or((-1, -1));
                    answer.with_error_code(OK).with_leader_epoch(epoch).with_end_offset(end)
                }
                Err(code) => answer.with_error_code(code).with_leader_epoch(-1).with_end_offset(-1),
            }
        });
        OffsetForLeaderTopicResult::default().with_topic(topic.topic.clone()).with_partitions(partitions.collect())
    });
    OffsetForLeaderEpochResponse::default().with_topics(topics.collect())
}
