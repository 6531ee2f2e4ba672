//! AlterConfigs, versions 0 to 2: replaces all that is set. Newer clients use IncrementalAlterConfigs.
//!
//! - 1: nothing new in shape. 2: flexible.
//!
//! Topics (resource type 2) can be configured; the broker (4) is as it was built.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::alter_configs_request::AlterConfigsResource;
use kafka_protocol::messages::alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::{AlterConfigsRequest, AlterConfigsResponse};
use kafka_protocol::protocol::StrBytes;

use super::super::configs::Configs;
use super::super::core::Call;
use super::super::shape::{Kind, Shape, always};
use super::super::state::{Refused, State};
use super::super::topics::Topic;
use super::{OK, text};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 2,
    fields: &[
        always(Kind::Structs(&[
            always(Kind::Fixed(1)),
            always(Kind::Text),
            always(Kind::Structs(&[always(Kind::Text), always(Kind::Text)])),
        ])),
        always(Kind::Fixed(1)),
    ],
};

const TOPIC: i8 = 2;

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &AlterConfigsRequest,
) -> AlterConfigsResponse {
    let named = || request.resources.iter().map(|one| (one.resource_type, &one.resource_name));
    let responses = request.resources.iter().map(|resource| {
        let response = AlterConfigsResourceResponse::default()
            .with_resource_type(resource.resource_type)
            .with_resource_name(resource.resource_name.clone());
        if let Some(code) = call.errors.topic(&resource.resource_name) {
            return response.with_error_code(code).with_error_message(Some(text("injected fault")));
        }
        let altered = is_named_once(named(), (resource.resource_type, &resource.resource_name))
            .and_then(|()| alter(state, resource, request.validate_only));
        match altered {
            Ok(()) => response.with_error_code(OK),
            Err(Refused { error, message }) => {
                response.with_error_code(error.code()).with_error_message(Some(text(message)))
            }
        }
    });
    let responses = responses.collect();
    AlterConfigsResponse::default().with_responses(responses)
}

fn alter(state: &mut State, resource: &AlterConfigsResource, validate_only: bool) -> Result<(), Refused> {
    let topic = configurable(state, resource.resource_type, &resource.resource_name)?;
    let entries: Result<Vec<_>, _> = resource
        .configs
        .iter()
        .map(|config| match &config.value {
            Some(value) => Ok((config.name.to_string(), value.to_string())),
            None => {
                let message = format!("Null value not supported for : {}", &*config.name);
                Err(Refused::new(ResponseError::InvalidRequest, message))
            }
        })
        .collect();
    let configs = Configs::new(entries?)?;
    if !validate_only {
        topic.configs = configs;
    }
    Ok(())
}

/// The topic whose configuration is to be changed.
pub(super) fn configurable<'a>(state: &'a mut State, kind: i8, name: &str) -> Result<&'a mut Topic, Refused> {
    if kind != TOPIC {
        let message = format!("Resource type {kind} cannot be configured here; only topics (2) can.");
        return Err(Refused::new(ResponseError::InvalidRequest, message));
    }
    state.topics.get_mut(name).ok_or_else(|| {
        Refused::new(ResponseError::UnknownTopicOrPartition, format!("The topic '{name}' does not exist."))
    })
}

/// Refuses a resource that a request names twice: it could not be told which change is meant.
pub(super) fn is_named_once<'a>(
    all: impl Iterator<Item = (i8, &'a StrBytes)>,
    resource: (i8, &StrBytes),
) -> Result<(), Refused> {
    match all.filter(|other| *other == resource).count() {
        0 | 1 => Ok(()),
        _ => Err(Refused::new(ResponseError::InvalidRequest, "Each resource must appear at most once.")),
    }
}
