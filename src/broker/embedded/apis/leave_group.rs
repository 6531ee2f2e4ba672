//! LeaveGroup, versions 0 to 5.
//!
//! - 1: throttle time. 3: several members at once, static ones by their instance ids. 4: flexible. 5: a reason.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::leave_group_response::MemberResponse;
use kafka_protocol::messages::{LeaveGroupRequest, LeaveGroupResponse};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always, since, until};
use super::super::state::State;
use super::OK;

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 4,
    fields: &[
        always(Kind::Text),
        until(2, Kind::Text),
        since(3, Kind::Structs(&[always(Kind::Text), always(Kind::Text), since(5, Kind::Text)])),
    ],
};

pub(in super::super) fn handle(state: &mut State, call: &Call<'_>, request: &LeaveGroupRequest) -> LeaveGroupResponse {
    let invalid = request.group_id.is_empty().then_some(ResponseError::InvalidGroupId.code());
    if let Some(code) = call.errors.whole().or(invalid) {
        return LeaveGroupResponse::default().with_error_code(code);
    }
    let mut leave = |member_id: &str, instance_id: Option<&str>| {
        let left = state.groups.leave(call.now.elapsed, &request.group_id, member_id, instance_id);
        left.map_or_else(|error| error.code(), |()| OK)
    };
    if call.version < 3 {
        return LeaveGroupResponse::default().with_error_code(leave(&request.member_id, None));
    }
    let members = request.members.iter().map(|member| {
        MemberResponse::default()
            .with_member_id(member.member_id.clone())
            .with_group_instance_id(member.group_instance_id.clone())
            .with_error_code(leave(&member.member_id, member.group_instance_id.as_deref()))
    });
    let members = members.collect();
    LeaveGroupResponse::default().with_error_code(OK).with_members(members)
}
