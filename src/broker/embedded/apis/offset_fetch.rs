//! OffsetFetch, versions 1 to 9.
//!
//! - 2: null asks for all topics; an error of the group as a whole. 3: throttle time. 5: leader epochs.
//! - 6: flexible. 7: `require_stable` refuses offsets that an open transaction is to change. 8: several groups at once. 9: members of KIP-848.
//!
//! A group or partition without a committed offset is answered with -1, not with an error.

use std::collections::HashSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use kafka_protocol::messages::{OffsetFetchRequest, OffsetFetchResponse, TopicName};

use super::super::core::Call;
use super::super::groups::Committed;
use super::super::shape::{Kind, Shape, always, between, since, until};
use super::super::state::State;
use super::{OK, text};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 6,
    fields: &[
        until(7, Kind::Text),
        until(7, Kind::Structs(&[always(Kind::Text), always(Kind::List(&Kind::Fixed(4)))])),
        since(
            8,
            Kind::Structs(&[
                always(Kind::Text),
                between(9, 9, Kind::Text),
                between(9, 9, Kind::Fixed(4)),
                always(Kind::Structs(&[always(Kind::Text), always(Kind::List(&Kind::Fixed(4)))])),
            ]),
        ),
        since(7, Kind::Fixed(1)),
    ],
};

/// A topic and, per partition, what is answered.
type Found = Vec<(TopicName, Vec<(i32, Result<Option<Committed>, i16>)>)>;

pub(in super::super) fn handle(state: &State, call: &Call<'_>, request: &OffsetFetchRequest) -> OffsetFetchResponse {
    if call.version < 8 {
        let asked = request
            .topics
            .as_ref()
            .map(|topics| topics.iter().map(|topic| (topic.name.clone(), topic.partition_indexes.clone())).collect());
        let found = find(state, call, &request.group_id, asked, request.require_stable);
        let topics = found.into_iter().map(|(name, partitions)| {
            let partitions = partitions.into_iter().map(|(index, found)| {
                let (code, committed) = split(found);
                let answer = OffsetFetchResponsePartition::default()
                    .with_partition_index(index)
                    .with_committed_offset(committed.offset)
                    .with_metadata(Some(text(committed.metadata)))
                    .with_error_code(code);
                if call.version >= 5 { answer.with_committed_leader_epoch(committed.leader_epoch) } else { answer }
            });
            OffsetFetchResponseTopic::default().with_name(name).with_partitions(partitions.collect())
        });
        let code = if call.version >= 2 { call.errors.whole().unwrap_or(OK) } else { OK };
        return OffsetFetchResponse::default().with_topics(topics.collect()).with_error_code(code);
    }
    let mut seen = HashSet::new();
    let groups = request.groups.iter().filter(|group| seen.insert(group.group_id.clone())).map(|group| {
        let asked = group
            .topics
            .as_ref()
            .map(|topics| topics.iter().map(|topic| (topic.name.clone(), topic.partition_indexes.clone())).collect());
        let refused = call.errors.whole().or_else(|| check(state, group).err().map(|error| error.code()));
        if let Some(code) = refused {
            return OffsetFetchResponseGroup::default().with_group_id(group.group_id.clone()).with_error_code(code);
        }
        let found = find(state, call, &group.group_id, asked, request.require_stable);
        let topics = found.into_iter().map(|(name, partitions)| {
            let partitions = partitions.into_iter().map(|(index, found)| {
                let (code, committed) = split(found);
                OffsetFetchResponsePartitions::default()
                    .with_partition_index(index)
                    .with_committed_offset(committed.offset)
                    .with_committed_leader_epoch(committed.leader_epoch)
                    .with_metadata(Some(text(committed.metadata)))
                    .with_error_code(code)
            });
            OffsetFetchResponseTopics::default().with_name(name).with_partitions(partitions.collect())
        });
        OffsetFetchResponseGroup::default()
            .with_group_id(group.group_id.clone())
            .with_topics(topics.collect())
            .with_error_code(OK)
    });
    OffsetFetchResponse::default().with_groups(groups.collect())
}

/// Whether a group lets who asks read its offsets. Who does not say who it is may, as administrators do.
fn check(state: &State, asked: &OffsetFetchRequestGroup) -> Result<(), ResponseError> {
    let group = state.groups.get(&asked.group_id);
    match (&asked.member_id, group) {
        (None, _) if asked.member_epoch < 0 => Ok(()),
        (member_id, Some(group)) => {
            group.members.check_fetch(member_id.as_deref().unwrap_or_default(), asked.member_epoch)
        }
        (_, None) => Ok(()),
    }
}

/// What is committed for the partitions asked for, or for all where none are named.
fn find(
    state: &State,
    call: &Call<'_>,
    id: &str,
    asked: Option<Vec<(TopicName, Vec<i32>)>>,
    require_stable: bool,
) -> Found {
    let group = state.groups.get(id);
    let asked = asked.unwrap_or_else(|| {
        let all = group.into_iter().flat_map(|group| group.offsets.all());
        all.map(|(topic, offsets)| (TopicName(text(&**topic)), offsets.keys().copied().collect())).collect()
    });
    let one = |topic: &str, partition: i32| match call.errors.partition(topic, partition) {
        Some(code) => Err(code),
        None if require_stable && state.groups.is_pending(id, topic, partition) => {
            Err(ResponseError::UnstableOffsetCommit.code())
        }
        None => Ok(group.and_then(|group| group.offsets.get(topic, partition)).cloned()),
    };
    asked
        .into_iter()
        .map(|(topic, partitions)| {
            let found = partitions.into_iter().map(|partition| (partition, one(&topic, partition))).collect();
            (topic, found)
        })
        .collect()
}

fn split(found: Result<Option<Committed>, i16>) -> (i16, Committed) {
    let nothing = Committed { offset: -1, leader_epoch: -1, metadata: String::new() };
    match found {
        Ok(committed) => (OK, committed.unwrap_or(nothing)),
        Err(code) => (code, nothing),
    }
}
