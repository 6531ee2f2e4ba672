//! DescribeGroups, versions 0 to 6.
//!
//! - 1: throttle time. 3: authorized operations. 4: static members. 5: flexible.
//! - 6: a group that does not exist is an error with a text; before, it is described as `Dead`. So is one whose members
//!   speak the protocol of KIP-848, for which there is ConsumerGroupDescribe.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use kafka_protocol::messages::{DescribeGroupsRequest, DescribeGroupsResponse};
use kafka_protocol::protocol::StrBytes;

use super::super::core::Call;
use super::super::groups::{Classic, Members};
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::State;
use super::text;

pub(in super::super) static SHAPE: Shape =
    Shape { flexible: 5, fields: &[always(Kind::List(&Kind::Text)), since(3, Kind::Fixed(1))] };

/// All operations that a group knows: read, delete, describe, and describe and alter its configuration.
pub(super) const GROUP_OPERATIONS: i32 = 0b1101_0100_1000;

pub(in super::super) fn handle(
    state: &State,
    call: &Call<'_>,
    request: &DescribeGroupsRequest,
) -> DescribeGroupsResponse {
    let groups = request.groups.iter().map(|id| {
        let found = state.groups.get(id).map(|group| &group.members);
        let mut group = DescribedGroup::default().with_group_id(id.clone());
        if request.include_authorized_operations {
            group.authorized_operations = GROUP_OPERATIONS;
        }
        match (call.errors.whole(), found) {
            (Some(code), _) => group.with_error_code(code),
            (None, Some(Members::Classic(classic))) => describe(group, classic, call.version),
            (None, other) if call.version >= 6 => {
                let why = if other.is_some() { "is not a classic group" } else { "not found" };
                group
                    .with_error_code(ResponseError::GroupIdNotFound.code())
                    .with_error_message(Some(text(format!("Group {} {why}.", &**id))))
                    .with_group_state(text("Dead"))
            }
            (None, _) => group.with_group_state(text("Dead")),
        }
    });
    DescribeGroupsResponse::default().with_groups(groups.collect())
}

/// Assignor, metadata and assignments are told of stable groups only, as in Kafka.
fn describe(group: DescribedGroup, classic: &Classic, version: i16) -> DescribedGroup {
    let members = classic.members().iter().map(|member| {
        let described = DescribedGroupMember::default()
            .with_member_id(member.id.clone())
            .with_group_instance_id(member.instance_id.clone().filter(|_| version >= 4))
            .with_client_id(member.client.id.clone())
            .with_client_host(member.client.host.clone());
        if !classic.is_stable() {
            return described;
        }
        described
            .with_member_metadata(member.metadata(classic.protocol()))
            .with_member_assignment(member.assignment.clone())
    });
    let protocol = if classic.is_stable() { classic.protocol().clone() } else { StrBytes::new() };
    group
        .with_group_state(text(classic.state()))
        .with_protocol_type(classic.protocol_type().clone())
        .with_protocol_data(protocol)
        .with_members(members.collect())
}
