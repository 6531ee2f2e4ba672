//! Metadata, versions 0 to 13.
//!
//! - 1: controller, racks, internal topics; all topics are asked for by null (in version 0 by an empty list).
//! - 2: cluster id. 3: throttle time. 4: the request says whether topics may be created. 5: offline replicas.
//! - 7: leader epochs. 8: authorized operations. 9: flexible.
//! - 10: topic ids. 11: no more authorized operations of the cluster. 12: topics asked for by id.
//! - 13: an error of the answer as a whole.

use std::collections::HashSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{MetadataRequest, MetadataResponse, TopicName};
use uuid::Uuid;

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always, between, since};
use super::super::state::{Creation, NODE, State};
use super::super::topics::{Topic, check_name};
use super::{OK, text};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 9,
    fields: &[
        always(Kind::Structs(&[since(10, Kind::Fixed(16)), always(Kind::Text)])),
        since(4, Kind::Fixed(1)),
        between(8, 10, Kind::Fixed(1)),
        since(8, Kind::Fixed(1)),
    ],
};

/// All operations that a topic knows: read, write, create, delete, alter, describe and their configuration twins.
pub(super) const TOPIC_OPERATIONS: i32 = 0b1101_1111_1000;
/// All operations that a cluster knows.
pub(super) const CLUSTER_OPERATIONS: i32 = 0b1_1111_1010_0000;

pub(in super::super) fn handle(state: &mut State, call: &Call<'_>, request: &MetadataRequest) -> MetadataResponse {
    let topics = match &request.topics {
        Some(topics) if !(call.version == 0 && topics.is_empty()) => {
            let create = state.settings.auto_create_topics && request.allow_auto_topic_creation;
            let mut seen = HashSet::new();
            topics
                .iter()
                .map(|topic| (topic.name.clone(), topic.topic_id))
                .filter(|topic| seen.insert(topic.clone()))
                .map(|(name, id)| describe_asked(state, call, name, id, create))
                .collect()
        }
        _ => state.topics.iter().map(|topic| describe(topic, call)).collect(),
    };
    let broker = MetadataResponseBroker::default().with_node_id(NODE).with_host(state.host()).with_port(state.port());
    let mut answer = MetadataResponse::default()
        .with_brokers(vec![broker])
        .with_cluster_id(Some(state.cluster_id.clone()))
        .with_controller_id(NODE)
        .with_topics(topics);
    if request.include_cluster_authorized_operations {
        answer.cluster_authorized_operations = CLUSTER_OPERATIONS;
    }
    if request.include_topic_authorized_operations {
        for topic in &mut answer.topics {
            topic.topic_authorized_operations = TOPIC_OPERATIONS;
        }
    }
    if call.version >= 13 {
        answer.error_code = call.errors.whole().unwrap_or(OK);
    }
    answer
}

fn describe_asked(
    state: &mut State,
    call: &Call<'_>,
    name: Option<TopicName>,
    id: Uuid,
    create: bool,
) -> MetadataResponseTopic {
    let Some(name) = name else {
        return match state.topics.name_of(id).and_then(|name| state.topics.get(&name)) {
            Some(topic) => describe(topic, call),
            None => failed(None, ResponseError::UnknownTopicId.code()).with_topic_id(id),
        };
    };
    if state.topics.get(&name).is_none() && call.errors.topic(&name).is_none() {
        if let Err(refused) = check_name(&name) {
            return failed(Some(name), refused.error.code());
        }
        let creation = Creation { name: name.to_string(), partitions: -1, replication: -1, configs: Vec::new() };
        if create && let Ok(topic) = state.build_topic(creation) {
            state.topics.insert(topic);
        }
    }
    match state.topics.get(&name) {
        Some(topic) => describe(topic, call),
        None => {
            let code = ResponseError::UnknownTopicOrPartition.code();
            let code = call.errors.topic(&name).unwrap_or(code);
            failed(Some(name), code)
        }
    }
}

fn describe(topic: &Topic, call: &Call<'_>) -> MetadataResponseTopic {
    let name = TopicName(text(&*topic.name));
    if let Some(code) = call.errors.topic(&topic.name) {
        return failed(Some(name), code);
    }
    let partitions = topic.partitions.iter().enumerate().map(|(index, log)| {
        MetadataResponsePartition::default()
            .with_partition_index(index as i32)
            .with_leader_id(NODE)
            .with_leader_epoch(log.leader_epoch())
            .with_replica_nodes(vec![NODE])
            .with_isr_nodes(vec![NODE])
    });
    MetadataResponseTopic::default().with_name(Some(name)).with_topic_id(topic.id).with_partitions(partitions.collect())
}

fn failed(name: Option<TopicName>, code: i16) -> MetadataResponseTopic {
    MetadataResponseTopic::default().with_name(name).with_error_code(code)
}
