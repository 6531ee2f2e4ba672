//! DescribeConfigs, versions 1 to 4.
//!
//! - 1: synonyms, and where a value comes from. 3: types and documentation. 4: flexible.
//!
//! Topics are described (resource type 2), and the broker (4) by a few settings that tools ask for.

use std::collections::HashSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use kafka_protocol::messages::{DescribeConfigsRequest, DescribeConfigsResponse};

use super::super::configs::KNOWN;
use super::super::core::Call;
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::{NODE, Refused, State};
use super::super::topics::check_name;
use super::{OK, text};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 4,
    fields: &[
        always(Kind::Structs(&[always(Kind::Fixed(1)), always(Kind::Text), always(Kind::List(&Kind::Text))])),
        always(Kind::Fixed(1)),
        since(3, Kind::Fixed(1)),
    ],
};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
/// Where a value comes from.
const SET_ON_TOPIC: i8 = 1;
const SET_ON_BROKER: i8 = 4;
const DEFAULT: i8 = 5;

pub(in super::super) fn handle(
    state: &State,
    call: &Call<'_>,
    request: &DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    let mut seen = HashSet::new();
    let results = request
        .resources
        .iter()
        .filter(|resource| seen.insert((resource.resource_type, resource.resource_name.clone())))
        .map(|resource| {
            let result = DescribeConfigsResult::default()
                .with_resource_type(resource.resource_type)
                .with_resource_name(resource.resource_name.clone());
            let injected = match resource.resource_type {
                TOPIC => call.errors.topic(&resource.resource_name),
                _ => call.errors.whole(),
            };
            if let Some(code) = injected {
                return result.with_error_code(code);
            }
            let described = match resource.resource_type {
                TOPIC => describe_topic(state, resource),
                BROKER => describe_broker(state, resource),
                other => {
                    let message = format!("Resource type {other} is not served.");
                    Err(Refused::new(ResponseError::InvalidRequest, message))
                }
            };
            match described {
                Ok(mut configs) => {
                    if let Some(wanted) = &resource.configuration_keys {
                        configs.retain(|config| wanted.contains(&config.name));
                    }
                    for config in &mut configs {
                        adapt(config, call.version, request.include_synonyms);
                    }
                    result.with_error_code(OK).with_configs(configs)
                }
                Err(Refused { error, message }) => {
                    result.with_error_code(error.code()).with_error_message(Some(text(message)))
                }
            }
        })
        .collect();
    DescribeConfigsResponse::default().with_results(results)
}

fn describe_topic(
    state: &State,
    resource: &DescribeConfigsResource,
) -> Result<Vec<DescribeConfigsResourceResult>, Refused> {
    let name = &resource.resource_name;
    check_name(name)?;
    let topic = state.topics.get(name).ok_or_else(|| {
        Refused::new(ResponseError::UnknownTopicOrPartition, format!("Topic '{name}' does not exist."))
    })?;
    let entries = KNOWN.iter().map(|known| {
        let set = topic.configs.set(known.name);
        let source = if set.is_some() { SET_ON_TOPIC } else { DEFAULT };
        entry(known.name, set.unwrap_or(known.default), source, known.kind.code())
    });
    Ok(entries.collect())
}

fn describe_broker(
    state: &State,
    resource: &DescribeConfigsResource,
) -> Result<Vec<DescribeConfigsResourceResult>, Refused> {
    let node = NODE.0.to_string();
    if *resource.resource_name != *node && !resource.resource_name.is_empty() {
        let message = format!("Unexpected broker id, expected {node} but received {}", &*resource.resource_name);
        return Err(Refused::new(ResponseError::InvalidRequest, message));
    }
    let settings = &state.settings;
    let (boolean, int) = (1, 3);
    Ok(vec![
        entry("broker.id", &node, SET_ON_BROKER, int),
        entry("num.partitions", &settings.default_partitions.to_string(), SET_ON_BROKER, int),
        entry("default.replication.factor", "1", DEFAULT, int),
        entry("auto.create.topics.enable", &settings.auto_create_topics.to_string(), SET_ON_BROKER, boolean),
    ])
}

fn entry(name: &str, value: &str, source: i8, kind: i8) -> DescribeConfigsResourceResult {
    DescribeConfigsResourceResult::default()
        .with_name(text(name))
        .with_value(Some(text(value)))
        .with_read_only(source == SET_ON_BROKER)
        .with_config_source(source)
        .with_config_type(kind)
}

/// Leaves out what the version does not have, and adds the synonyms where they are wanted.
fn adapt(config: &mut DescribeConfigsResourceResult, version: i16, synonyms: bool) {
    if version < 3 {
        config.config_type = 0;
    }
    if synonyms {
        config.synonyms = vec![
            DescribeConfigsSynonym::default()
                .with_name(config.name.clone())
                .with_value(config.value.clone())
                .with_source(config.config_source),
        ];
    }
}
