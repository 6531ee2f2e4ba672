//! Damage done to answers.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::*;

use super::super::api::Api;
use super::super::core::Outcome;
use crate::broker::batch::BatchHeader;

/// One kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoil {
    WrongCorrelation,
    Garbage,
    CutShort(usize),
    BreakOff(usize),
    Torn { bytes: usize, pause: Duration },
    FrameLength(i32),
    ArrayCount(i32),
    WrongCrc,
    BatchLength(i32),
    RecordCount(i32),
}

impl Spoil {
    /// Whether it is about record batches.
    pub(crate) fn is_about_batches(self) -> bool {
        matches!(self, Self::WrongCrc | Self::BatchLength(_) | Self::RecordCount(_))
    }

    /// Whether it can be done to an answer, which may have record batches.
    pub(crate) fn fits(self, api: Api, version: i16, has_batches: bool) -> bool {
        match self {
            Self::ArrayCount(_) => first_array(api, version).is_some(),
            _ => has_batches || !self.is_about_batches(),
        }
    }
}

/// All that is done to one answer.
#[derive(Debug, Default)]
pub(crate) struct Spoils {
    pub(crate) throttle: Option<Duration>,
    pub(crate) damages: Vec<Spoil>,
}

impl Spoils {
    /// Says in an answer that the client is to wait.
    pub(crate) fn throttle(&self, answer: &mut impl Throttled) {
        if let Some(time) = self.throttle {
            *answer.throttle_time_ms() = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
        }
    }

    /// Damages the first record batch of an answer to a fetch.
    pub(crate) fn damage_batch(&self, answer: &mut FetchResponse) {
        let partitions = answer.responses.iter_mut().flat_map(|topic| &mut topic.partitions);
        let Some(records) = partitions.filter_map(|one| one.records.as_mut()).find(|records| !records.is_empty())
        else {
            return;
        };
        let Ok(header) = BatchHeader::check(records) else { return };
        let mut bytes = BytesMut::from(&records[..]);
        for damage in &self.damages {
            match damage {
                Spoil::WrongCrc => bytes[17] ^= 0xff,
                Spoil::BatchLength(length) => bytes[8..12].copy_from_slice(&length.to_be_bytes()),
                Spoil::RecordCount(count) => {
                    bytes[57..61].copy_from_slice(&count.to_be_bytes());
                    let crc = crc32c::crc32c(&bytes[21..header.size]);
                    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
                }
                _ => {}
            }
        }
        *records = bytes.freeze();
    }

    /// Damages an encoded answer, whose length is before it.
    pub(crate) fn damage_frame(&self, api: Api, version: i16, frame: Bytes) -> Outcome {
        if self.damages.iter().all(|damage| damage.is_about_batches()) {
            return Outcome::Reply(frame);
        }
        let mut frame = BytesMut::from(&frame[..]);
        let mut end: fn(Bytes) -> Outcome = Outcome::Reply;
        let mut torn = None;
        for damage in &self.damages {
            match *damage {
                Spoil::WrongCorrelation => frame[7] ^= 0x55,
                Spoil::Garbage => fill_with_noise(&mut frame[8..]),
                Spoil::CutShort(bytes) => {
                    frame.truncate(bytes.saturating_add(4));
                    restate_length(&mut frame);
                }
                Spoil::ArrayCount(count) => recount(api, version, &mut frame, count),
                Spoil::FrameLength(length) => frame[..4].copy_from_slice(&length.to_be_bytes()),
                Spoil::BreakOff(bytes) => {
                    frame.truncate(bytes);
                    end = Outcome::Last;
                }
                Spoil::Torn { bytes, pause } => torn = Some((bytes, pause)),
                Spoil::WrongCrc | Spoil::BatchLength(_) | Spoil::RecordCount(_) => {}
            }
        }
        match torn {
            Some((bytes, pause)) => {
                let rest = frame.split_off(bytes.min(frame.len()));
                Outcome::Torn(frame.freeze(), pause, Box::new(end(rest.freeze())))
            }
            None => end(frame.freeze()),
        }
    }
}

/// Noise without a pattern that a decoder might like (xorshift), the same each time.
fn fill_with_noise(bytes: &mut [u8]) {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for byte in bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = state as u8;
    }
}

fn restate_length(frame: &mut BytesMut) {
    let length = frame.len() as i32 - 4;
    frame[..4].copy_from_slice(&length.to_be_bytes());
}

/// Sets the number of elements that the first array announces.
fn recount(api: Api, version: i16, frame: &mut BytesMut, count: i32) {
    let Some(at) = first_array(api, version) else { return };
    let is_compact = version >= api.shape().flexible;
    // ApiVersions is answered without tagged fields in the header, so that clients understand it before they know more.
    let header = if is_compact && api != Api::ApiVersions { 9 } else { 8 };
    let at = header + at;
    if at >= frame.len() {
        return;
    }
    let (announced, length) = if is_compact {
        let length = frame[at..].iter().take_while(|byte| **byte >= 0x80).count() + 1;
        let mut announced = Vec::new();
        let mut rest = (count as u32).wrapping_add(1);
        while rest >= 0x80 {
            announced.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        announced.push(rest as u8);
        (announced, length)
    } else {
        (count.to_be_bytes().to_vec(), 4)
    };
    let rest = frame.split_off((at + length).min(frame.len()));
    frame.truncate(at);
    frame.extend_from_slice(&announced);
    frame.extend_from_slice(&rest);
    restate_length(frame);
}

/// Where the first array lies in an answer, from the end of its header on.
fn first_array(api: Api, version: i16) -> Option<usize> {
    let throttle_since = |first: i16| if version >= first { 4 } else { 0 };
    match api {
        Api::Produce => Some(0),
        // Behind the throttle time lie an error and the session's id.
        Api::Fetch => Some(if version >= 7 { 10 } else { 4 }),
        Api::ListOffsets | Api::OffsetForLeaderEpoch => Some(throttle_since(2)),
        Api::Metadata | Api::OffsetCommit | Api::OffsetFetch => Some(throttle_since(3)),
        Api::FindCoordinator => (version >= 4).then_some(4),
        Api::DescribeGroups => Some(throttle_since(1)),
        // Behind an error.
        Api::ListGroups => Some(throttle_since(1) + 2),
        Api::LeaveGroup => (version >= 3).then_some(6),
        Api::OffsetDelete => Some(6),
        Api::ApiVersions => Some(2),
        Api::CreateTopics
        | Api::DeleteTopics
        | Api::DeleteRecords
        | Api::DescribeConfigs
        | Api::AlterConfigs
        | Api::CreatePartitions
        | Api::DeleteGroups
        | Api::IncrementalAlterConfigs
        | Api::AddPartitionsToTxn
        | Api::TxnOffsetCommit
        | Api::ConsumerGroupDescribe
        | Api::DescribeTopicPartitions => Some(4),
        Api::InitProducerId
        | Api::DescribeCluster
        | Api::AddOffsetsToTxn
        | Api::EndTxn
        | Api::Heartbeat
        // Texts of any length come before their arrays.
        | Api::JoinGroup
        | Api::SyncGroup
        | Api::ConsumerGroupHeartbeat => None,
    }
}

/// An answer that can tell a client to wait.
pub(crate) trait Throttled {
    /// How long it is to wait, in milliseconds.
    fn throttle_time_ms(&mut self) -> &mut i32;
}

macro_rules! throttled {
    ($($response:ident,)*) => {
        $(impl Throttled for $response {
            fn throttle_time_ms(&mut self) -> &mut i32 {
                &mut self.throttle_time_ms
            }
        })*
    };
}

throttled! {
    AddOffsetsToTxnResponse, AddPartitionsToTxnResponse, EndTxnResponse, TxnOffsetCommitResponse,
    AlterConfigsResponse, ApiVersionsResponse, CreatePartitionsResponse, CreateTopicsResponse, DeleteGroupsResponse,
    DeleteRecordsResponse, DeleteTopicsResponse, DescribeClusterResponse, DescribeConfigsResponse,
    DescribeGroupsResponse, DescribeTopicPartitionsResponse, FetchResponse, FindCoordinatorResponse,
    IncrementalAlterConfigsResponse, InitProducerIdResponse, ListGroupsResponse, ListOffsetsResponse, MetadataResponse,
    ConsumerGroupDescribeResponse, ConsumerGroupHeartbeatResponse, HeartbeatResponse, JoinGroupResponse, LeaveGroupResponse, OffsetCommitResponse, OffsetDeleteResponse,
    OffsetFetchResponse, OffsetForLeaderEpochResponse, ProduceResponse, SyncGroupResponse,
}
