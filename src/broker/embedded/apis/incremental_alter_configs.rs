//! IncrementalAlterConfigs, versions 0 and 1.
//!
//! - 1: flexible.
//!
//! Topics (resource type 2) can be configured; the broker (4) is as it was built.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::incremental_alter_configs_request::AlterConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};

use super::super::configs::Change;
use super::super::core::Call;
use super::super::shape::{Kind, Shape, always};
use super::super::state::{Refused, State};
use super::alter_configs::{configurable, is_named_once};
use super::{OK, text};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 1,
    fields: &[
        always(Kind::Structs(&[
            always(Kind::Fixed(1)),
            always(Kind::Text),
            always(Kind::Structs(&[always(Kind::Text), always(Kind::Fixed(1)), always(Kind::Text)])),
        ])),
        always(Kind::Fixed(1)),
    ],
};

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse {
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
    IncrementalAlterConfigsResponse::default().with_responses(responses)
}

fn alter(state: &mut State, resource: &AlterConfigsResource, validate_only: bool) -> Result<(), Refused> {
    let topic = configurable(state, resource.resource_type, &resource.resource_name)?;
    let changes: Result<Vec<_>, _> = resource
        .configs
        .iter()
        .map(|config| {
            let value = config.value.as_deref();
            let change = match (config.config_operation, value) {
                (0, Some(value)) => Change::Set(value),
                (1, _) => Change::Delete,
                (2, Some(value)) => Change::Append(value),
                (3, Some(value)) => Change::Subtract(value),
                (0..=3, None) => {
                    let message = format!("Null value not supported for : {}", &*config.name);
                    return Err(Refused::new(ResponseError::InvalidRequest, message));
                }
                (other, _) => {
                    let message = format!("Unknown operation {other} on configuration {}", &*config.name);
                    return Err(Refused::new(ResponseError::InvalidRequest, message));
                }
            };
            Ok((&*config.name, change))
        })
        .collect();
    let configs = topic.configs.changed(changes?)?;
    if !validate_only {
        topic.configs = configs;
    }
    Ok(())
}
