//! CreateTopics, versions 2 to 7.
//!
//! - 4: partitions and replication factor may be -1, the broker's default.
//! - 5: flexible; the answer tells partitions, replication and configuration.
//! - 7: topic ids in the answer.

use std::collections::{HashMap, HashSet};

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::create_topics_response::{CreatableTopicConfigs, CreatableTopicResult};
use kafka_protocol::messages::{CreateTopicsRequest, CreateTopicsResponse};

use super::super::configs::KNOWN;
use super::super::core::Call;
use super::super::shape::{Kind, Shape, always};
use super::super::state::{Creation, MAX_NEW_PARTITIONS, NODE, Refused, State};
use super::super::topics::Topic;
use super::text;

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 5,
    fields: &[
        always(Kind::Structs(&[
            always(Kind::Text),
            always(Kind::Fixed(4)),
            always(Kind::Fixed(2)),
            always(Kind::Structs(&[always(Kind::Fixed(4)), always(Kind::List(&Kind::Fixed(4)))])),
            always(Kind::Structs(&[always(Kind::Text), always(Kind::Text)])),
        ])),
        always(Kind::Fixed(4)),
        always(Kind::Fixed(1)),
    ],
};

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &CreateTopicsRequest,
) -> CreateTopicsResponse {
    let mut named: HashMap<&str, usize> = HashMap::new();
    for topic in &request.topics {
        *named.entry(&topic.name).or_default() += 1;
    }
    let mut partitions_left = MAX_NEW_PARTITIONS as usize;
    // A name that is there twice gets one answer.
    let mut answered = HashSet::new();
    let topics = request.topics.iter().filter(|topic| answered.insert(&**topic.name));
    let results = topics.map(|topic| {
        let result = CreatableTopicResult::default().with_name(topic.name.clone());
        if let Some(code) = call.errors.topic(&topic.name) {
            return result.with_error_code(code).with_error_message(Some(text("injected fault")));
        }
        let built = if named.get(&**topic.name).is_some_and(|times| *times > 1) {
            Err(Refused::new(ResponseError::InvalidRequest, "Duplicate topic name."))
        } else {
            build(state, topic)
        };
        match built {
            Ok(topic) if topic.partitions.len() > partitions_left => result
                .with_error_code(ResponseError::PolicyViolation.code())
                .with_error_message(Some(text(format!("More than {MAX_NEW_PARTITIONS} partitions in one request.")))),
            Ok(topic) => {
                partitions_left -= topic.partitions.len();
                let result = describe(result, &topic, call.version);
                if request.validate_only {
                    return result;
                }
                let id = topic.id;
                state.topics.insert(topic);
                result.with_topic_id(id)
            }
            Err(Refused { error, message }) => {
                result.with_error_code(error.code()).with_error_message(Some(text(message)))
            }
        }
    });
    let results = results.collect();
    CreateTopicsResponse::default().with_topics(results)
}

fn build(state: &mut State, topic: &CreatableTopic) -> Result<Topic, Refused> {
    let configs = topic
        .configs
        .iter()
        .filter_map(|config| config.value.as_ref().map(|value| (config.name.to_string(), value.to_string())));
    let partitions = if topic.assignments.is_empty() { topic.num_partitions } else { assigned(topic)? };
    state.build_topic(Creation {
        name: topic.name.to_string(),
        partitions,
        replication: topic.replication_factor,
        configs: configs.collect(),
    })
}

/// How many partitions a request asks for that assigns replicas by hand.
fn assigned(topic: &CreatableTopic) -> Result<i32, Refused> {
    if topic.num_partitions != -1 || topic.replication_factor != -1 {
        let message = "Replicas are assigned by hand, so partitions and replication factor must be -1.";
        return Err(Refused::new(ResponseError::InvalidRequest, message));
    }
    let mut indexes: Vec<i32> = topic.assignments.iter().map(|assignment| assignment.partition_index).collect();
    indexes.sort_unstable();
    let consecutive = indexes.iter().enumerate().all(|(position, index)| position as i32 == *index);
    let here = topic.assignments.iter().all(|assignment| assignment.broker_ids == [NODE]);
    if !consecutive || !here {
        let message = format!("Partitions must be numbered from 0, and the one broker is {}.", NODE.0);
        return Err(Refused::new(ResponseError::InvalidReplicaAssignment, message));
    }
    Ok(indexes.len() as i32)
}

fn describe(result: CreatableTopicResult, topic: &Topic, version: i16) -> CreatableTopicResult {
    if version < 5 {
        return result;
    }
    let configs = KNOWN.iter().map(|known| {
        let set = topic.configs.set(known.name);
        CreatableTopicConfigs::default()
            .with_name(text(known.name))
            .with_value(Some(text(set.unwrap_or(known.default))))
            .with_config_source(if set.is_some() { 1 } else { 5 })
    });
    result
        .with_num_partitions(topic.partitions.len() as i32)
        .with_replication_factor(1)
        .with_configs(Some(configs.collect()))
}
