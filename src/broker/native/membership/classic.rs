use bytes::Bytes;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::join_group_response::JoinGroupResponse;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    GroupId, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest, leave_group_request,
};
use kafka_protocol::protocol::StrBytes;

use super::super::call::Call;
use super::super::coordinator::Once;
use super::super::offsets::text;
use super::millis;
use crate::broker::{BrokerError, ErrorCode, JoinAnswer, JoinGroup, JoinedMember, MemberIdentity, SyncGroup};

/// The type of all protocols of consumers.
const CONSUMER: StrBytes = StrBytes::from_static_str("consumer");
/// How many characters of a reason are sent: what Java's client sends.
const REASON: usize = 255;

pub(super) async fn join(once: &Once<'_>, join: JoinGroup) -> Result<Result<JoinAnswer, String>, BrokerError> {
    let answer = once.send(|version| join_request(once.call, join, version)).await?;
    if ErrorCode(answer.error_code) == ErrorCode::MEMBER_ID_REQUIRED && !answer.member_id.is_empty() {
        return Ok(Err(answer.member_id.to_string()));
    }
    once.accepted(answer.error_code, None)?;
    Ok(Ok(joined(answer)))
}

fn join_request(call: &Call, join: JoinGroup, version: i16) -> Result<JoinGroupRequest, BrokerError> {
    let protocol = |(name, metadata): (String, Bytes)| {
        JoinGroupRequestProtocol::default().with_name(text(&name)).with_metadata(metadata)
    };
    let request = JoinGroupRequest::default()
        .with_group_id(GroupId(text(&join.group)))
        .with_session_timeout_ms(millis(join.session_timeout))
        .with_rebalance_timeout_ms(millis(join.rebalance_timeout))
        .with_member_id(text(&join.member.member_id))
        .with_group_instance_id(instance_id(call, &join.member, version, 5)?)
        .with_protocol_type(CONSUMER)
        .with_protocols(join.protocols.into_iter().map(protocol).collect());
    // Older versions leave it out.
    Ok(request.with_reason(join.reason.as_deref().map(reason)))
}

fn joined(answer: JoinGroupResponse) -> JoinAnswer {
    let member = |member: kafka_protocol::messages::join_group_response::JoinGroupResponseMember| JoinedMember {
        member_id: member.member_id.to_string(),
        instance_id: member.group_instance_id.map(|id| id.to_string()),
        subscription: member.metadata,
    };
    JoinAnswer {
        generation: answer.generation_id,
        protocol: answer.protocol_name.map(|name| name.to_string()).unwrap_or_default(),
        leader: answer.leader.to_string(),
        member_id: answer.member_id.to_string(),
        skip_assignment: answer.skip_assignment,
        members: answer.members.into_iter().map(member).collect(),
    }
}

pub(super) async fn sync(once: &Once<'_>, sync: SyncGroup) -> Result<Bytes, BrokerError> {
    let answer = once.send(|version| sync_request(once.call, sync, version)).await?;
    once.accepted(answer.error_code, None)?;
    Ok(answer.assignment)
}

fn sync_request(call: &Call, sync: SyncGroup, version: i16) -> Result<SyncGroupRequest, BrokerError> {
    let assignment = |(member, assignment): (String, Bytes)| {
        SyncGroupRequestAssignment::default().with_member_id(text(&member)).with_assignment(assignment)
    };
    Ok(SyncGroupRequest::default()
        .with_group_id(GroupId(text(&sync.group)))
        .with_generation_id(sync.member.epoch)
        .with_member_id(text(&sync.member.member_id))
        .with_group_instance_id(instance_id(call, &sync.member, version, 3)?)
        .with_protocol_type(Some(CONSUMER))
        .with_protocol_name(Some(text(&sync.protocol)))
        .with_assignments(sync.assignments.into_iter().map(assignment).collect()))
}

pub(super) async fn heartbeat(once: &Once<'_>, member: MemberIdentity) -> Result<(), BrokerError> {
    let request = |version| {
        Ok(HeartbeatRequest::default()
            .with_group_id(GroupId(text(once.group)))
            .with_generation_id(member.epoch)
            .with_member_id(text(&member.member_id))
            .with_group_instance_id(instance_id(once.call, &member, version, 3)?))
    };
    let answer = once.send(request).await?;
    once.accepted(answer.error_code, None)
}

pub(super) async fn leave(once: &Once<'_>, member: MemberIdentity, reason: &str) -> Result<(), BrokerError> {
    let answer = once.send(|version| Ok(leave_request(once.group, &member, reason, version))).await?;
    once.accepted(answer.error_code, None)?;
    let refused = answer.members.iter().map(|left| left.error_code).find(|code| *code != 0);
    once.accepted(refused.unwrap_or(0), None)
}

fn leave_request(group: &str, member: &MemberIdentity, reason: &str, version: i16) -> LeaveGroupRequest {
    /// The version from which on several members leave at once, static ones by their instance ids.
    const MEMBERS_SINCE: i16 = 3;
    let request = LeaveGroupRequest::default().with_group_id(GroupId(text(group)));
    if version < MEMBERS_SINCE {
        return request.with_member_id(text(&member.member_id));
    }
    let leaving = leave_group_request::MemberIdentity::default()
        .with_member_id(text(&member.member_id))
        .with_group_instance_id(member.instance_id.as_deref().map(text))
        .with_reason(Some(self::reason(reason)));
    request.with_members(vec![leaving])
}

fn reason(reason: &str) -> StrBytes {
    StrBytes::from_string(reason.chars().take(REASON).collect())
}

/// A member's instance id, which requests carry since a version.
fn instance_id(
    call: &Call,
    member: &MemberIdentity,
    version: i16,
    since: i16,
) -> Result<Option<StrBytes>, BrokerError> {
    match &member.instance_id {
        Some(id) if version < since => Err(BrokerError::Unsupported {
            doing: call.doing().to_owned(),
            remedy: format!(
                "the broker knows no static members, so instance id {id} cannot be used; leave it out, or use Kafka 2.3 or later"
            ),
        }),
        id => Ok(id.as_deref().map(text)),
    }
}
