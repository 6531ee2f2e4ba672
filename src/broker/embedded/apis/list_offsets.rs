//! ListOffsets, versions 1 to 10.
//!
//! - 1: one offset per partition, with its timestamp. 2: isolation level.
//! - 4: leader epochs, the client's checked against the leader's. 6: flexible.
//! - 7: -3 asks for the record with the largest timestamp. 8: -4 asks for the first offset on local disk.
//! - 9: -5 asks for the last offset in tiered storage. 10: a timeout in the request.
//!
//! A time is looked for record by record, in compressed batches too.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};

use super::super::core::Call;
use super::super::log::Log;
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::State;
use super::OK;

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 6,
    fields: &[
        always(Kind::Fixed(4)),
        since(2, Kind::Fixed(1)),
        always(Kind::Structs(&[
            always(Kind::Text),
            always(Kind::Structs(&[always(Kind::Fixed(4)), since(4, Kind::Fixed(4)), always(Kind::Fixed(8))])),
        ])),
        since(10, Kind::Fixed(4)),
    ],
};

/// Timestamps that stand for something else.
const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const LARGEST_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;
const NOTHING: (i64, i64) = (-1, -1);

pub(in super::super) fn handle(state: &State, call: &Call<'_>, request: &ListOffsetsRequest) -> ListOffsetsResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            let index = partition.partition_index;
            let log = state.topics.get(&topic.name).and_then(|topic| topic.log(index));
            let found = match (call.errors.partition(&topic.name, index), log) {
                (Some(code), _) => Err(code),
                (None, None) => Err(ResponseError::UnknownTopicOrPartition.code()),
                (None, Some(_)) if partition.timestamp < first_special(call.version) => {
                    Err(ResponseError::UnsupportedVersion.code())
                }
                (None, Some(log)) => log
                    .check_leader_epoch(partition.current_leader_epoch)
                    .map(|()| find(log, partition.timestamp, request.isolation_level))
                    .map_err(|error| error.code()),
            };
            let answer = ListOffsetsPartitionResponse::default().with_partition_index(index);
            match found {
                Ok(Found { offset, timestamp, epoch }) => {
                    let answer = answer.with_error_code(OK).with_offset(offset).with_timestamp(timestamp);
                    if call.version >= 4 { answer.with_leader_epoch(epoch) } else { answer }
                }
                Err(code) => answer.with_error_code(code).with_offset(-1).with_timestamp(-1),
            }
        });
        ListOffsetsTopicResponse::default().with_name(topic.name.clone()).with_partitions(partitions.collect())
    });
    ListOffsetsResponse::default().with_topics(topics.collect())
}

/// What is found: an offset, its record's timestamp where one was asked for, and its leader epoch; -1 for nothing.
struct Found {
    offset: i64,
    timestamp: i64,
    epoch: i32,
}

/// The smallest timestamp that stands for something in a version.
fn first_special(version: i16) -> i64 {
    match version {
        ..7 => EARLIEST,
        7 => LARGEST_TIMESTAMP,
        8 => EARLIEST_LOCAL,
        _ => LATEST_TIERED,
    }
}

fn find(log: &Log, timestamp: i64, isolation_level: i8) -> Found {
    let end = if isolation_level == 1 { log.last_stable() } else { log.end() };
    let (offset, timestamp) = match timestamp {
        LATEST => return Found { offset: end, timestamp: -1, epoch: log.leader_epoch() },
        EARLIEST | EARLIEST_LOCAL => (log.start(), -1),
        LARGEST_TIMESTAMP => log.latest_by_time().unwrap_or(NOTHING),
        LATEST_TIERED => NOTHING,
        _ => log.find_by_time(timestamp, end).unwrap_or(NOTHING),
    };
    let epoch = if offset < 0 { -1 } else { log.epoch_at(offset) };
    Found { offset, timestamp, epoch }
}
