//! Members of groups, request by request.

use bytes::Bytes;
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, GroupId, HeartbeatRequest, JoinGroupRequest,
    JoinGroupResponse, LeaveGroupRequest, OffsetCommitRequest, SyncGroupRequest,
};
use uuid::Uuid;

use crate::client::{text, topic_name};

pub(crate) const GROUP: &str = "fulfilment";

pub(crate) fn group() -> GroupId {
    GroupId(text(GROUP))
}

/// A join with a session of 10 s and 30 s for a rebalance.
pub(crate) fn join(member_id: &str, instance_id: Option<&str>, protocols: &[&str]) -> JoinGroupRequest {
    let protocols = protocols.iter().map(|name| {
        JoinGroupRequestProtocol::default().with_name(text(name)).with_metadata(Bytes::from(format!("to {name}")))
    });
    JoinGroupRequest::default()
        .with_group_id(group())
        .with_session_timeout_ms(10_000)
        .with_rebalance_timeout_ms(30_000)
        .with_member_id(text(member_id))
        .with_group_instance_id(instance_id.map(text))
        .with_protocol_type(text("consumer"))
        .with_protocols(protocols.collect())
}

pub(crate) fn sync(joined: &JoinGroupResponse, assignments: &[(&str, &'static str)]) -> SyncGroupRequest {
    let assignments = assignments.iter().map(|(member_id, assignment)| {
        SyncGroupRequestAssignment::default().with_member_id(text(member_id)).with_assignment((*assignment).into())
    });
    SyncGroupRequest::default()
        .with_group_id(group())
        .with_generation_id(joined.generation_id)
        .with_member_id(joined.member_id.clone())
        .with_protocol_type(joined.protocol_type.clone())
        .with_protocol_name(joined.protocol_name.clone())
        .with_assignments(assignments.collect())
}

pub(crate) fn heartbeat(member_id: &str, instance_id: Option<&str>, generation: i32) -> HeartbeatRequest {
    HeartbeatRequest::default()
        .with_group_id(group())
        .with_generation_id(generation)
        .with_member_id(text(member_id))
        .with_group_instance_id(instance_id.map(text))
}

pub(crate) fn leave(member_id: &str, instance_id: Option<&str>) -> LeaveGroupRequest {
    let member =
        MemberIdentity::default().with_member_id(text(member_id)).with_group_instance_id(instance_id.map(text));
    LeaveGroupRequest::default().with_group_id(group()).with_members(vec![member])
}

pub(crate) fn commit(member_id: &str, instance_id: Option<&str>, epoch: i32) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition::default().with_committed_offset(1).with_committed_leader_epoch(4);
    let topic = OffsetCommitRequestTopic::default().with_name(topic_name("orders")).with_partitions(vec![partition]);
    OffsetCommitRequest::default()
        .with_group_id(group())
        .with_generation_id_or_member_epoch(epoch)
        .with_member_id(text(member_id))
        .with_group_instance_id(instance_id.map(text))
        .with_topics(vec![topic])
}

/// A heartbeat of KIP-848 that says nothing new.
pub(crate) fn beat(member_id: &str, epoch: i32) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest::default()
        .with_group_id(group())
        .with_member_id(text(member_id))
        .with_member_epoch(epoch)
        .with_rebalance_timeout_ms(-1)
        .with_subscribed_topic_names(None)
        .with_topic_partitions(None)
}

/// A heartbeat of KIP-848 that joins, with 30 s for giving partitions up.
pub(crate) fn beat_in(member_id: &str, topics: &[&str]) -> ConsumerGroupHeartbeatRequest {
    beat(member_id, 0)
        .with_rebalance_timeout_ms(30_000)
        .with_subscribed_topic_names(Some(topics.iter().map(|name| topic_name(name)).collect()))
        .with_topic_partitions(Some(Vec::new()))
}

/// Adds what a member owns to its heartbeat.
pub(crate) fn owning(
    request: ConsumerGroupHeartbeatRequest,
    topic: Uuid,
    partitions: &[i32],
) -> ConsumerGroupHeartbeatRequest {
    let owned = TopicPartitions::default().with_topic_id(topic).with_partitions(partitions.to_vec());
    request.with_topic_partitions(Some(if partitions.is_empty() { Vec::new() } else { vec![owned] }))
}

/// The partitions that an answer assigns; `None` where it leaves them as they are.
pub(crate) fn assigned(answer: &ConsumerGroupHeartbeatResponse) -> Option<Vec<i32>> {
    let assignment = answer.assignment.as_ref()?;
    Some(assignment.topic_partitions.iter().flat_map(|topic| topic.partitions.iter().copied()).collect())
}
