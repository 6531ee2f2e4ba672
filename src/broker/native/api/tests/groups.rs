use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use kafka_protocol::messages::leave_group_response::MemberResponse;
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::offset_commit_response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use kafka_protocol::messages::{
    ConsumerGroupDescribeResponse, ConsumerGroupHeartbeatResponse, DeleteGroupsResponse, DescribeGroupsResponse,
    FindCoordinatorResponse, GroupId, HeartbeatResponse, JoinGroupResponse, LeaveGroupResponse, ListGroupsResponse,
    OffsetCommitResponse, OffsetFetchResponse, SyncGroupResponse, consumer_group_describe_response,
    consumer_group_heartbeat_response, describe_groups_response,
};
use uuid::Uuid;

use super::*;

impl Sample for FindCoordinatorRequest {
    fn sample(version: i16) -> FindCoordinatorResponse {
        if version >= 4 {
            let found = Coordinator::default().with_key(text()).with_host(text()).with_error_message(Some(text()));
            FindCoordinatorResponse::default().with_coordinators(two(found))
        } else {
            FindCoordinatorResponse::default().with_host(text()).with_error_message(Some(text()))
        }
    }
}

impl Sample for OffsetCommitRequest {
    fn sample(_: i16) -> OffsetCommitResponse {
        let partitions = two(OffsetCommitResponsePartition::default());
        let topic = OffsetCommitResponseTopic::default().with_name(topic()).with_partitions(partitions);
        OffsetCommitResponse::default().with_topics(two(topic))
    }
}

impl Sample for OffsetFetchRequest {
    fn sample(version: i16) -> OffsetFetchResponse {
        if version >= 8 {
            let partition = OffsetFetchResponsePartitions::default().with_metadata(Some(text()));
            let topic = OffsetFetchResponseTopics::default().with_name(topic()).with_partitions(two(partition));
            let group = OffsetFetchResponseGroup::default().with_group_id(GroupId(text())).with_topics(two(topic));
            OffsetFetchResponse::default().with_groups(two(group))
        } else {
            let partition = OffsetFetchResponsePartition::default().with_metadata(Some(text()));
            let topic = OffsetFetchResponseTopic::default().with_name(topic()).with_partitions(two(partition));
            OffsetFetchResponse::default().with_topics(two(topic))
        }
    }
}

impl Sample for DeleteGroupsRequest {
    fn sample(_: i16) -> DeleteGroupsResponse {
        DeleteGroupsResponse::default()
            .with_results(two(DeletableGroupResult::default().with_group_id(GroupId(text()))))
    }
}

impl Sample for ListGroupsRequest {
    fn sample(version: i16) -> ListGroupsResponse {
        let mut group = ListedGroup::default().with_group_id(GroupId(text())).with_protocol_type(text());
        if version >= 4 {
            group = group.with_group_state(text());
        }
        if version >= 5 {
            group = group.with_group_type(text());
        }
        ListGroupsResponse::default().with_groups(two(group))
    }
}

impl Sample for DescribeGroupsRequest {
    fn sample(version: i16) -> DescribeGroupsResponse {
        use describe_groups_response::*;
        let mut member = DescribedGroupMember::default()
            .with_member_id(text())
            .with_client_id(text())
            .with_client_host(text())
            .with_member_metadata(Bytes::from_static(b"metadata"))
            .with_member_assignment(Bytes::from_static(b"assignment"));
        if version >= 4 {
            member = member.with_group_instance_id(Some(text()));
        }
        let mut group = DescribedGroup::default()
            .with_group_id(GroupId(text()))
            .with_group_state(text())
            .with_protocol_type(text())
            .with_protocol_data(text())
            .with_members(two(member));
        if version >= 6 {
            group = group.with_error_message(Some(text()));
        }
        DescribeGroupsResponse::default().with_groups(two(group))
    }
}

impl Sample for ConsumerGroupDescribeRequest {
    fn sample(_: i16) -> ConsumerGroupDescribeResponse {
        use consumer_group_describe_response::*;
        let partitions = TopicPartitions::default().with_topic_name(topic()).with_partitions(vec![1, 2]);
        let assignment = Assignment::default().with_topic_partitions(two(partitions));
        let member = Member::default()
            .with_member_id(text())
            .with_instance_id(Some(text()))
            .with_rack_id(Some(text()))
            .with_client_id(text())
            .with_client_host(text())
            .with_subscribed_topic_names(two(topic()))
            .with_subscribed_topic_regex(Some(text()))
            .with_assignment(assignment.clone())
            .with_target_assignment(assignment);
        let group = DescribedGroup::default()
            .with_error_message(Some(text()))
            .with_group_id(GroupId(text()))
            .with_group_state(text())
            .with_assignor_name(text())
            .with_members(two(member));
        ConsumerGroupDescribeResponse::default().with_groups(two(group))
    }
}

impl Sample for JoinGroupRequest {
    fn sample(version: i16) -> JoinGroupResponse {
        let mut member =
            JoinGroupResponseMember::default().with_member_id(text()).with_metadata(Bytes::from_static(b"metadata"));
        if version >= 5 {
            member = member.with_group_instance_id(Some(text()));
        }
        let answer = JoinGroupResponse::default()
            .with_protocol_name(Some(text()))
            .with_leader(text())
            .with_skip_assignment(version >= 9)
            .with_member_id(text())
            .with_members(two(member));
        if version < 7 { answer } else { answer.with_protocol_type(Some(text())) }
    }
}

impl Sample for SyncGroupRequest {
    fn sample(version: i16) -> SyncGroupResponse {
        let answer = SyncGroupResponse::default().with_assignment(Bytes::from_static(b"assignment"));
        if version < 5 {
            return answer;
        }
        answer.with_protocol_type(Some(text())).with_protocol_name(Some(text()))
    }
}

impl Sample for HeartbeatRequest {
    fn sample(_: i16) -> HeartbeatResponse {
        HeartbeatResponse::default().with_error_code(27)
    }
}

impl Sample for LeaveGroupRequest {
    fn sample(version: i16) -> LeaveGroupResponse {
        if version < 3 {
            return LeaveGroupResponse::default();
        }
        let member = MemberResponse::default().with_member_id(text()).with_group_instance_id(Some(text()));
        LeaveGroupResponse::default().with_members(two(member))
    }
}

impl Sample for ConsumerGroupHeartbeatRequest {
    fn sample(_: i16) -> ConsumerGroupHeartbeatResponse {
        use consumer_group_heartbeat_response::*;
        let partitions = TopicPartitions::default().with_topic_id(Uuid::from_u128(1)).with_partitions(vec![1, 2]);
        ConsumerGroupHeartbeatResponse::default()
            .with_error_message(Some(text()))
            .with_member_id(Some(text()))
            .with_assignment(Some(Assignment::default().with_topic_partitions(two(partitions))))
    }
}
