//! ConsumerGroupDescribe, versions 0 and 1 (KIP-848).
//!
//! - 1: whether a member speaks the classic protocol; here none does in such a group.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::consumer_group_describe_response::{Assignment, DescribedGroup, Member, TopicPartitions};
use kafka_protocol::messages::{ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, TopicName};

use super::super::core::Call;
use super::super::groups::Members;
use super::super::groups::consumer::{self, Consumer, Partitions};
use super::super::shape::{Kind, Shape, always};
use super::super::state::State;
use super::super::topics::Topics;
use super::describe_groups::GROUP_OPERATIONS;
use super::{OK, text};

pub(in super::super) static SHAPE: Shape =
    Shape { flexible: 0, fields: &[always(Kind::List(&Kind::Text)), always(Kind::Fixed(1))] };

/// The type of a member that speaks the protocol of KIP-848.
const CONSUMER: i8 = 1;

pub(in super::super) fn handle(
    state: &State,
    call: &Call<'_>,
    request: &ConsumerGroupDescribeRequest,
) -> ConsumerGroupDescribeResponse {
    let groups = request.group_ids.iter().map(|id| {
        let mut group = DescribedGroup::default().with_group_id(id.clone());
        if request.include_authorized_operations {
            group.authorized_operations = GROUP_OPERATIONS;
        }
        let refused =
            |code: i16, message: String| group.clone().with_error_code(code).with_error_message(Some(text(message)));
        let missing = ResponseError::GroupIdNotFound.code();
        match (call.errors.whole(), state.groups.get(id).map(|group| &group.members)) {
            (Some(code), _) => group.with_error_code(code),
            (None, Some(Members::Consumer(consumer))) => describe(group, consumer, &state.topics, call.version),
            (None, Some(_)) => refused(missing, format!("Group {} is not a consumer group.", &**id)),
            (None, None) => refused(missing, format!("Group {} not found.", &**id)),
        }
    });
    ConsumerGroupDescribeResponse::default().with_groups(groups.collect())
}

fn describe(group: DescribedGroup, consumer: &Consumer, topics: &Topics, version: i16) -> DescribedGroup {
    let members = consumer.members().iter().map(|member| describe_member(member, topics, version));
    group
        .with_error_code(OK)
        .with_group_state(text(consumer.state()))
        .with_group_epoch(consumer.epoch())
        .with_assignment_epoch(consumer.assignment_epoch())
        .with_assignor_name(text(consumer.assignor().name()))
        .with_members(members.collect())
}

fn describe_member(member: &consumer::Member, topics: &Topics, version: i16) -> Member {
    let described = Member::default()
        .with_member_id(member.id.clone())
        .with_instance_id(member.instance_id.clone())
        .with_rack_id(member.rack.clone())
        .with_member_epoch(member.epoch)
        .with_client_id(member.client.id.clone())
        .with_client_host(member.client.host.clone())
        .with_subscribed_topic_names(member.topics.iter().cloned().map(TopicName).collect())
        .with_assignment(named(&member.assigned, topics))
        .with_target_assignment(named(&member.target, topics));
    if version >= 1 { described.with_member_type(CONSUMER) } else { described }
}

/// Partitions by topics that are there still, since a topic that is gone has no name.
fn named(partitions: &Partitions, topics: &Topics) -> Assignment {
    let mut all: Vec<TopicPartitions> = Vec::new();
    for (id, partition) in partitions {
        match all.last_mut().filter(|last| last.topic_id == *id) {
            Some(last) => last.partitions.push(*partition),
            None => {
                let Some(name) = topics.name_of(*id) else { continue };
                let topic = TopicPartitions::default().with_topic_id(*id).with_topic_name(TopicName(text(&*name)));
                all.push(topic.with_partitions(vec![*partition]));
            }
        }
    }
    Assignment::default().with_topic_partitions(all)
}
