//! DeleteRecords, versions 0 to 2.
//!
//! - 1: nothing new in shape. 2: flexible.
//!
//! An offset of -1 means the end of the log.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::delete_records_response::{DeleteRecordsPartitionResult, DeleteRecordsTopicResult};
use kafka_protocol::messages::{DeleteRecordsRequest, DeleteRecordsResponse};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always};
use super::super::state::State;
use super::OK;

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 2,
    fields: &[
        always(Kind::Structs(&[
            always(Kind::Text),
            always(Kind::Structs(&[always(Kind::Fixed(4)), always(Kind::Fixed(8))])),
        ])),
        always(Kind::Fixed(4)),
    ],
};

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &DeleteRecordsRequest,
) -> DeleteRecordsResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            let index = partition.partition_index;
            let (code, start) = match call.errors.partition(&topic.name, index) {
                Some(code) => (code, -1),
                None => match delete(state, &topic.name, index, partition.offset) {
                    Ok(start) => (OK, start),
                    Err(error) => (error.code(), -1),
                },
            };
            DeleteRecordsPartitionResult::default()
                .with_partition_index(index)
                .with_error_code(code)
                .with_low_watermark(start)
        });
        let partitions = partitions.collect();
        DeleteRecordsTopicResult::default().with_name(topic.name.clone()).with_partitions(partitions)
    });
    let topics = topics.collect();
    DeleteRecordsResponse::default().with_topics(topics)
}

/// Moves the start of a log to `offset` and returns where it is then.
pub(in super::super) fn delete(
    state: &mut State,
    topic: &str,
    partition: i32,
    offset: i64,
) -> Result<i64, ResponseError> {
    let topic = state.topics.get_mut(topic).ok_or(ResponseError::UnknownTopicOrPartition)?;
    let id = topic.id;
    let log = topic.log_mut(partition).ok_or(ResponseError::UnknownTopicOrPartition)?;
    let offset = if offset == -1 { log.end() } else { offset };
    if !(0..=log.end()).contains(&offset) {
        return Err(ResponseError::OffsetOutOfRange);
    }
    log.delete_before(offset);
    let start = log.start();
    state.touch(id, partition);
    Ok(start)
}
