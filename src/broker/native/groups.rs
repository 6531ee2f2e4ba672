use std::collections::BTreeMap;

use bytes::Buf;
use futures_util::future::try_join_all;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerProtocolAssignment, DescribeGroupsRequest, GroupId, ListGroupsRequest,
    ListGroupsResponse, consumer_group_describe_response, describe_groups_response,
};
use kafka_protocol::protocol::{Decodable, StrBytes};

use super::api::CONSUMER_ASSIGNMENT;
use super::call::{Call, Failed};
use super::cluster::{Cluster, Purpose};
use super::coordinator::{coordinator, group_failed};
use super::offsets::text;
use super::shape;
use super::topics::metadata;
use crate::broker::{BrokerError, ErrorCode, GroupDescription, GroupMember, ListedGroup};
use crate::record::TopicPartition;

/// What DescribeGroups calls a group that does not exist.
const DEAD: &str = "Dead";
/// The protocol type of groups of consumers.
const CONSUMERS: &str = "consumer";

/// All groups: each broker knows those that it coordinates.
pub(super) async fn list(cluster: &Cluster, call: &Call) -> Result<Vec<ListedGroup>, BrokerError> {
    call.retry(async || {
        let brokers = metadata(cluster, call, &[]).await?.brokers;
        let answers = try_join_all(brokers.iter().map(|broker| list_of(cluster, call, *broker.node_id))).await?;
        // By id: a group that moves meanwhile may be listed twice.
        let mut groups = BTreeMap::new();
        for listed in answers.into_iter().flat_map(|answer| answer.groups) {
            let told = |text: &StrBytes| Some(text.to_string()).filter(|text| !text.is_empty());
            let group = ListedGroup {
                group: listed.group_id.to_string(),
                protocol_type: listed.protocol_type.to_string(),
                state: told(&listed.group_state),
                kind: told(&listed.group_type),
            };
            groups.insert(group.group.clone(), group);
        }
        Ok(groups.into_values().collect())
    })
    .await
}

async fn list_of(cluster: &Cluster, call: &Call, broker: i32) -> Result<ListGroupsResponse, Failed> {
    let call = call.part(format!("listing the groups of broker {broker}"));
    let answer = cluster.broker(broker, &call).await?.call(&call, |_| ListGroupsRequest::default()).await?;
    match answer.error_code {
        0 => Ok(answer),
        code => Err(Failed::by_code(&call, code, None)),
    }
}

/// A group: asked for as one of KIP-848 where the broker has these, else as a classic one.
pub(super) async fn describe(cluster: &Cluster, call: &Call, group: &str) -> Result<GroupDescription, BrokerError> {
    call.retry(async || {
        let connection = coordinator(cluster, call, group, Purpose::Control).await?;
        if connection.version::<ConsumerGroupDescribeRequest>(call).is_ok() {
            let request = ConsumerGroupDescribeRequest::default().with_group_ids(vec![GroupId(text(group))]);
            let answer = connection.call(call, |_| request).await?;
            let found = answer.groups.into_iter().next().ok_or_else(|| call.malformed("the group is missing"))?;
            match ErrorCode(found.error_code) {
                ErrorCode(0) => return Ok(modern(found)),
                // It is a classic one, or these are switched off.
                ErrorCode::GROUP_ID_NOT_FOUND | ErrorCode::UNSUPPORTED_VERSION => {}
                code => return Err(group_failed(cluster, call, group, code.0)),
            }
        }
        let request = DescribeGroupsRequest::default().with_groups(vec![GroupId(text(group))]);
        let answer = connection.call(call, |_| request).await?;
        let found = answer.groups.into_iter().next().ok_or_else(|| call.malformed("the group is missing"))?;
        match found.error_code {
            0 if &*found.group_state == DEAD => {
                Err(Failed::ForGood(call.response(ResponseError::GroupIdNotFound.code(), None)))
            }
            0 => classic(found).map_err(|cause| call.malformed(cause).into()),
            code => Err(group_failed(cluster, call, group, code)),
        }
    })
    .await
}

fn modern(found: consumer_group_describe_response::DescribedGroup) -> GroupDescription {
    let member = |member: consumer_group_describe_response::Member| {
        let topics = member.assignment.topic_partitions.iter();
        let assigned = topics.flat_map(|topic| partitions(&topic.topic_name.0, &topic.partitions));
        GroupMember {
            id: member.member_id.to_string(),
            instance_id: member.instance_id.as_ref().map(|id| id.to_string()),
            client_id: member.client_id.to_string(),
            host: member.client_host.to_string(),
            assignment: assigned.collect(),
        }
    };
    GroupDescription {
        group: found.group_id.to_string(),
        state: found.group_state.to_string(),
        is_modern: true,
        assignor: found.assignor_name.to_string(),
        epoch: Some(found.group_epoch),
        members: found.members.into_iter().map(member).collect(),
    }
}

fn classic(found: describe_groups_response::DescribedGroup) -> Result<GroupDescription, String> {
    let consumers = &*found.protocol_type == CONSUMERS;
    let member = |member: describe_groups_response::DescribedGroupMember| {
        Ok(GroupMember {
            id: member.member_id.to_string(),
            instance_id: member.group_instance_id.as_ref().map(|id| id.to_string()),
            client_id: member.client_id.to_string(),
            host: member.client_host.to_string(),
            assignment: if consumers { assignment(member.member_assignment)? } else { Vec::new() },
        })
    };
    Ok(GroupDescription {
        group: found.group_id.to_string(),
        state: found.group_state.to_string(),
        is_modern: false,
        assignor: found.protocol_data.to_string(),
        epoch: None,
        members: found.members.into_iter().map(member).collect::<Result<_, String>>()?,
    })
}

/// The partitions in a classic consumer's assignment; it has none while the group rebalances.
fn assignment(mut bytes: bytes::Bytes) -> Result<Vec<TopicPartition>, String> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |cause: String| format!("a member's assignment: {cause}");
    let version = bytes.try_get_i16().map_err(|error| failed(error.to_string()))?;
    // Later versions only add to the end.
    let version = version.clamp(0, 3);
    shape::check(&bytes, CONSUMER_ASSIGNMENT, version, false).map_err(failed)?;
    let assignment =
        ConsumerProtocolAssignment::decode(&mut bytes, version).map_err(|error| failed(error.to_string()))?;
    let topics = assignment.assigned_partitions.iter();
    Ok(topics.flat_map(|topic| partitions(&topic.topic.0, &topic.partitions)).collect())
}

fn partitions(topic: &str, numbers: &[i32]) -> impl Iterator<Item = TopicPartition> {
    numbers.iter().map(move |number| TopicPartition::new(topic, *number))
}

#[cfg(test)]
mod tests {
    use bytes::{BufMut, BytesMut};
    use kafka_protocol::messages::{TopicName, consumer_protocol_assignment};
    use kafka_protocol::protocol::Encodable;

    use super::*;

    fn assigned(version: i16) -> BytesMut {
        let topic = consumer_protocol_assignment::TopicPartition::default()
            .with_topic(TopicName(text("orders")))
            .with_partitions(vec![0, 2]);
        let assignment = ConsumerProtocolAssignment::default().with_assigned_partitions(vec![topic]);
        let mut bytes = BytesMut::new();
        bytes.put_i16(version);
        assignment.encode(&mut bytes, version.min(3)).unwrap();
        bytes
    }

    #[test]
    fn assignments_of_any_version_are_read() {
        let expected = vec![TopicPartition::new("orders", 0), TopicPartition::new("orders", 2)];
        for version in 0..5 {
            assert_eq!(assignment(assigned(version).freeze()), Ok(expected.clone()));
        }
        assert_eq!(assignment(bytes::Bytes::new()), Ok(Vec::new()));
    }

    #[test]
    fn an_assignment_that_lies_is_an_error() {
        let mut lying = assigned(1);
        lying[2..6].copy_from_slice(&i32::MAX.to_be_bytes());
        let error = assignment(lying.freeze()).unwrap_err();
        assert!(error.starts_with("a member's assignment: array of 2147483647 entries"), "{error}");
    }
}
