//! Fetch, versions 4 to 17.
//!
//! - 4: isolation level; last stable offset and aborted transactions. 5: log start offset. 6: nothing new in shape.
//! - 7: fetch sessions and an error of the answer as a whole. 8: throttling as in Kafka 2.0.
//! - 9: leader epochs, the client's checked against the leader's.
//! - 10: zstd. 11: racks. 12: flexible; the epoch fetched last, and diverging epochs. 13: topics by id. 14: nothing new in shape.
//! - 15: the replica's state in a tagged field. 16: brokers' addresses in the answer. 17: the replica's directory.
//!
//! An answer within a session leaves out partitions of which there is no news. The first batch comes whole whatever the limits (KIP-74), the last may be cut off.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::fetch_request::FetchPartition;
use kafka_protocol::messages::fetch_response::{
    AbortedTransaction, EpochEndOffset, FetchableTopicResponse, PartitionData,
};
use kafka_protocol::messages::{FetchRequest, FetchResponse, ProducerId};
use uuid::Uuid;

use super::super::core::Call;
use super::super::log::Log;
use super::super::sessions::{Asked, Context, IDS_SINCE, Key};
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

/// Begins a fetch: says what it is about, in its session if it has one.
pub(in super::super) fn begin(state: &mut State, call: &Call<'_>, request: &FetchRequest) -> Context {
    state.sessions.begin(call.now.elapsed, call.version, request)
}

/// Answers a fetch, or says how long it wants to wait for data.
pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &FetchRequest,
    context: &Context,
    wait: Wait,
) -> Result<FetchResponse, Duration> {
    let refused = FetchResponse::default();
    let injected = call.errors.whole().filter(|code| is_about_sessions(*code));
    if let Some(code) = injected.or_else(|| context.refused().map(|error| error.code())) {
        return Ok(refused.with_error_code(code));
    }
    let longest = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    if wait == Wait::Allowed && !longest.is_zero() && !is_enough(state, call, request, context) {
        return Err(longest);
    }
    let mut room = usize::try_from(request.max_bytes).unwrap_or(0).min(MAX_BYTES);
    let mut empty = true;
    let read = context.asked.iter().map(|asked| {
        let data = match locate(state, call, asked) {
            Ok((log, None)) => read(log, request, &asked.wanted, room, empty),
            Ok((log, Some((epoch, end)))) => {
                let diverging = EpochEndOffset::default().with_epoch(epoch).with_end_offset(end);
                stated(log, request).with_diverging_epoch(diverging)
            }
            Err(code) => failed(code),
        };
        let size = data.records.as_ref().map_or(0, Bytes::len);
        room = room.saturating_sub(size);
        empty &= size == 0;
        (asked.key.clone(), data.with_partition_index(asked.key.partition))
    });
    let mut read: Vec<_> = read.collect();
    match state.sessions.end(call.now.elapsed, context, &mut read) {
        Ok(session) => Ok(FetchResponse::default().with_session_id(session).with_responses(by_topic(read))),
        Err(error) => Ok(refused.with_error_code(error.code())),
    }
}

/// Puts partitions of the same topic that follow each other under one heading.
fn by_topic(read: Vec<(Key, PartitionData)>) -> Vec<FetchableTopicResponse> {
    let mut topics: Vec<FetchableTopicResponse> = Vec::new();
    for (key, data) in read {
        match topics.last_mut().filter(|last| last.topic == key.topic && last.topic_id == key.id) {
            Some(last) => last.partitions.push(data),
            None => {
                let topic = FetchableTopicResponse::default().with_topic(key.topic).with_topic_id(key.id);
                topics.push(topic.with_partitions(vec![data]));
            }
        }
    }
    topics
}

/// Whether a fetch reads one of `changed`, or names a topic that is not there (any more).
pub(in super::super) fn watches(
    context: &Context,
    version: i16,
    changed: &HashSet<(Uuid, i32)>,
    topics: &Topics,
) -> bool {
    !changed.is_empty()
        && context.asked.iter().any(|Asked { key, .. }| {
            let name = resolve(topics, version, IDS_SINCE, &key.topic, key.id);
            let found = name.ok().and_then(|name| topics.get(&name));
            found.is_none_or(|found| changed.contains(&(found.id, key.partition)))
        })
}

/// Whether there are as many bytes as the client wants, or something that it should hear of at once.
fn is_enough(state: &State, call: &Call<'_>, request: &FetchRequest, context: &Context) -> bool {
    if context.asked.is_empty() {
        return true;
    }
    let most = usize::try_from(request.max_bytes).unwrap_or(0).min(MAX_BYTES);
    let wanted = usize::try_from(request.min_bytes).unwrap_or(0).min(most);
    let mut there = 0;
    for asked in &context.asked {
        let Ok((log, None)) = locate(state, call, asked) else { return true };
        let most = usize::try_from(asked.wanted.partition_max_bytes).unwrap_or(0).max(1);
        there += log.available(asked.wanted.fetch_offset, readable_end(log, request), most);
    }
    there >= wanted
}

/// The largest leader epoch that a client's log and the leader's both know, and where it ended.
type Parting = (i32, i64);

/// The log that is asked for, where the offset lies within it; and where the client's log parts from it, if it does.
fn locate<'a>(state: &'a State, call: &Call<'_>, asked: &Asked) -> Result<(&'a Log, Option<Parting>), i16> {
    let Asked { key, wanted } = asked;
    let name = resolve(&state.topics, call.version, IDS_SINCE, &key.topic, key.id).map_err(|e| e.code())?;
    if let Some(code) = call.errors.partition(&name, key.partition) {
        return Err(code);
    }
    let log = state.topics.get(&name).and_then(|topic| topic.log(key.partition));
    let log = log.ok_or(ResponseError::UnknownTopicOrPartition.code())?;
    log.check_leader_epoch(wanted.current_leader_epoch).map_err(|error| error.code())?;
    let outside = ResponseError::OffsetOutOfRange.code();
    if wanted.last_fetched_epoch >= 0 {
        let (epoch, end) = log.end_of_epoch(wanted.last_fetched_epoch).ok_or(outside)?;
        if wanted.fetch_offset >= log.start() && (epoch < wanted.last_fetched_epoch || end < wanted.fetch_offset) {
            return Ok((log, Some((epoch, end))));
        }
    }
    if (log.start()..=log.end()).contains(&wanted.fetch_offset) { Ok((log, None)) } else { Err(outside) }
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
    stated(log, request).with_aborted_transactions(aborted).with_records(Some(log.read(
        partition.fetch_offset,
        end,
        most,
        whole_first,
    )))
}

/// What is answered of a log, without records.
fn stated(log: &Log, request: &FetchRequest) -> PartitionData {
    PartitionData::default()
        .with_error_code(OK)
        .with_high_watermark(log.end())
        .with_last_stable_offset(log.last_stable())
        .with_log_start_offset(log.start())
        .with_aborted_transactions((request.isolation_level == READ_COMMITTED).then(Vec::new))
        .with_records(Some(Bytes::new()))
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
    const ERRORS: [ResponseError; 3] = [
        ResponseError::FetchSessionIdNotFound,
        ResponseError::InvalidFetchSessionEpoch,
        ResponseError::FetchSessionTopicIdError,
    ];
    ERRORS.iter().any(|error| error.code() == code)
}
