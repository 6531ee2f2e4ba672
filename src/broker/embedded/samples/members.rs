//! Requests of members of groups.

use bytes::Bytes;
use kafka_protocol::messages as m;
use kafka_protocol::messages::*;
use uuid::Uuid;

use super::super::api::Api;
use super::requests::{MEMBER, frame, group, s, topic};

/// A join; static from the first version on that has static members: they are not told their id first.
pub(super) fn join(version: i16) -> Bytes {
    use m::join_group_request::*;
    let protocol = JoinGroupRequestProtocol::default().with_name(s("range")).with_metadata("topics".into());
    let mut request = JoinGroupRequest::default()
        .with_group_id(group())
        .with_session_timeout_ms(10_000)
        .with_protocol_type(s("consumer"))
        .with_protocols(vec![protocol]);
    if version >= 1 {
        request.rebalance_timeout_ms = 30_000;
    }
    if version >= 5 {
        request.group_instance_id = Some(s("one"));
    }
    if version >= 8 {
        request.reason = Some(s("started"));
    }
    frame(Api::JoinGroup, version, &request)
}

pub(super) fn sync(version: i16) -> Bytes {
    use m::sync_group_request::*;
    let assignment = SyncGroupRequestAssignment::default().with_member_id(s(MEMBER));
    let mut request = SyncGroupRequest::default()
        .with_group_id(group())
        .with_generation_id(1)
        .with_member_id(s(MEMBER))
        .with_assignments(vec![assignment.with_assignment("partitions".into())]);
    if version >= 5 {
        (request.protocol_type, request.protocol_name) = (Some(s("consumer")), Some(s("range")));
    }
    frame(Api::SyncGroup, version, &request)
}

pub(super) fn heartbeat(version: i16) -> Bytes {
    let request = HeartbeatRequest::default().with_group_id(group()).with_generation_id(1);
    frame(Api::Heartbeat, version, &request.with_member_id(s(MEMBER)))
}

pub(super) fn leave(version: i16) -> Bytes {
    use m::leave_group_request::*;
    let mut request = LeaveGroupRequest::default().with_group_id(group());
    if version >= 3 {
        let mut member = MemberIdentity::default().with_member_id(s(MEMBER));
        if version >= 5 {
            member.reason = Some(s("stopped"));
        }
        request.members = vec![member];
    } else {
        request.member_id = s(MEMBER);
    }
    frame(Api::LeaveGroup, version, &request)
}

/// A heartbeat by the protocol of KIP-848, of a member that has joined.
pub(super) fn consumer_heartbeat(version: i16, topic_id: Uuid) -> Bytes {
    use m::consumer_group_heartbeat_request::*;
    let owned = TopicPartitions::default().with_topic_id(topic_id).with_partitions(vec![0]);
    let request = ConsumerGroupHeartbeatRequest::default()
        .with_group_id(group())
        .with_member_id(s(MEMBER))
        .with_member_epoch(2)
        .with_rack_id(Some(s("rack")))
        .with_rebalance_timeout_ms(30_000)
        .with_subscribed_topic_names(Some(vec![topic("orders")]))
        .with_server_assignor(Some(s("uniform")))
        .with_topic_partitions(Some(vec![owned]));
    frame(Api::ConsumerGroupHeartbeat, version, &request)
}
