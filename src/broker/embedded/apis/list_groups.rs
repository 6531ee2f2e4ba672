//! ListGroups, versions 0 to 5.
//!
//! - 1: throttle time. 3: flexible. 4: a filter by state, states in the answer. 5: the same for types.

use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::{GroupId, ListGroupsRequest, ListGroupsResponse};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, since};
use super::super::state::State;
use super::{OK, text};

pub(in super::super) static SHAPE: Shape =
    Shape { flexible: 3, fields: &[since(4, Kind::List(&Kind::Text)), since(5, Kind::List(&Kind::Text))] };

/// The state and type of a group that has offsets and no members.
const STATE: &str = "Empty";
const TYPE: &str = "classic";

pub(in super::super) fn handle(state: &State, call: &Call<'_>, request: &ListGroupsRequest) -> ListGroupsResponse {
    if let Some(code) = call.errors.whole() {
        return ListGroupsResponse::default().with_error_code(code);
    }
    let asked = |filter: &[kafka_protocol::protocol::StrBytes], word: &str| {
        filter.is_empty() || filter.iter().any(|wanted| wanted.eq_ignore_ascii_case(word))
    };
    let listed = asked(&request.states_filter, STATE) && asked(&request.types_filter, TYPE);
    let groups = state.groups.ids().filter(|_| listed).map(|id| {
        let mut group = ListedGroup::default().with_group_id(GroupId(text(id)));
        if call.version >= 4 {
            group.group_state = text(STATE);
        }
        if call.version >= 5 {
            group.group_type = text(TYPE);
        }
        group
    });
    ListGroupsResponse::default().with_error_code(OK).with_groups(groups.collect())
}
