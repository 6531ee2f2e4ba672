//! ListGroups, versions 0 to 5.
//!
//! - 1: throttle time. 3: flexible. 4: a filter by state, states in the answer. 5: the same for types.

use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::{GroupId, ListGroupsRequest, ListGroupsResponse};
use kafka_protocol::protocol::StrBytes;

use super::super::core::Call;
use super::super::shape::{Kind, Shape, since};
use super::super::state::State;
use super::{OK, text};

pub(in super::super) static SHAPE: Shape =
    Shape { flexible: 3, fields: &[since(4, Kind::List(&Kind::Text)), since(5, Kind::List(&Kind::Text))] };

pub(in super::super) fn handle(state: &State, call: &Call<'_>, request: &ListGroupsRequest) -> ListGroupsResponse {
    if let Some(code) = call.errors.whole() {
        return ListGroupsResponse::default().with_error_code(code);
    }
    let asked = |filter: &[StrBytes], word: &str| {
        filter.is_empty() || filter.iter().any(|wanted| wanted.eq_ignore_ascii_case(word))
    };
    let listed = state.groups.iter().filter(|(_, group)| {
        asked(&request.states_filter, group.members.state()) && asked(&request.types_filter, group.members.kind())
    });
    let groups = listed.map(|(id, group)| {
        let mut listed =
            ListedGroup::default().with_group_id(GroupId(text(id))).with_protocol_type(group.members.protocol_type());
        if call.version >= 4 {
            listed.group_state = text(group.members.state());
        }
        if call.version >= 5 {
            listed.group_type = text(group.members.kind());
        }
        listed
    });
    ListGroupsResponse::default().with_error_code(OK).with_groups(groups.collect())
}
