//! DeleteTopics, versions 1 to 6.
//!
//! - 4: flexible. 5: error texts in the answer. 6: topics by name or by id.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::{DeleteTopicsRequest, DeleteTopicsResponse, TopicName};
use uuid::Uuid;

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always, since, until};
use super::super::state::State;
use super::{OK, text};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 4,
    fields: &[
        since(6, Kind::Structs(&[always(Kind::Text), always(Kind::Fixed(16))])),
        until(5, Kind::List(&Kind::Text)),
        always(Kind::Fixed(4)),
    ],
};

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &DeleteTopicsRequest,
) -> DeleteTopicsResponse {
    let by_name = request.topic_names.iter().map(|name| (Some(name.clone()), Uuid::nil()));
    let either = request.topics.iter().map(|topic| (topic.name.clone(), topic.topic_id));
    let results = by_name.chain(either).map(|(name, id)| delete(state, call, name, id)).collect();
    DeleteTopicsResponse::default().with_responses(results)
}

fn delete(state: &mut State, call: &Call<'_>, name: Option<TopicName>, id: Uuid) -> DeletableTopicResult {
    let (name, missing) = match name {
        Some(name) => (Some(name), ResponseError::UnknownTopicOrPartition),
        None => (state.topics.name_of(id).map(|name| TopicName(text(&*name))), ResponseError::UnknownTopicId),
    };
    let (id, code) = match &name {
        Some(name) => match call.errors.topic(name) {
            Some(code) => (id, code),
            None => state.delete_topic(name).map_or((id, missing.code()), |id| (id, OK)),
        },
        None => (id, missing.code()),
    };
    let result = DeletableTopicResult::default().with_error_code(code);
    // The name may be null from the version on that takes ids.
    if call.version >= 6 { result.with_name(name).with_topic_id(id) } else { result.with_name(name) }
}
