use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{MetadataResponse, MetadataResponseTopic};
use kafka_protocol::messages::{MetadataRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::address::address;
use super::call::{Call, Failed};
use super::cluster::Cluster;
use super::connection::Connection;
use crate::broker::{BrokerError, BrokerNode, ClusterDescription, Operations, TopicMetadata};

/// The version of Metadata from which on it tells what the client may do with a topic.
const OPERATIONS_SINCE: i16 = 8;

/// A topic's name as messages carry it.
pub(super) fn topic_name(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}

/// Asks any broker for metadata of the named topics (of none: brokers only), and takes over what it says.
pub(super) async fn metadata(cluster: &Cluster, call: &Call, names: &[String]) -> Result<MetadataResponse, Failed> {
    let connection = cluster.any(call).await?;
    ask(cluster, &connection, call, names).await
}

/// Asks the broker at the other end of `connection`, and takes over what it says.
pub(super) async fn ask(
    cluster: &Cluster,
    connection: &Connection,
    call: &Call,
    names: &[String],
) -> Result<MetadataResponse, Failed> {
    let topics = names.iter().map(|name| MetadataRequestTopic::default().with_name(Some(topic_name(name)))).collect();
    let request = MetadataRequest::default().with_topics(Some(topics)).with_allow_auto_topic_creation(false);
    let request = |version| request.with_include_topic_authorized_operations(version >= OPERATIONS_SINCE);
    let answer = connection.call(call, request).await?;
    if let Err(error) = cluster.learn(call, &answer) {
        tracing::warn!(%error, "a broker is not one of this cluster");
        connection.close("the broker belongs to another cluster");
        return Err(Failed::ForGood(error));
    }
    Ok(answer)
}

/// The metadata of topics, in the order asked for; `None` for those that do not exist.
pub(super) async fn describe(
    cluster: &Cluster,
    call: &Call,
    names: &[String],
) -> Result<Vec<Option<TopicMetadata>>, BrokerError> {
    call.retry(async || {
        let answer = metadata(cluster, call, names).await?;
        names.iter().map(|name| find(&answer, call, name)).collect()
    })
    .await
}

fn find(answer: &MetadataResponse, call: &Call, name: &str) -> Result<Option<TopicMetadata>, Failed> {
    let topic = topic(answer, call, name)?;
    if topic.error_code == ResponseError::UnknownTopicOrPartition.code() {
        return Ok(None);
    }
    if topic.error_code != 0 {
        return Err(Failed::by_code(&call.part(format!("reading metadata of topic {name}")), topic.error_code, None));
    }
    Ok(Some(TopicMetadata {
        name: name.to_owned(),
        id: Some(topic.topic_id).filter(|id| !id.is_nil()),
        partitions: i32::try_from(topic.partitions.len()).map_err(|error| call.malformed(error))?,
        operations: Some(topic.topic_authorized_operations).filter(|bits| *bits != i32::MIN).map(Operations),
    }))
}

fn topic<'a>(answer: &'a MetadataResponse, call: &Call, name: &str) -> Result<&'a MetadataResponseTopic, Failed> {
    let found = answer.topics.iter().find(|topic| topic.name.as_ref().is_some_and(|found| &*found.0 == name));
    found.ok_or_else(|| call.malformed(format!("metadata lacks topic {name}")).into())
}

/// The names of all topics, in order.
pub(super) async fn list(cluster: &Cluster, call: &Call) -> Result<Vec<String>, BrokerError> {
    call.retry(async || {
        let connection = cluster.any(call).await?;
        // Not taken over: leaders are remembered for the topics that are in use.
        let request = MetadataRequest::default().with_topics(None).with_allow_auto_topic_creation(false);
        let answer = connection.call(call, |_| request).await?;
        let names = answer.topics.iter().filter_map(|topic| topic.name.as_ref()).map(|name| name.0.to_string());
        let mut names: Vec<_> = names.collect();
        names.sort();
        Ok(names)
    })
    .await
}

/// The cluster, as any broker sees it.
pub(super) async fn describe_cluster(cluster: &Cluster, call: &Call) -> Result<ClusterDescription, BrokerError> {
    call.retry(async || {
        let answer = metadata(cluster, call, &[]).await?;
        let mut brokers: Vec<_> = answer
            .brokers
            .iter()
            .map(|broker| BrokerNode {
                id: *broker.node_id,
                address: address(&broker.host, broker.port),
                rack: broker.rack.as_ref().map(|rack| rack.to_string()),
            })
            .collect();
        brokers.sort_by_key(|broker| broker.id);
        Ok(ClusterDescription {
            id: answer.cluster_id.as_ref().map(|id| id.to_string()),
            controller: Some(*answer.controller_id).filter(|id| *id >= 0),
            brokers,
        })
    })
    .await
}

/// Waits until metadata shows the topic with at least so many partitions and a leader for each, so that whoever created
/// it can use it.
pub(super) async fn wait_until_ready(
    cluster: &Cluster,
    call: &Call,
    name: &str,
    partitions: usize,
) -> Result<(), BrokerError> {
    call.retry(async || {
        let answer = metadata(cluster, call, &[name.to_owned()]).await?;
        let topic = topic(&answer, call, name)?;
        let ready = topic.error_code == 0
            && topic.partitions.len() >= partitions
            && topic.partitions.iter().all(|partition| *partition.leader_id >= 0);
        if ready { Ok(()) } else { Err(Failed::by_code(call, ResponseError::LeaderNotAvailable.code(), None)) }
    })
    .await
}
