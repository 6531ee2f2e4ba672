use bezoar::embedded::Broker;
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{
    DeleteGroupsRequest, DescribeGroupsRequest, GroupId, ListGroupsRequest, OffsetCommitRequest, OffsetFetchRequest,
};

use crate::client::{Client, text, topic_name};

fn group(id: &str) -> GroupId {
    GroupId(text(id))
}

fn commit(id: &str, topic: &str, partition: i32, offset: i64, note: &str) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition::default()
        .with_partition_index(partition)
        .with_committed_offset(offset)
        .with_committed_metadata(Some(text(note)));
    let topic = OffsetCommitRequestTopic::default().with_name(topic_name(topic)).with_partitions(vec![partition]);
    OffsetCommitRequest::default().with_group_id(group(id)).with_topics(vec![topic])
}

async fn orders() -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    broker
}

#[tokio::test]
async fn every_version_commits_and_reads_offsets_with_their_metadata() {
    let broker = orders().await;
    let mut client = Client::pipe(&broker);
    for version in 2..=9 {
        let answer = client.call(version, &commit("g", "orders", 1, i64::from(version), "note")).await;
        assert_eq!(answer.topics[0].partitions[0].error_code, 0);
        assert_eq!(broker.committed("g", "orders", 1), Some(i64::from(version)));
    }
    assert_eq!(broker.committed_metadata("g", "orders", 1).as_deref(), Some("note"));
    for version in 1..=7 {
        let topic =
            OffsetFetchRequestTopic::default().with_name(topic_name("orders")).with_partition_indexes(vec![0, 1]);
        let request = OffsetFetchRequest::default().with_group_id(group("g")).with_topics(Some(vec![topic]));
        let answer = client.call(version, &request).await;
        let partitions = &answer.topics[0].partitions;
        let read: Vec<_> =
            partitions.iter().map(|p| (p.committed_offset, p.metadata.as_deref(), p.error_code)).collect();
        assert_eq!(read, [(-1, Some(""), 0), (9, Some("note"), 0)], "version {version}");
    }
}

#[tokio::test]
async fn several_groups_are_read_at_once_and_null_means_all_topics() {
    let broker = orders().await;
    let mut client = Client::pipe(&broker);
    client.call(8, &commit("a", "orders", 0, 3, "")).await;
    client.call(8, &commit("b", "orders", 1, 4, "")).await;
    let named = OffsetFetchRequestTopics::default().with_name(topic_name("orders")).with_partition_indexes(vec![0]);
    let groups = vec![
        OffsetFetchRequestGroup::default().with_group_id(group("a")).with_topics(None),
        OffsetFetchRequestGroup::default().with_group_id(group("b")).with_topics(Some(vec![named])),
        OffsetFetchRequestGroup::default().with_group_id(group("nobody")).with_topics(None),
    ];
    let answer = client.call(8, &OffsetFetchRequest::default().with_groups(groups)).await;
    let read: Vec<_> = answer
        .groups
        .iter()
        .flat_map(|group| group.topics.iter().flat_map(|topic| &topic.partitions))
        .map(|partition| (partition.partition_index, partition.committed_offset))
        .collect();
    assert_eq!((answer.groups.len(), read), (3, vec![(0, 3), (0, -1)]));
}

#[tokio::test]
async fn commits_that_kafka_refuses_are_refused() {
    let broker = orders().await;
    let mut client = Client::pipe(&broker);
    let mut code = async |version, request: OffsetCommitRequest| {
        client.call(version, &request).await.topics[0].partitions[0].error_code
    };
    assert_eq!(code(8, commit("g", "nowhere", 0, 1, "")).await, 3);
    assert_eq!(code(8, commit("g", "orders", 2, 1, "")).await, 3);
    assert_eq!(code(8, commit("g", "orders", 0, 1, &"x".repeat(4_097))).await, 12);
    let member = commit("g", "orders", 0, 1, "").with_generation_id_or_member_epoch(1).with_member_id(text("m"));
    assert_eq!(code(8, member.clone()).await, 22);
    assert_eq!(code(9, member.clone()).await, 69);
    assert!(broker.groups().is_empty());
    assert_eq!(code(8, commit("g", "orders", 0, 1, &"x".repeat(4_096))).await, 0);
    assert_eq!(code(8, member).await, 25);
}

#[tokio::test]
async fn groups_are_listed_described_and_deleted() {
    let broker = orders().await;
    let mut client = Client::pipe(&broker);
    client.call(8, &commit("g", "orders", 0, 1, "")).await;
    let list = ListGroupsRequest::default();
    let listed = client.call(5, &list).await.groups;
    assert_eq!((&*listed[0].group_id.0, &*listed[0].group_state, &*listed[0].protocol_type), ("g", "Empty", ""));
    let stable = list.with_states_filter(vec![text("Stable")]);
    assert!(client.call(5, &stable).await.groups.is_empty());
    let describe = DescribeGroupsRequest::default().with_groups(vec![group("g"), group("nobody")]);
    let described = client.call(5, &describe).await.groups;
    let states: Vec<_> = described.iter().map(|one| (&*one.group_state, one.error_code)).collect();
    assert_eq!(states, [("Empty", 0), ("Dead", 0)]);
    assert_eq!(client.call(6, &describe).await.groups[1].error_code, 69);
    let delete = DeleteGroupsRequest::default().with_groups_names(vec![group("g"), group("nobody")]);
    let codes: Vec<_> = client.call(2, &delete).await.results.iter().map(|one| one.error_code).collect();
    assert_eq!(codes, [0, 69]);
    assert!(broker.groups().is_empty());
}

#[tokio::test]
async fn offsets_end_with_their_topic() {
    let broker = orders().await;
    Client::pipe(&broker).call(8, &commit("g", "orders", 0, 5, "")).await;
    broker.recreate_topic("orders").unwrap();
    assert_eq!(broker.committed("g", "orders", 0), None);
}
