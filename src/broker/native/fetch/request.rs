use std::time::Duration;

use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};

use super::super::topics::topic_name;
use super::session::{Key, Plan, Wanted};
use crate::broker::{ConnectionSettings, ReadIsolation};

/// The version from which on topics are named by their ids.
pub(super) const TOPIC_IDS_SINCE: i16 = 13;
/// The version from which on the broker compares the epoch of what was fetched with its log.
pub(super) const FETCHED_EPOCH_SINCE: i16 = 12;

/// Writes the request of a version.
pub(super) fn request(plan: Plan, settings: &ConnectionSettings, wait: Duration, version: i16) -> FetchRequest {
    // An answer above the connection's limit would never arrive, and it holds more than records.
    let most = i32::try_from(settings.max_response_bytes / 2).unwrap_or(i32::MAX);
    FetchRequest::default()
        .with_max_wait_ms(i32::try_from(wait.as_millis()).unwrap_or(i32::MAX))
        .with_min_bytes(settings.fetch_min_bytes)
        .with_max_bytes(settings.fetch_max_bytes_per_broker.min(most).max(1))
        .with_isolation_level(match settings.read_isolation {
            ReadIsolation::ReadUncommitted => 0,
            ReadIsolation::ReadCommitted => 1,
        })
        .with_session_id(plan.id)
        .with_session_epoch(plan.epoch)
        .with_topics(topics(plan.named, version))
        .with_forgotten_topics_data(forgotten(plan.forgotten, version))
}

/// In the order given, which is that in which the broker serves them.
fn topics(named: Vec<(Key, Wanted)>, version: i16) -> Vec<FetchTopic> {
    let mut topics: Vec<FetchTopic> = Vec::new();
    let mut last = None;
    for ((partition, id), wanted) in named {
        let mut asked = FetchPartition::default()
            .with_partition(partition.partition())
            .with_current_leader_epoch(wanted.leader_epoch)
            .with_fetch_offset(wanted.offset)
            .with_partition_max_bytes(wanted.max_bytes);
        if version >= FETCHED_EPOCH_SINCE {
            asked = asked.with_last_fetched_epoch(wanted.fetched_epoch);
        }
        let topic = (partition.shared_topic(), id);
        match topics.last_mut().filter(|_| last.as_ref() == Some(&topic)) {
            Some(same) => same.partitions.push(asked),
            None => topics.push(
                FetchTopic::default()
                    .with_topic(topic_name(&topic.0))
                    .with_topic_id(id.unwrap_or_default())
                    .with_partitions(vec![asked]),
            ),
        }
        last = Some(topic);
    }
    topics
}

fn forgotten(keys: Vec<Key>, version: i16) -> Vec<ForgottenTopic> {
    let forget = |(partition, id): Key| {
        let topic = ForgottenTopic::default().with_partitions(vec![partition.partition()]);
        if version >= TOPIC_IDS_SINCE {
            topic.with_topic_id(id.unwrap_or_default())
        } else {
            topic.with_topic(topic_name(partition.topic()))
        }
    };
    keys.into_iter().map(forget).collect()
}
