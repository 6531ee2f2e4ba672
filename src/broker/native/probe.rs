use bytes::Bytes;
use kafka_protocol::messages::{
    ApiVersionsRequest, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, CreatePartitionsRequest,
    CreateTopicsRequest, DeleteGroupsRequest, DeleteRecordsRequest, DeleteTopicsRequest, DescribeConfigsRequest,
    DescribeGroupsRequest, FetchRequest, FindCoordinatorRequest, HeartbeatRequest, IncrementalAlterConfigsRequest,
    InitProducerIdRequest, JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest, ListOffsetsRequest, MetadataRequest,
    OffsetCommitRequest, OffsetFetchRequest, OffsetForLeaderEpochRequest, ProduceRequest, SaslAuthenticateRequest,
    SaslHandshakeRequest, SyncGroupRequest,
};

use super::api::{Api, decode};

macro_rules! kinds {
    ($($request:ident),* $(,)?) => {
        const KINDS: &[fn(&Bytes, i16) -> bool] = &[$(one::<$request>),*];
    };
}

kinds! {
    ApiVersionsRequest, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, CreatePartitionsRequest, CreateTopicsRequest, DeleteGroupsRequest, DeleteRecordsRequest, DeleteTopicsRequest, DescribeConfigsRequest, DescribeGroupsRequest, FetchRequest, FindCoordinatorRequest, HeartbeatRequest, IncrementalAlterConfigsRequest, InitProducerIdRequest, JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest, OffsetFetchRequest, OffsetForLeaderEpochRequest, ProduceRequest, SaslAuthenticateRequest, SaslHandshakeRequest, SyncGroupRequest,
}

fn one<R: Api>(frame: &Bytes, version: i16) -> bool {
    let spoken = R::SPOKEN;
    let version = spoken.min + version.rem_euclid(spoken.max - spoken.min + 1);
    decode::<R>(frame.clone(), version).is_ok()
}

/// Reads arbitrary bytes as the frame of an answer, without its length, to a request of the kind and version that two
/// numbers choose; for fuzzing. Returns whether they are one.
#[doc(hidden)]
pub fn fuzz_answer(kind: u8, version: u8, frame: &[u8]) -> bool {
    KINDS[usize::from(kind) % KINDS.len()](&Bytes::copy_from_slice(frame), i16::from(version))
}
