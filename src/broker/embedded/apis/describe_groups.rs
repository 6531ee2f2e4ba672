//! DescribeGroups, versions 0 to 6.
//!
//! - 1: throttle time. 3: authorized operations. 4: static members. 5: flexible.
//! - 6: a group that does not exist is an error with a text; before, it is described as `Dead`.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::{DescribeGroupsRequest, DescribeGroupsResponse};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::State;
use super::text;

pub(in super::super) static SHAPE: Shape =
    Shape { flexible: 5, fields: &[always(Kind::List(&Kind::Text)), since(3, Kind::Fixed(1))] };

/// All operations that a group knows: read, delete, describe, and describe and alter its configuration.
const GROUP_OPERATIONS: i32 = 0b1101_0100_1000;

pub(in super::super) fn handle(
    state: &State,
    call: &Call<'_>,
    request: &DescribeGroupsRequest,
) -> DescribeGroupsResponse {
    let groups = request.groups.iter().map(|id| {
        let mut group = DescribedGroup::default().with_group_id(id.clone());
        if request.include_authorized_operations {
            group.authorized_operations = GROUP_OPERATIONS;
        }
        match (call.errors.whole(), state.groups.get(id)) {
            (Some(code), _) => group.with_error_code(code),
            (None, Some(_)) => group.with_group_state(text("Empty")),
            (None, None) if call.version >= 6 => group
                .with_error_code(ResponseError::GroupIdNotFound.code())
                .with_error_message(Some(text(format!("Group {} not found.", &**id))))
                .with_group_state(text("Dead")),
            (None, None) => group.with_group_state(text("Dead")),
        }
    });
    DescribeGroupsResponse::default().with_groups(groups.collect())
}
