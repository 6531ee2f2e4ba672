use std::sync::Arc;

use kafka_protocol::messages::TopicName;
use uuid::Uuid;

use super::super::api::Body;
use super::super::state::State;

/// The topics, and the partitions where it gives them, that a request names; for faults to be matched against.
pub(in super::super) fn touched(body: &Body, state: &State) -> Vec<(Arc<str>, Option<i32>)> {
    let named = |name: &TopicName, id: Uuid| -> Arc<str> {
        if id.is_nil() { Arc::from(&***name) } else { state.topics.name_of(id).unwrap_or_default() }
    };
    let mut all = Vec::new();
    let mut add = |topic: Arc<str>, partitions: &mut dyn Iterator<Item = i32>| {
        all.extend(partitions.map(|partition| (Arc::clone(&topic), Some(partition))));
    };
    match body {
        Body::Produce(request) => {
            for topic in &request.topic_data {
                let mut partitions = topic.partition_data.iter().map(|partition| partition.index);
                add(named(&topic.name, topic.topic_id), &mut partitions);
            }
        }
        Body::Fetch(request) => {
            for key in state.sessions.peek(request) {
                add(named(&key.topic, key.id), &mut std::iter::once(key.partition));
            }
        }
        Body::ListOffsets(request) => {
            for topic in &request.topics {
                let mut partitions = topic.partitions.iter().map(|partition| partition.partition_index);
                add(named(&topic.name, Uuid::nil()), &mut partitions);
            }
        }
        Body::OffsetCommit(request) => {
            for topic in &request.topics {
                let mut partitions = topic.partitions.iter().map(|partition| partition.partition_index);
                add(named(&topic.name, Uuid::nil()), &mut partitions);
            }
        }
        Body::OffsetFetch(request) => {
            for topic in request.topics.iter().flatten() {
                add(named(&topic.name, Uuid::nil()), &mut topic.partition_indexes.iter().copied());
            }
            for topic in request.groups.iter().flat_map(|group| group.topics.iter().flatten()) {
                add(named(&topic.name, Uuid::nil()), &mut topic.partition_indexes.iter().copied());
            }
        }
        Body::DeleteRecords(request) => {
            for topic in &request.topics {
                let mut partitions = topic.partitions.iter().map(|partition| partition.partition_index);
                add(named(&topic.name, Uuid::nil()), &mut partitions);
            }
        }
        Body::Metadata(request) => {
            let unnamed = TopicName::default();
            all.extend(
                request
                    .topics
                    .iter()
                    .flatten()
                    .map(|topic| (named(topic.name.as_ref().unwrap_or(&unnamed), topic.topic_id), None)),
            );
        }
        Body::CreateTopics(request) => {
            all.extend(request.topics.iter().map(|topic| (named(&topic.name, Uuid::nil()), None)));
        }
        Body::DeleteTopics(request) => {
            let unnamed = TopicName::default();
            all.extend(request.topic_names.iter().map(|name| (named(name, Uuid::nil()), None)));
            all.extend(
                request
                    .topics
                    .iter()
                    .map(|topic| (named(topic.name.as_ref().unwrap_or(&unnamed), topic.topic_id), None)),
            );
        }
        Body::OffsetForLeaderEpoch(request) => {
            for topic in &request.topics {
                let mut partitions = topic.partitions.iter().map(|partition| partition.partition);
                add(named(&topic.topic, Uuid::nil()), &mut partitions);
            }
        }
        Body::AddPartitionsToTxn(request) => {
            for topic in &request.v3_and_below_topics {
                add(named(&topic.name, Uuid::nil()), &mut topic.partitions.iter().copied());
            }
        }
        Body::TxnOffsetCommit(request) => {
            for topic in &request.topics {
                let mut partitions = topic.partitions.iter().map(|partition| partition.partition_index);
                add(named(&topic.name, Uuid::nil()), &mut partitions);
            }
        }
        Body::OffsetDelete(request) => {
            for topic in &request.topics {
                let mut partitions = topic.partitions.iter().map(|partition| partition.partition_index);
                add(named(&topic.name, Uuid::nil()), &mut partitions);
            }
        }
        Body::CreatePartitions(request) => {
            all.extend(request.topics.iter().map(|topic| (named(&topic.name, Uuid::nil()), None)));
        }
        Body::DescribeTopicPartitions(request) => {
            all.extend(request.topics.iter().map(|topic| (named(&topic.name, Uuid::nil()), None)));
        }
        Body::AlterConfigs(request) => {
            let topics = request.resources.iter().filter(|resource| resource.resource_type == 2);
            all.extend(topics.map(|resource| (Arc::from(&*resource.resource_name), None)));
        }
        Body::IncrementalAlterConfigs(request) => {
            let topics = request.resources.iter().filter(|resource| resource.resource_type == 2);
            all.extend(topics.map(|resource| (Arc::from(&*resource.resource_name), None)));
        }
        Body::DescribeConfigs(request) => {
            let topics = request.resources.iter().filter(|resource| resource.resource_type == 2);
            all.extend(topics.map(|resource| (Arc::from(&*resource.resource_name), None)));
        }
        Body::ConsumerGroupHeartbeat(request) => {
            all.extend(request.subscribed_topic_names.iter().flatten().map(|name| (named(name, Uuid::nil()), None)));
        }
        Body::FindCoordinator(_)
        | Body::ConsumerGroupDescribe(_)
        | Body::JoinGroup(_)
        | Body::SyncGroup(_)
        | Body::Heartbeat(_)
        | Body::LeaveGroup(_)
        | Body::DescribeGroups(_)
        | Body::ListGroups(_)
        | Body::ApiVersions(_)
        | Body::InitProducerId(_)
        | Body::AddOffsetsToTxn(_)
        | Body::EndTxn(_)
        | Body::DescribeCluster(_)
        | Body::DeleteGroups(_) => {}
    }
    all
}
