//! ConsumerGroupHeartbeat, versions 0 and 1 (KIP-848).
//!
//! - 1: the client makes the member id; subscription by a pattern that the broker applies, which is refused here.

use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::consumer_group_heartbeat_response::{Assignment, TopicPartitions};
use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};

use super::super::core::Call;
use super::super::groups::consumer::{Beat, Partitions};
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::{Refused, State};
use super::{OK, own, text};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 0,
    fields: &[
        always(Kind::Text),
        always(Kind::Text),
        always(Kind::Fixed(4)),
        always(Kind::Text),
        always(Kind::Text),
        always(Kind::Fixed(4)),
        always(Kind::List(&Kind::Text)),
        since(1, Kind::Text),
        always(Kind::Text),
        always(Kind::Structs(&[always(Kind::Fixed(16)), always(Kind::List(&Kind::Fixed(4)))])),
    ],
};

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupHeartbeatResponse {
    let answer = ConsumerGroupHeartbeatResponse::default();
    if let Some(code) = call.errors.whole() {
        return answer.with_error_code(code);
    }
    let beaten = read(state, call, request)
        .and_then(|beat| state.groups.consumer_heartbeat(call.now.elapsed, &state.topics, &request.group_id, beat));
    let beaten = match beaten {
        Ok(beaten) => beaten,
        Err(Refused { error, message }) => {
            return answer.with_error_code(error.code()).with_error_message(Some(text(message)));
        }
    };
    // Who leaves is not told when to come again.
    let interval = if beaten.epoch < 0 { Duration::ZERO } else { state.settings.groups.heartbeat_interval };
    let interval = i32::try_from(interval.as_millis()).unwrap_or(i32::MAX);
    answer
        .with_error_code(OK)
        .with_member_id(Some(beaten.member_id))
        .with_member_epoch(beaten.epoch)
        .with_heartbeat_interval_ms(interval)
        .with_assignment(beaten.assignment.map(told))
}

/// What a heartbeat says, where it makes sense.
fn read(state: &mut State, call: &Call<'_>, request: &ConsumerGroupHeartbeatRequest) -> Result<Beat, Refused> {
    if request.group_id.trim().is_empty() {
        return Err(Refused::new(ResponseError::InvalidRequest, "GroupId can't be empty."));
    }
    if request.subscribed_topic_regex.as_ref().is_some_and(|regex| !regex.is_empty()) {
        let message = "The embedded broker takes no pattern: subscribe to topics by name.";
        return Err(Refused::new(ResponseError::InvalidRegularExpression, message));
    }
    let is_unnamed = call.version == 0 && request.member_epoch == 0 && request.member_id.is_empty();
    let owned = request.topic_partitions.as_ref().map(|topics| {
        let all = topics.iter().flat_map(|topic| topic.partitions.iter().map(|one| (topic.topic_id, *one)));
        all.collect()
    });
    let beat = Beat {
        member_id: if is_unnamed { text(state.new_uuid().to_string()) } else { own(&request.member_id) },
        epoch: request.member_epoch,
        instance_id: request.instance_id.as_ref().map(own),
        rack: request.rack_id.as_ref().map(own),
        client: call.client.clone(),
        rebalance_timeout: u64::try_from(request.rebalance_timeout_ms).ok().map(Duration::from_millis),
        topics: request.subscribed_topic_names.as_ref().map(|names| names.iter().map(|name| own(name)).collect()),
        assignor: request.server_assignor.as_ref().map(own),
        owned,
    };
    beat.check().map(|()| beat)
}

fn told(partitions: Partitions) -> Assignment {
    let mut topics: Vec<TopicPartitions> = Vec::new();
    for (id, partition) in partitions {
        match topics.last_mut().filter(|last| last.topic_id == id) {
            Some(last) => last.partitions.push(partition),
            None => topics.push(TopicPartitions::default().with_topic_id(id).with_partitions(vec![partition])),
        }
    }
    Assignment::default().with_topic_partitions(topics)
}
