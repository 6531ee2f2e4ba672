//! DescribeTopicPartitions, version 0: Metadata for tools, answered in parts.
//!
//! - 0: flexible from the start.
//!
//! At most 2,000 partitions are in one answer, as in Kafka; a cursor in it says where the next is to go on.

use std::collections::BTreeSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use kafka_protocol::messages::{DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, TopicName};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always};
use super::super::state::{NODE, State};
use super::super::topics::check_name;
use super::metadata::TOPIC_OPERATIONS;
use super::text;

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 0,
    fields: &[
        always(Kind::Structs(&[always(Kind::Text)])),
        always(Kind::Fixed(4)),
        always(Kind::Nullable(&[always(Kind::Text), always(Kind::Fixed(4))])),
    ],
};

/// The most partitions of one answer (`max.request.partition.size.limit`).
const MOST: usize = 2_000;

pub(in super::super) fn handle(
    state: &State,
    call: &Call<'_>,
    request: &DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    let named: BTreeSet<String> = if request.topics.is_empty() {
        state.topics.iter().map(|topic| topic.name.to_string()).collect()
    } else {
        request.topics.iter().map(|topic| topic.name.to_string()).collect()
    };
    let (from_topic, from_partition) = match &request.cursor {
        Some(cursor) => (cursor.topic_name.to_string(), usize::try_from(cursor.partition_index).unwrap_or(0)),
        None => (String::new(), 0),
    };
    let mut room = usize::try_from(request.response_partition_limit).unwrap_or(0).clamp(1, MOST);
    let mut answer = DescribeTopicPartitionsResponse::default();
    for name in named.range(from_topic.clone()..) {
        let first = if *name == from_topic { from_partition } else { 0 };
        if room == 0 {
            return answer.with_next_cursor(Some(cursor(name, first)));
        }
        let (topic, left_at) = describe(state, call, name, first, room);
        room -= topic.partitions.len();
        answer.topics.push(topic);
        if let Some(left_at) = left_at {
            return answer.with_next_cursor(Some(cursor(name, left_at)));
        }
    }
    answer
}

fn cursor(name: &str, partition: usize) -> Cursor {
    Cursor::default().with_topic_name(TopicName(text(name))).with_partition_index(partition as i32)
}

/// Describes at most `most` partitions of a topic from `first` on, and says where it stopped short of the last.
fn describe(
    state: &State,
    call: &Call<'_>,
    name: &str,
    first: usize,
    most: usize,
) -> (DescribeTopicPartitionsResponseTopic, Option<usize>) {
    let answer = DescribeTopicPartitionsResponseTopic::default().with_name(Some(TopicName(text(name))));
    let refused = check_name(name).err().map_or(ResponseError::UnknownTopicOrPartition, |refused| refused.error);
    let Some(topic) = state.topics.get(name) else {
        return (answer.with_error_code(call.errors.topic(name).unwrap_or(refused.code())), None);
    };
    if let Some(code) = call.errors.topic(name) {
        return (answer.with_error_code(code), None);
    }
    let partitions = topic.partitions.iter().enumerate().skip(first).take(most).map(|(index, log)| {
        DescribeTopicPartitionsResponsePartition::default()
            .with_partition_index(index as i32)
            .with_leader_id(NODE)
            .with_leader_epoch(log.leader_epoch())
            .with_replica_nodes(vec![NODE])
            .with_isr_nodes(vec![NODE])
            .with_eligible_leader_replicas(Some(Vec::new()))
            .with_last_known_elr(Some(Vec::new()))
    });
    let next = first.saturating_add(most);
    let answer = answer
        .with_topic_id(topic.id)
        .with_partitions(partitions.collect())
        .with_topic_authorized_operations(TOPIC_OPERATIONS);
    (answer, (next < topic.partitions.len()).then_some(next))
}
