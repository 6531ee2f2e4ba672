//! Fetch, versions 4 to 17.
//!
//! - 4: isolation level; last stable offset and aborted transactions. 5: log start offset. 6: nothing new in shape.
//! - 7: fetch sessions and an error of the answer as a whole. 8: throttling as in Kafka 2.0. 9: leader epochs.
//! - 10: zstd. 11: racks. 12: flexible; diverging epochs. 13: topics by id. 14: nothing new in shape.
//! - 15: the replica's state in a tagged field. 16: brokers' addresses in the answer. 17: the replica's directory.
//!
//! Sessions are not kept: the answer's session id is always 0, which tells the client to name all its partitions each
//! time. The first batch comes whole whatever the limits (KIP-74), the last may be cut off.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::{AbortedTransaction, FetchableTopicResponse, PartitionData};
use kafka_protocol::messages::{FetchRequest, FetchResponse, ProducerId};
use uuid::Uuid;

use super::super::core::Call;
use super::super::log::{LEADER_EPOCH, Log};
use super::super::shape::{Kind, Shape, always, between, since, until};
use super::super::state::State;
use super::super::topics::Topics;
use super::{OK, resolve};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 12,
    fields: &[
        until(14, Kind::Fixed(4)),
        always(Kind::Fixed(13)),
        since(7, Kind::Fixed(8)),
        always(Kind::Structs(&[
            until(12, Kind::Text),
            since(13, Kind::Fixed(16)),
            always(Kind::Structs(&[
                always(Kind::Fixed(4)),
                since(9, Kind::Fixed(4)),
                always(Kind::Fixed(8)),
                since(12, Kind::Fixed(4)),
                since(5, Kind::Fixed(8)),
                always(Kind::Fixed(4)),
                since(17, Kind::Tagged(0, &Kind::Fixed(16))),
            ])),
        ])),
        since(
            7,
            Kind::Structs(&[
                between(7, 12, Kind::Text),
                since(13, Kind::Fixed(16)),
                always(Kind::List(&Kind::Fixed(4))),
            ]),
        ),
        since(11, Kind::Text),
        always(Kind::Tagged(0, &Kind::Text)),
        always(Kind::Tagged(1, &Kind::Struct(&[always(Kind::Fixed(12))]))),
    ],
};

/// The most bytes of one answer, as in Kafka (`fetch.max.bytes`), whatever the client asks for.
const MAX_BYTES: usize = 55 << 20;
/// Only records of decided transactions are asked for.
const READ_COMMITTED: i8 = 1;

/// Whether a fetch may be put off until there is enough data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Wait {
    Allowed,
    /// It has waited as long as it wanted to.
    Over,
}

/// Answers a fetch, or says how long it wants to wait for data.
pub(in super::super) fn handle(
    state: &State,
    call: &Call<'_>,
    request: &FetchRequest,
    wait: Wait,
) -> Result<FetchResponse, Duration> {
    let whole = call.errors.whole().filter(|code| is_about_sessions(*code));
    let in_session = request.session_id != 0 || request.session_epoch > 0;
    let session = in_session.then_some(ResponseError::FetchSessionIdNotFound.code());
    if let Some(code) = whole.or(session) {
        return Ok(FetchResponse::default().with_error_code(code));
    }
    let longest = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    if wait == Wait::Allowed && !longest.is_zero() && !is_enough(state, call, request) {
        return Err(longest);
    }
    let mut room = usize::try_from(request.max_bytes).unwrap_or(0).min(MAX_BYTES);
    let mut empty = true;
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            let data = match locate(state, call, topic, partition) {
                Ok(log) => read(log, request, partition, room, empty),
                Err(code) => failed(code),
            };
            let size = data.records.as_ref().map_or(0, Bytes::len);
            room = room.saturating_sub(size);
            empty &= size == 0;
            data.with_partition_index(partition.partition)
        });
        let partitions = partitions.collect();
        FetchableTopicResponse::default()
            .with_topic(topic.topic.clone())
            .with_topic_id(topic.topic_id)
            .with_partitions(partitions)
    });
    let topics = topics.collect();
    Ok(FetchResponse::default().with_responses(topics))
}

/// Whether a fetch reads one of `changed`, or names a topic that is not there (any more).
pub(in super::super) fn watches(
    request: &FetchRequest,
    version: i16,
    changed: &HashSet<(Uuid, i32)>,
    topics: &Topics,
) -> bool {
    if changed.is_empty() {
        return false;
    }
    request.topics.iter().any(|topic| {
        let name = resolve(topics, version, 13, &topic.topic, topic.topic_id);
        match name.ok().and_then(|name| topics.get(&name)) {
            Some(found) => topic.partitions.iter().any(|one| changed.contains(&(found.id, one.partition))),
            None => true,
        }
    })
}

/// Whether there are as many bytes as the client wants, or something that it should hear of at once.
fn is_enough(state: &State, call: &Call<'_>, request: &FetchRequest) -> bool {
    let most = usize::try_from(request.max_bytes).unwrap_or(0).min(MAX_BYTES);
    let wanted = usize::try_from(request.min_bytes).unwrap_or(0).min(most);
    let mut there = 0;
    for topic in &request.topics {
        for partition in &topic.partitions {
            let Ok(log) = locate(state, call, topic, partition) else { return true };
            let most = usize::try_from(partition.partition_max_bytes).unwrap_or(0).max(1);
            there += log.available(partition.fetch_offset, readable_end(log, request), most);
        }
    }
    there >= wanted
}

/// The log that is asked for, where the offset lies within it.
fn locate<'a>(
    state: &'a State,
    call: &Call<'_>,
    topic: &FetchTopic,
    partition: &FetchPartition,
) -> Result<&'a Log, i16> {
    let name = resolve(&state.topics, call.version, 13, &topic.topic, topic.topic_id).map_err(|e| e.code())?;
    if let Some(code) = call.errors.partition(&name, partition.partition) {
        return Err(code);
    }
    let log = state.topics.get(&name).and_then(|topic| topic.log(partition.partition));
    let log = log.ok_or(ResponseError::UnknownTopicOrPartition.code())?;
    if partition.current_leader_epoch > LEADER_EPOCH {
        return Err(ResponseError::UnknownLeaderEpoch.code());
    }
    if !(log.start()..=log.end()).contains(&partition.fetch_offset) {
        return Err(ResponseError::OffsetOutOfRange.code());
    }
    Ok(log)
}

fn read(
    log: &Log,
    request: &FetchRequest,
    partition: &FetchPartition,
    room: usize,
    whole_first: bool,
) -> PartitionData {
    let end = readable_end(log, request);
    let most = usize::try_from(partition.partition_max_bytes).unwrap_or(0).min(room);
    let aborted = (request.isolation_level == READ_COMMITTED).then(|| {
        let aborted = log.aborted(partition.fetch_offset, end).into_iter().map(|aborted| {
            AbortedTransaction::default()
                .with_producer_id(ProducerId(aborted.producer_id))
                .with_first_offset(aborted.first_offset)
        });
        aborted.collect()
    });
    PartitionData::default()
        .with_error_code(OK)
        .with_high_watermark(log.end())
        .with_last_stable_offset(log.last_stable())
        .with_log_start_offset(log.start())
        .with_aborted_transactions(aborted)
        .with_records(Some(log.read(partition.fetch_offset, end, most, whole_first)))
}

fn readable_end(log: &Log, request: &FetchRequest) -> i64 {
    if request.isolation_level == READ_COMMITTED { log.last_stable() } else { log.end() }
}

fn failed(code: i16) -> PartitionData {
    PartitionData::default()
        .with_error_code(code)
        .with_high_watermark(-1)
        .with_last_stable_offset(-1)
        .with_log_start_offset(-1)
        .with_aborted_transactions(None)
        .with_records(Some(Bytes::new()))
}

fn is_about_sessions(code: i16) -> bool {
    code == ResponseError::FetchSessionIdNotFound.code() || code == ResponseError::InvalidFetchSessionEpoch.code()
}
