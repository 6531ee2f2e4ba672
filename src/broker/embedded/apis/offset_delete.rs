//! OffsetDelete, version 0.
//!
//! Offsets of topics that a group with members is subscribed to stay: GROUP_SUBSCRIBED_TO_TOPIC.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_delete_response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};
use kafka_protocol::messages::{OffsetDeleteRequest, OffsetDeleteResponse};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always};
use super::super::state::State;
use super::OK;

pub(in super::super) static SHAPE: Shape = Shape {
    // It has no flexible version.
    flexible: i16::MAX,
    fields: &[
        always(Kind::Text),
        always(Kind::Structs(&[always(Kind::Text), always(Kind::Structs(&[always(Kind::Fixed(4))]))])),
    ],
};

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &OffsetDeleteRequest,
) -> OffsetDeleteResponse {
    let group = state.groups.get(&request.group_id).ok_or(ResponseError::GroupIdNotFound);
    let refused = group.and_then(|group| group.members.check_delete()).err();
    if let Some(code) = call.errors.whole().or(refused.map(|error| error.code())) {
        return OffsetDeleteResponse::default().with_error_code(code);
    }
    let topics = request.topics.iter().map(|topic| {
        let group = state.groups.get(&request.group_id);
        let is_subscribed = group.is_some_and(|group| group.members.is_subscribed(&topic.name));
        let partitions = topic.partitions.iter().map(|partition| {
            let index = partition.partition_index;
            let is_known = state.topics.get(&topic.name).is_some_and(|topic| topic.log(index).is_some());
            let code = match call.errors.partition(&topic.name, index) {
                Some(code) => code,
                None if !is_known => ResponseError::UnknownTopicOrPartition.code(),
                None if is_subscribed => ResponseError::GroupSubscribedToTopic.code(),
                None => {
                    state.groups.forget(&request.group_id, &topic.name, index);
                    OK
                }
            };
            OffsetDeleteResponsePartition::default().with_partition_index(index).with_error_code(code)
        });
        let partitions = partitions.collect();
        OffsetDeleteResponseTopic::default().with_name(topic.name.clone()).with_partitions(partitions)
    });
    let topics = topics.collect();
    OffsetDeleteResponse::default().with_error_code(OK).with_topics(topics)
}
