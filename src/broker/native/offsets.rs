use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::offset_fetch_response::OffsetFetchResponse;
use kafka_protocol::messages::{DeleteGroupsRequest, FindCoordinatorRequest, GroupId, ListGroupsRequest};
use kafka_protocol::protocol::StrBytes;

use super::Native;
use super::address::address;
use super::call::{Call, Failed, is_coordinator_error};
use super::cluster::{Cluster, Purpose};
use super::connection::Connection;
use super::topics::topic_name;
use crate::broker::{BoxFuture, BrokerError, CommittedOffset, ErrorCode, OffsetStore};
use crate::record::TopicPartition;

/// The version of OffsetFetch from which on it asks for several groups at once.
const GROUPS_SINCE: i16 = 8;
/// The version of FindCoordinator from which on it asks for several keys at once.
const KEYS_SINCE: i16 = 4;

type Committed = HashMap<(String, i32), (i16, i64, Option<StrBytes>)>;

impl OffsetStore for Native {
    fn fetch(
        &self,
        group: String,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<Result<Vec<Option<CommittedOffset>>, BrokerError>> {
        let call = self.call(format!("fetching the committed offsets of group {group}"));
        self.run(call, |cluster, call| async move {
            call.retry(async || fetch(&cluster, &call, &group, &partitions).await).await
        })
    }

    fn commit(
        &self,
        group: String,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        let call = self.call(format!("committing offsets of group {group}"));
        self.run(call, |cluster, call| async move {
            call.retry(async || commit(&cluster, &call, &group, &offsets).await).await
        })
    }

    fn group_exists(&self, group: String) -> BoxFuture<Result<bool, BrokerError>> {
        let call = self.call(format!("looking whether group {group} exists"));
        self.run(call, |cluster, call| async move { call.retry(async || exists(&cluster, &call, &group).await).await })
    }

    fn delete_group(&self, group: String) -> BoxFuture<Result<(), BrokerError>> {
        let call = self.call(format!("deleting group {group}"));
        self.run(call, |cluster, call| async move { call.retry(async || delete(&cluster, &call, &group).await).await })
    }
}

pub(super) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// A connection to the group's coordinator.
pub(super) async fn coordinator(cluster: &Cluster, call: &Call, group: &str) -> Result<Arc<Connection>, Failed> {
    if let Some(address) = cluster.coordinator(group) {
        return connected(cluster, call, group, &address).await;
    }
    let request = |version| {
        let request = FindCoordinatorRequest::default();
        if version >= KEYS_SINCE {
            request.with_coordinator_keys(vec![text(group)])
        } else {
            request.with_key(text(group))
        }
    };
    let answer = cluster.any(call).await?.call(call, request).await?;
    let (code, message, host, port) = match answer.coordinators.first() {
        Some(found) => (found.error_code, &found.error_message, &found.host, found.port),
        None => (answer.error_code, &answer.error_message, &answer.host, answer.port),
    };
    if code != 0 {
        return Err(Failed::by_code(call, code, message.as_ref().map(|text| text.to_string())));
    }
    let address = address(host, port);
    cluster.set_coordinator(group, Some(address.clone()));
    connected(cluster, call, group, &address).await
}

async fn connected(cluster: &Cluster, call: &Call, group: &str, address: &str) -> Result<Arc<Connection>, Failed> {
    let result = cluster.at(address, Purpose::Control, call).await;
    if result.is_err() {
        // It may have moved to a broker that can be reached.
        cluster.set_coordinator(group, None);
    }
    Ok(result?)
}

/// Sorts an error code of the group; one about the coordinator makes the next round look for it again.
pub(super) fn group_failed(cluster: &Cluster, call: &Call, group: &str, code: i16) -> Failed {
    if ErrorCode(code).refreshes_coordinator() {
        cluster.set_coordinator(group, None);
    }
    Failed::by_code(call, code, None)
}

fn by_topic<T>(items: impl Iterator<Item = (String, T)>) -> BTreeMap<String, Vec<T>> {
    let mut topics = BTreeMap::<String, Vec<T>>::new();
    for (topic, item) in items {
        topics.entry(topic).or_default().push(item);
    }
    topics
}

async fn fetch(
    cluster: &Cluster,
    call: &Call,
    group: &str,
    partitions: &[TopicPartition],
) -> Result<Vec<Option<CommittedOffset>>, Failed> {
    let topics = by_topic(partitions.iter().map(|partition| (partition.topic().to_owned(), partition.partition())));
    let request = |version| {
        if version >= GROUPS_SINCE {
            let topics = topics.iter().map(|(topic, partitions)| {
                OffsetFetchRequestTopics::default()
                    .with_name(topic_name(topic))
                    .with_partition_indexes(partitions.clone())
            });
            let wanted = OffsetFetchRequestGroup::default()
                .with_group_id(GroupId(text(group)))
                .with_topics(Some(topics.collect()));
            OffsetFetchRequest::default().with_groups(vec![wanted])
        } else {
            let topics = topics.iter().map(|(topic, partitions)| {
                OffsetFetchRequestTopic::default()
                    .with_name(topic_name(topic))
                    .with_partition_indexes(partitions.clone())
            });
            OffsetFetchRequest::default().with_group_id(GroupId(text(group))).with_topics(Some(topics.collect()))
        }
    };
    let answer = coordinator(cluster, call, group).await?.call(call, request).await?;
    let (code, committed) = committed(answer);
    if code != 0 {
        return Err(group_failed(cluster, call, group, code));
    }
    let find = |partition: &TopicPartition| {
        let key = (partition.topic().to_owned(), partition.partition());
        let found = committed.get(&key).ok_or_else(|| call.malformed(format!("{partition} is missing")))?;
        match found {
            (0, offset, _) if *offset < 0 => Ok(None),
            (0, offset, metadata) => Ok(Some(CommittedOffset {
                partition: partition.clone(),
                offset: *offset,
                metadata: metadata.as_ref().map(|text| text.to_string()).unwrap_or_default(),
                leader_epoch: None,
            })),
            (code, _, _) => {
                let call = call.part(format!("fetching the committed offset of {partition} for group {group}"));
                Err(group_failed(cluster, &call, group, *code))
            }
        }
    };
    partitions.iter().map(find).collect()
}

/// The error code of the whole and the entries of an answer, whichever its version.
fn committed(answer: OffsetFetchResponse) -> (i16, Committed) {
    let mut entries = Committed::new();
    for topic in answer.topics {
        for entry in topic.partitions {
            let key = (topic.name.0.to_string(), entry.partition_index);
            entries.insert(key, (entry.error_code, entry.committed_offset, entry.metadata));
        }
    }
    let mut code = answer.error_code;
    for group in answer.groups {
        code = group.error_code;
        for topic in group.topics {
            for entry in topic.partitions {
                let key = (topic.name.0.to_string(), entry.partition_index);
                entries.insert(key, (entry.error_code, entry.committed_offset, entry.metadata));
            }
        }
    }
    (code, entries)
}

async fn commit(
    cluster: &Cluster,
    call: &Call,
    group: &str,
    offsets: &[CommittedOffset],
) -> Result<Vec<Result<(), BrokerError>>, Failed> {
    let entries = offsets.iter().map(|committed| {
        let entry = OffsetCommitRequestPartition::default()
            .with_partition_index(committed.partition.partition())
            .with_committed_offset(committed.offset)
            .with_committed_metadata(Some(text(&committed.metadata)));
        (committed.partition.topic().to_owned(), entry)
    });
    let topics = by_topic(entries).into_iter().map(|(topic, partitions)| {
        OffsetCommitRequestTopic::default().with_name(topic_name(&topic)).with_partitions(partitions)
    });
    // Generation -1 and no member: a consumer that assigns its partitions itself.
    let request = OffsetCommitRequest::default()
        .with_group_id(GroupId(text(group)))
        .with_generation_id_or_member_epoch(-1)
        .with_topics(topics.collect());
    let answer = coordinator(cluster, call, group).await?.call(call, |_| request).await?;
    let mut codes = HashMap::new();
    for topic in &answer.topics {
        for entry in &topic.partitions {
            if is_coordinator_error(entry.error_code) {
                return Err(group_failed(cluster, call, group, entry.error_code));
            }
            codes.insert((&*topic.name.0, entry.partition_index), entry.error_code);
        }
    }
    let result = |committed: &CommittedOffset| {
        let partition = &committed.partition;
        match codes.get(&(partition.topic(), partition.partition())) {
            Some(0) => Ok(Ok(())),
            Some(code) => {
                let doing = format!("committing offset {} of {partition} for group {group}", committed.offset);
                Ok(Err(call.part(doing).response(*code, None)))
            }
            None => Err(call.malformed(format!("{partition} is missing")).into()),
        }
    };
    offsets.iter().map(result).collect()
}

/// Listed by its coordinator, which tells it from a group that never was: DescribeGroups calls both dead, as it does with
/// groups of the newer protocol.
async fn exists(cluster: &Cluster, call: &Call, group: &str) -> Result<bool, Failed> {
    let request = ListGroupsRequest::default();
    let answer = coordinator(cluster, call, group).await?.call(call, |_| request).await?;
    match answer.error_code {
        0 => Ok(answer.groups.iter().any(|listed| &*listed.group_id.0 == group)),
        code => Err(group_failed(cluster, call, group, code)),
    }
}

async fn delete(cluster: &Cluster, call: &Call, group: &str) -> Result<(), Failed> {
    let request = DeleteGroupsRequest::default().with_groups_names(vec![GroupId(text(group))]);
    // Sent once: after a lost answer, a second request would say that the group does not exist.
    let answer = coordinator(cluster, call, group).await?.call(call, |_| request).await.map_err(Failed::ForGood)?;
    let found = answer.results.first().ok_or_else(|| call.malformed("the group is missing"))?;
    match found.error_code {
        0 => Ok(()),
        code => Err(group_failed(cluster, call, group, code)),
    }
}
