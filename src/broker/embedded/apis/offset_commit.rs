//! OffsetCommit, versions 2 to 9.
//!
//! - 3: throttle time. 5: no more retention time. 6: leader epochs. 7: static members. 8: flexible.
//! - 9: member epochs of KIP-848, and errors that go with them.
//!
//! Commits are taken from members that are not outdated, and from consumers that manage their partitions themselves
//! (generation -1) while the group has no members.

use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_commit_request::OffsetCommitRequestPartition;
use kafka_protocol::messages::offset_commit_response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetCommitResponse};
use uuid::Uuid;

use super::super::core::Call;
use super::super::groups::Committed;
use super::super::groups::classic::Claimed;
use super::super::shape::{Kind, Shape, always, between, since};
use super::super::state::State;
use super::OK;

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 8,
    fields: &[
        always(Kind::Text),
        always(Kind::Fixed(4)),
        always(Kind::Text),
        since(7, Kind::Text),
        between(2, 4, Kind::Fixed(8)),
        always(Kind::Structs(&[
            always(Kind::Text),
            always(Kind::Structs(&[
                always(Kind::Fixed(4)),
                always(Kind::Fixed(8)),
                since(6, Kind::Fixed(4)),
                always(Kind::Text),
            ])),
        ])),
    ],
};

/// The longest metadata text, in bytes, as in Kafka (`offset.metadata.max.bytes`).
const MAX_METADATA: usize = 4096;

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &OffsetCommitRequest,
) -> OffsetCommitResponse {
    let claimed = Claimed {
        member_id: &request.member_id,
        instance_id: request.group_instance_id.as_deref(),
        generation: request.generation_id_or_member_epoch,
    };
    let partitions = request.topics.iter().flat_map(|topic| {
        let id = id_of(state, &topic.name);
        topic.partitions.iter().map(move |partition| (id, partition.partition_index))
    });
    let (now, partitions) = (call.now.elapsed, partitions.collect::<Vec<_>>());
    let refused = state.groups.check_commit(now, &request.group_id, claimed, Some(call.version), &partitions);
    let fenced = refused.err().map(|error| error.code());
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            let index = partition.partition_index;
            let code = match call.errors.partition(&topic.name, index).or(fenced) {
                Some(code) => code,
                None => commit(state, &request.group_id, &topic.name, partition),
            };
            OffsetCommitResponsePartition::default().with_partition_index(index).with_error_code(code)
        });
        let partitions = partitions.collect();
        OffsetCommitResponseTopic::default().with_name(topic.name.clone()).with_partitions(partitions)
    });
    let topics = topics.collect();
    OffsetCommitResponse::default().with_topics(topics)
}

fn commit(state: &mut State, group: &str, topic: &str, partition: &OffsetCommitRequestPartition) -> i16 {
    let committed = Committed {
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        metadata: partition.committed_metadata.as_deref().unwrap_or_default().to_owned(),
    };
    match check(state, topic, partition.partition_index, &committed) {
        Ok(topic) => {
            state.groups.commit(group, &topic, partition.partition_index, committed);
            OK
        }
        Err(code) => code,
    }
}

/// The id of a topic; none where there is no such topic, which nobody was assigned then.
pub(super) fn id_of(state: &State, topic: &str) -> Uuid {
    state.topics.get(topic).map_or_else(Uuid::nil, |topic| topic.id)
}

/// Checks what is to be committed for a partition, and returns its topic's name.
pub(super) fn check(state: &State, topic: &str, partition: i32, committed: &Committed) -> Result<Arc<str>, i16> {
    let known = state.topics.get(topic).filter(|topic| topic.log(partition).is_some());
    let topic = known.ok_or(ResponseError::UnknownTopicOrPartition.code())?;
    if committed.metadata.len() > MAX_METADATA {
        return Err(ResponseError::OffsetMetadataTooLarge.code());
    }
    Ok(Arc::clone(&topic.name))
}
