//! SyncGroup, versions 0 to 5.
//!
//! - 1: throttle time. 3: static members. 4: flexible. 5: protocol type and name, in request and answer.
//!
//! It is answered when the leader has sent the assignment.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{SyncGroupRequest, SyncGroupResponse};

use super::super::core::Call;
use super::super::groups::classic::{Claimed, Sync, Synced};
use super::super::groups::{Answer, Ticket};
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::State;
use super::OK;

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 4,
    fields: &[
        always(Kind::Text),
        always(Kind::Fixed(4)),
        always(Kind::Text),
        since(3, Kind::Text),
        since(5, Kind::Text),
        since(5, Kind::Text),
        always(Kind::Structs(&[always(Kind::Text), always(Kind::Blob)])),
    ],
};

/// Answers at once, or says by which name the answer will come.
pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &SyncGroupRequest,
) -> Result<SyncGroupResponse, Ticket> {
    let lacks_protocol = call.version >= 5 && (request.protocol_type.is_none() || request.protocol_name.is_none());
    let invalid = if request.group_id.is_empty() {
        Some(ResponseError::InvalidGroupId.code())
    } else {
        lacks_protocol.then_some(ResponseError::InconsistentGroupProtocol.code())
    };
    if let Some(code) = call.errors.whole().or(invalid) {
        return Ok(SyncGroupResponse::default().with_error_code(code));
    }
    let ticket = state.groups.ticket();
    let sync = Sync {
        ticket,
        claimed: Claimed {
            member_id: &request.member_id,
            instance_id: request.group_instance_id.as_deref(),
            generation: request.generation_id,
        },
        protocol_type: request.protocol_type.as_deref(),
        protocol: request.protocol_name.as_deref(),
        assignments: request.assignments.iter().map(|one| (&*one.member_id, &one.assignment)).collect(),
    };
    let now = call.now.elapsed;
    let taken = state.groups.with_classic(now, &request.group_id, |classic, turn| classic.sync(turn, sync));
    if let Err(error) = taken {
        state.groups.answer(ticket, Answer::Sync(Err(error)));
    }
    Err(ticket)
}

/// What is answered once it is known.
pub(in super::super) fn answer(version: i16, outcome: Result<Synced, ResponseError>) -> SyncGroupResponse {
    match outcome {
        Ok(synced) => SyncGroupResponse::default()
            .with_error_code(OK)
            .with_protocol_type((version >= 5).then_some(synced.protocol_type))
            .with_protocol_name((version >= 5).then_some(synced.protocol))
            .with_assignment(synced.assignment),
        Err(error) => SyncGroupResponse::default().with_error_code(error.code()),
    }
}
