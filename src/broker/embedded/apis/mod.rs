//! One file per API: the versions served and what each changed, the shape of its requests, and the handler.

pub(super) mod add_offsets_to_txn;
pub(super) mod add_partitions_to_txn;
pub(super) mod alter_configs;
pub(super) mod api_versions;
pub(super) mod consumer_group_describe;
pub(super) mod consumer_group_heartbeat;
pub(super) mod create_partitions;
pub(super) mod create_topics;
pub(super) mod delete_groups;
pub(super) mod delete_records;
pub(super) mod delete_topics;
pub(super) mod describe_cluster;
pub(super) mod describe_configs;
pub(super) mod describe_groups;
pub(super) mod describe_topic_partitions;
pub(super) mod end_txn;
pub(super) mod fetch;
pub(super) mod find_coordinator;
pub(super) mod heartbeat;
pub(super) mod incremental_alter_configs;
pub(super) mod init_producer_id;
pub(super) mod join_group;
pub(super) mod leave_group;
pub(super) mod list_groups;
pub(super) mod list_offsets;
pub(super) mod metadata;
pub(super) mod offset_commit;
pub(super) mod offset_delete;
pub(super) mod offset_fetch;
pub(super) mod offset_for_leader_epoch;
pub(super) mod produce;
pub(super) mod sync_group;
mod touched;
pub(super) mod txn_offset_commit;

use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::TopicName;
use kafka_protocol::protocol::StrBytes;
pub(super) use touched::touched;
use uuid::Uuid;

use super::topics::Topics;

/// No error.
const OK: i16 = 0;

/// The code of an error about transactions; older versions do not know PRODUCER_FENCED.
fn fenced(error: ResponseError, is_known: bool) -> i16 {
    match error {
        ResponseError::ProducerFenced if !is_known => ResponseError::InvalidProducerEpoch.code(),
        other => other.code(),
    }
}

fn text(text: impl Into<String>) -> StrBytes {
    StrBytes::from_string(text.into())
}

/// A copy of a text to be kept, which does not hold on to the whole request.
fn own(text: &StrBytes) -> StrBytes {
    StrBytes::from_string(text.as_str().to_owned())
}

/// The instance id of a static member, to be kept.
fn own_instance(id: Option<&StrBytes>) -> Option<StrBytes> {
    id.filter(|id| !id.is_empty()).map(own)
}

/// The name of a topic that a request gives by name or, from version `ids_since` on, by id.
fn resolve(
    topics: &Topics,
    version: i16,
    ids_since: i16,
    name: &TopicName,
    id: Uuid,
) -> Result<Arc<str>, ResponseError> {
    if version >= ids_since {
        topics.name_of(id).ok_or(ResponseError::UnknownTopicId)
    } else {
        topics.get(name).map(|topic| Arc::clone(&topic.name)).ok_or(ResponseError::UnknownTopicOrPartition)
    }
}
