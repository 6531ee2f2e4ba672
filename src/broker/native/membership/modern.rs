use std::time::Duration;

use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::consumer_group_heartbeat_response::ConsumerGroupHeartbeatResponse;
use kafka_protocol::messages::{ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, GroupId};

use super::super::call::Failed;
use super::super::coordinator::{Once, coordinator};
use super::super::offsets::text;
use super::super::topics::topic_name;
use super::millis;
use crate::broker::{BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode};

/// Whether the coordinator speaks the protocol of KIP-848. Brokers name its requests where it is switched off, too, so one
/// that changes nothing is tried.
pub(super) async fn is_offered(once: &Once<'_>) -> Result<bool, BrokerError> {
    let Once { cluster, call, group, purpose } = *once;
    let connection = coordinator(cluster, call, group, purpose).await.map_err(Failed::into_error)?;
    if connection.version::<ConsumerGroupHeartbeatRequest>(call).is_err() {
        return Ok(false);
    }
    if connection.version::<ConsumerGroupDescribeRequest>(call).is_err() {
        return Ok(true);
    }
    let request = ConsumerGroupDescribeRequest::default().with_group_ids(vec![GroupId(text(group))]);
    let answer = once.send(|_| Ok(request)).await?;
    let found = answer.groups.first().ok_or_else(|| call.malformed("the group is missing"))?;
    match ErrorCode(found.error_code) {
        ErrorCode::UNSUPPORTED_VERSION => Ok(false),
        // The next request would fail for the same reason.
        code if code.is_retriable() => once.accepted(code.0, None).map(|()| true),
        // That there is no such group, or that it may not be looked at, says nothing about the protocol.
        _ => Ok(true),
    }
}

/// What a heartbeat is for, by its epoch.
pub(super) fn doing(heartbeat: &ConsumerHeartbeat) -> String {
    let group = &heartbeat.group;
    match heartbeat.member.epoch {
        0 => format!("joining group {group}"),
        ..0 => format!("leaving group {group}"),
        _ => format!("sending a heartbeat for group {group}"),
    }
}

pub(super) async fn heartbeat(
    once: &Once<'_>,
    heartbeat: ConsumerHeartbeat,
) -> Result<ConsumerHeartbeatAnswer, BrokerError> {
    let sent = heartbeat.member.member_id.clone();
    let answer = once.send(|_| Ok(request(heartbeat))).await?;
    once.accepted(answer.error_code, answer.error_message.as_ref().map(|text| text.to_string()))?;
    Ok(read(answer, sent))
}

fn request(heartbeat: ConsumerHeartbeat) -> ConsumerGroupHeartbeatRequest {
    let ConsumerHeartbeat { group, member, rack, rebalance_timeout, topics, server_assignor, owned } = heartbeat;
    let owned = owned.map(|owned| {
        let topic = |(id, partitions)| TopicPartitions::default().with_topic_id(id).with_partitions(partitions);
        owned.into_iter().map(topic).collect()
    });
    ConsumerGroupHeartbeatRequest::default()
        .with_group_id(GroupId(text(&group)))
        .with_member_id(text(&member.member_id))
        .with_member_epoch(member.epoch)
        .with_instance_id(member.instance_id.as_deref().map(text))
        .with_rack_id(rack.as_deref().map(text))
        // -1: as told before.
        .with_rebalance_timeout_ms(rebalance_timeout.map_or(-1, millis))
        .with_subscribed_topic_names(topics.map(|topics| topics.iter().map(|topic| topic_name(topic)).collect()))
        .with_server_assignor(server_assignor.as_deref().map(text))
        .with_topic_partitions(owned)
}

fn read(answer: ConsumerGroupHeartbeatResponse, sent: String) -> ConsumerHeartbeatAnswer {
    let assignment = answer.assignment.map(|assignment| {
        let topics = assignment.topic_partitions.into_iter();
        topics.map(|topic| (topic.topic_id, topic.partitions)).collect()
    });
    ConsumerHeartbeatAnswer {
        member_id: answer.member_id.map_or(sent, |id| id.to_string()),
        member_epoch: answer.member_epoch,
        interval: Duration::from_millis(u64::try_from(answer.heartbeat_interval_ms).unwrap_or(0)),
        assignment,
    }
}
