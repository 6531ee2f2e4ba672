use std::collections::{BTreeMap, HashMap};

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::offset_fetch_response::OffsetFetchResponse;
use kafka_protocol::messages::{DeleteGroupsRequest, GroupId, ListGroupsRequest};
use kafka_protocol::protocol::StrBytes;

use super::Native;
use super::call::{Call, Failed, is_coordinator_error};
use super::cluster::{Cluster, Purpose};
use super::coordinator::{coordinator, group_failed};
use super::topics::topic_name;
use crate::broker::{BoxFuture, BrokerError, CommittedOffset, MemberIdentity, OffsetStore};
use crate::record::TopicPartition;

/// The version of OffsetFetch from which on it asks for several groups at once.
const GROUPS_SINCE: i16 = 8;

/// The version of OffsetFetch from which on it can leave out what a transaction may still change.
const STABLE_SINCE: i16 = 7;
/// The version of OffsetCommit from which on it carries instance ids.
const INSTANCE_IDS_SINCE: i16 = 7;

/// What a broker tells of the committed offset of a partition.
struct Entry {
    code: i16,
    offset: i64,
    /// -1 where it is not known.
    leader_epoch: i32,
    metadata: Option<StrBytes>,
}

type Committed = HashMap<(String, i32), Entry>;

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
            call.retry(async || commit(&cluster, &call, &group, None, &offsets).await).await
        })
    }

    fn commit_as(
        &self,
        group: String,
        member: MemberIdentity,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        let call = self.call(format!("committing offsets as a member of group {group}"));
        self.run(call, |cluster, call| async move {
            call.retry(async || commit(&cluster, &call, &group, Some(&member), &offsets).await).await
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
            OffsetFetchRequest::default().with_groups(vec![wanted]).with_require_stable(true)
        } else {
            let topics = topics.iter().map(|(topic, partitions)| {
                OffsetFetchRequestTopic::default()
                    .with_name(topic_name(topic))
                    .with_partition_indexes(partitions.clone())
            });
            OffsetFetchRequest::default()
                .with_group_id(GroupId(text(group)))
                .with_topics(Some(topics.collect()))
                .with_require_stable(version >= STABLE_SINCE)
        }
    };
    let answer = coordinator(cluster, call, group, Purpose::Control).await?.call(call, request).await?;
    let (code, committed) = committed(answer);
    if code != 0 {
        return Err(group_failed(cluster, call, group, code));
    }
    let find = |partition: &TopicPartition| {
        let key = (partition.topic().to_owned(), partition.partition());
        let found = committed.get(&key).ok_or_else(|| call.malformed(format!("{partition} is missing")))?;
        match found {
            Entry { code: 0, offset: ..0, .. } => Ok(None),
            Entry { code: 0, offset, leader_epoch, metadata } => Ok(Some(CommittedOffset {
                partition: partition.clone(),
                offset: *offset,
                metadata: metadata.as_ref().map(|text| text.to_string()).unwrap_or_default(),
                leader_epoch: Some(*leader_epoch).filter(|epoch| *epoch >= 0),
            })),
            Entry { code, .. } => {
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
            let (offset, leader_epoch) = (entry.committed_offset, entry.committed_leader_epoch);
            let told = Entry { code: entry.error_code, offset, leader_epoch, metadata: entry.metadata };
            entries.insert((topic.name.0.to_string(), entry.partition_index), told);
        }
    }
    let mut code = answer.error_code;
    for group in answer.groups {
        code = group.error_code;
        for topic in group.topics {
            for entry in topic.partitions {
                let (offset, leader_epoch) = (entry.committed_offset, entry.committed_leader_epoch);
                let told = Entry { code: entry.error_code, offset, leader_epoch, metadata: entry.metadata };
                entries.insert((topic.name.0.to_string(), entry.partition_index), told);
            }
        }
    }
    (code, entries)
}

async fn commit(
    cluster: &Cluster,
    call: &Call,
    group: &str,
    member: Option<&MemberIdentity>,
    offsets: &[CommittedOffset],
) -> Result<Vec<Result<(), BrokerError>>, Failed> {
    let entries = offsets.iter().map(|committed| {
        let entry = OffsetCommitRequestPartition::default()
            .with_partition_index(committed.partition.partition())
            .with_committed_offset(committed.offset)
            .with_committed_leader_epoch(committed.leader_epoch.unwrap_or(-1))
            .with_committed_metadata(Some(text(&committed.metadata)));
        (committed.partition.topic().to_owned(), entry)
    });
    let topics = by_topic(entries).into_iter().map(|(topic, partitions)| {
        OffsetCommitRequestTopic::default().with_name(topic_name(&topic)).with_partitions(partitions)
    });
    let mut request = OffsetCommitRequest::default().with_group_id(GroupId(text(group))).with_topics(topics.collect());
    request = match member {
        Some(member) => request
            .with_generation_id_or_member_epoch(member.epoch)
            .with_member_id(text(&member.member_id))
            .with_group_instance_id(member.instance_id.as_deref().map(text)),
        // A consumer that assigns its partitions itself.
        None => request.with_generation_id_or_member_epoch(-1),
    };
    let connection = coordinator(cluster, call, group, Purpose::Control).await?;
    let version = connection.version::<OffsetCommitRequest>(call)?;
    if version < INSTANCE_IDS_SINCE {
        // Without one the member is known by its id and generation all the same.
        request = request.with_group_instance_id(None);
    }
    let answer = connection.call_version(call, version, &request).await?;
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
    let answer = coordinator(cluster, call, group, Purpose::Control).await?.call(call, |_| request).await?;
    match answer.error_code {
        0 => Ok(answer.groups.iter().any(|listed| &*listed.group_id.0 == group)),
        code => Err(group_failed(cluster, call, group, code)),
    }
}

async fn delete(cluster: &Cluster, call: &Call, group: &str) -> Result<(), Failed> {
    let request = DeleteGroupsRequest::default().with_groups_names(vec![GroupId(text(group))]);
    // Sent once: after a lost answer, a second request would say that the group does not exist.
    let answer = coordinator(cluster, call, group, Purpose::Control)
        .await?
        .call(call, |_| request)
        .await
        .map_err(Failed::ForGood)?;
    let found = answer.results.first().ok_or_else(|| call.malformed("the group is missing"))?;
    match found.error_code {
        0 => Ok(()),
        code => Err(group_failed(cluster, call, group, code)),
    }
}
