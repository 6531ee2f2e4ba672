//! DeleteGroups, versions 0 to 2.
//!
//! - 1: throttling as in Kafka 2.0. 2: flexible.
//!
//! A group that has members stays: NON_EMPTY_GROUP.

use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::{DeleteGroupsRequest, DeleteGroupsResponse};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always};
use super::super::state::State;
use super::OK;

pub(in super::super) static SHAPE: Shape = Shape { flexible: 2, fields: &[always(Kind::List(&Kind::Text))] };

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &DeleteGroupsRequest,
) -> DeleteGroupsResponse {
    let results = request.groups_names.iter().map(|id| {
        let code = match call.errors.whole() {
            Some(code) => code,
            None => state.groups.remove(id).map_or_else(|error| error.code(), |()| OK),
        };
        DeletableGroupResult::default().with_group_id(id.clone()).with_error_code(code)
    });
    let results = results.collect();
    DeleteGroupsResponse::default().with_results(results)
}
