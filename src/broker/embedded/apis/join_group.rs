//! JoinGroup, versions 0 to 9.
//!
//! - 1: a rebalance timeout of its own. 2: throttle time. 4: a new member is told its id (MEMBER_ID_REQUIRED) and asks
//!   again with that.
//! - 5: static members. 6: flexible. 7: the protocol type in the answer. 8: a reason.
//! - 9: a static leader that comes back is told not to assign (KIP-814).
//!
//! It is answered when all members have joined.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use kafka_protocol::messages::{JoinGroupRequest, JoinGroupResponse};
use kafka_protocol::protocol::StrBytes;

use super::super::core::Call;
use super::super::groups::Ticket;
use super::super::groups::classic::{Join, Joined, NotJoined};
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::State;
use super::{OK, own, own_instance, text};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 6,
    fields: &[
        always(Kind::Text),
        always(Kind::Fixed(4)),
        since(1, Kind::Fixed(4)),
        always(Kind::Text),
        since(5, Kind::Text),
        always(Kind::Text),
        always(Kind::Structs(&[always(Kind::Text), always(Kind::Blob)])),
        since(8, Kind::Text),
    ],
};

/// Answers at once, or says by which name the answer will come.
pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &JoinGroupRequest,
) -> Result<JoinGroupResponse, Ticket> {
    let invalid = request.group_id.is_empty().then_some(ResponseError::InvalidGroupId.code());
    if let Some(code) = call.errors.whole().or(invalid) {
        return Ok(refused(call.version, code, request.member_id.clone()));
    }
    let ticket = state.groups.ticket();
    let instance_id = own_instance(request.group_instance_id.as_ref());
    let prefix = instance_id.as_ref().unwrap_or(&call.client.id);
    let new_member_id = text(format!("{}-{}", &**prefix, state.new_uuid()));
    let session_timeout = millis(request.session_timeout_ms);
    let join = Join {
        ticket,
        version: call.version,
        member_id: own(&request.member_id),
        new_member_id,
        instance_id,
        client: call.client.clone(),
        session_timeout,
        rebalance_timeout: if call.version >= 1 { millis(request.rebalance_timeout_ms) } else { session_timeout },
        protocol_type: own(&request.protocol_type),
        protocols: request
            .protocols
            .iter()
            .map(|protocol| (own(&protocol.name), Bytes::copy_from_slice(&protocol.metadata)))
            .collect(),
    };
    state.groups.join(call.now.elapsed, &request.group_id, join);
    Err(ticket)
}

/// What is answered once it is known.
pub(in super::super) fn answer(version: i16, outcome: Result<Joined, NotJoined>) -> JoinGroupResponse {
    let joined = match outcome {
        Ok(joined) => joined,
        Err(NotJoined { error, member_id }) => return refused(version, error.code(), member_id),
    };
    let members = joined.members.into_iter().map(|(id, instance_id, metadata)| {
        let instance_id = instance_id.filter(|_| version >= 5);
        JoinGroupResponseMember::default()
            .with_member_id(id)
            .with_group_instance_id(instance_id)
            .with_metadata(metadata)
    });
    JoinGroupResponse::default()
        .with_error_code(OK)
        .with_generation_id(joined.generation)
        .with_protocol_type((version >= 7).then_some(joined.protocol_type))
        .with_protocol_name(Some(joined.protocol))
        .with_leader(joined.leader)
        .with_skip_assignment(joined.skip_assignment)
        .with_member_id(joined.member_id)
        .with_members(members.collect())
}

fn refused(version: i16, code: i16, member_id: StrBytes) -> JoinGroupResponse {
    JoinGroupResponse::default()
        .with_error_code(code)
        .with_generation_id(-1)
        .with_protocol_name((version < 7).then(StrBytes::new))
        .with_member_id(member_id)
}

fn millis(millis: i32) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
