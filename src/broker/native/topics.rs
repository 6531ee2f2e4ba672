use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{MetadataResponse, MetadataResponseTopic};
use kafka_protocol::messages::{MetadataRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::call::{Call, Failed};
use super::cluster::Cluster;
use crate::broker::{BrokerError, Operations, TopicMetadata};

/// The version of Metadata from which on it tells what the client may do with a topic.
const OPERATIONS_SINCE: i16 = 8;

/// A topic's name as messages carry it.
pub(super) fn topic_name(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}

/// Asks any broker for metadata of the named topics (of none: brokers only), and learns where the brokers are.
pub(super) async fn metadata(cluster: &Cluster, call: &Call, names: &[String]) -> Result<MetadataResponse, Failed> {
    let topics = names.iter().map(|name| MetadataRequestTopic::default().with_name(Some(topic_name(name)))).collect();
    let request = MetadataRequest::default().with_topics(Some(topics)).with_allow_auto_topic_creation(false);
    let request = |version| request.with_include_topic_authorized_operations(version >= OPERATIONS_SINCE);
    let answer = cluster.any(call).await?.call(call, request).await?;
    cluster.learn(&answer.brokers);
    cluster.leaders.learn(&answer);
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

/// The broker that leads a partition.
pub(super) async fn leader(cluster: &Cluster, call: &Call, name: &str, partition: i32) -> Result<i32, Failed> {
    let answer = metadata(cluster, call, &[name.to_owned()]).await?;
    let topic = topic(&answer, call, name)?;
    let unknown = ResponseError::UnknownTopicOrPartition.code();
    match topic.error_code {
        0 => {}
        // It may be so new that this broker has not heard of it, but waiting for one that does not exist helps nobody.
        code if code == unknown => return Err(Failed::ForGood(call.response(code, None))),
        code => return Err(Failed::by_code(call, code, None)),
    }
    let found = topic.partitions.iter().find(|found| found.partition_index == partition);
    let found = found.ok_or_else(|| Failed::ForGood(call.response(unknown, None)))?;
    if *found.leader_id < 0 {
        return Err(Failed::by_code(call, ResponseError::LeaderNotAvailable.code(), None));
    }
    Ok(*found.leader_id)
}

/// Waits until metadata shows the topic with a leader for each partition, so that whoever created it can use it.
pub(super) async fn wait_until_ready(cluster: &Cluster, call: &Call, name: &str) -> Result<(), BrokerError> {
    call.retry(async || {
        let answer = metadata(cluster, call, &[name.to_owned()]).await?;
        let topic = topic(&answer, call, name)?;
        let ready = topic.error_code == 0 && topic.partitions.iter().all(|partition| *partition.leader_id >= 0);
        if ready { Ok(()) } else { Err(Failed::by_code(call, ResponseError::LeaderNotAvailable.code(), None)) }
    })
    .await
}
