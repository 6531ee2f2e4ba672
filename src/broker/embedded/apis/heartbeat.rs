//! Heartbeat, versions 0 to 4.
//!
//! - 1: throttle time. 3: static members. 4: flexible.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{HeartbeatRequest, HeartbeatResponse};

use super::super::core::Call;
use super::super::groups::classic::Claimed;
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::State;
use super::OK;

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 4,
    fields: &[always(Kind::Text), always(Kind::Fixed(4)), always(Kind::Text), since(3, Kind::Text)],
};

pub(in super::super) fn handle(state: &mut State, call: &Call<'_>, request: &HeartbeatRequest) -> HeartbeatResponse {
    let code = call.errors.whole().unwrap_or_else(|| match beat(state, call, request) {
        Ok(()) => OK,
        Err(error) => error.code(),
    });
    HeartbeatResponse::default().with_error_code(code)
}

fn beat(state: &mut State, call: &Call<'_>, request: &HeartbeatRequest) -> Result<(), ResponseError> {
    if request.group_id.is_empty() {
        return Err(ResponseError::InvalidGroupId);
    }
    let claimed = Claimed {
        member_id: &request.member_id,
        instance_id: request.group_instance_id.as_deref(),
        generation: request.generation_id,
    };
    let now = call.now.elapsed;
    state.groups.with_classic(now, &request.group_id, |classic, turn| classic.heartbeat(turn, claimed))?
}
