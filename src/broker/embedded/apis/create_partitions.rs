//! CreatePartitions, versions 0 to 3.
//!
//! - 1: nothing new in shape. 2: flexible. 3: throttling by quota, of which there is none here.

use std::collections::HashMap;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::{CreatePartitionsRequest, CreatePartitionsResponse};

use super::super::core::Call;
use super::super::log::Log;
use super::super::shape::{Kind, Shape, always};
use super::super::state::{MAX_NEW_PARTITIONS, NODE, Refused, State};
use super::{OK, text};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 2,
    fields: &[
        always(Kind::Structs(&[
            always(Kind::Text),
            always(Kind::Fixed(4)),
            always(Kind::Structs(&[always(Kind::List(&Kind::Fixed(4)))])),
        ])),
        always(Kind::Fixed(4)),
        always(Kind::Fixed(1)),
    ],
};

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &CreatePartitionsRequest,
) -> CreatePartitionsResponse {
    let mut named: HashMap<&str, usize> = HashMap::new();
    for topic in &request.topics {
        *named.entry(&topic.name).or_default() += 1;
    }
    let results = request.topics.iter().map(|topic| {
        let result = CreatePartitionsTopicResult::default().with_name(topic.name.clone());
        if let Some(code) = call.errors.topic(&topic.name) {
            return result.with_error_code(code).with_error_message(Some(text("injected fault")));
        }
        let grown = if named.get(&**topic.name).is_some_and(|times| *times > 1) {
            Err(Refused::new(ResponseError::InvalidRequest, "Duplicate topic in request."))
        } else {
            grow(state, topic, request.validate_only)
        };
        match grown {
            Ok(()) => result.with_error_code(OK),
            Err(Refused { error, message }) => {
                result.with_error_code(error.code()).with_error_message(Some(text(message)))
            }
        }
    });
    let results = results.collect();
    CreatePartitionsResponse::default().with_results(results)
}

fn grow(state: &mut State, asked: &CreatePartitionsTopic, validate_only: bool) -> Result<(), Refused> {
    let topic = state.topics.get_mut(&asked.name).ok_or_else(|| {
        Refused::new(ResponseError::UnknownTopicOrPartition, "This server does not host this topic-partition.")
    })?;
    let (there, wanted) = (topic.partitions.len(), asked.count);
    let more = i64::from(wanted) - there as i64;
    if more <= 0 {
        let message = match more {
            0 => format!("Topic already has {there} partition(s)."),
            _ => format!(
                "The topic {} currently has {there} partition(s); {wanted} would not be an increase.",
                &**asked.name
            ),
        };
        return Err(Refused::new(ResponseError::InvalidPartitions, message));
    }
    if more > i64::from(MAX_NEW_PARTITIONS) {
        let message = format!("More than {MAX_NEW_PARTITIONS} partitions in one request.");
        return Err(Refused::new(ResponseError::PolicyViolation, message));
    }
    if let Some(assignments) = &asked.assignments {
        let here = assignments.iter().all(|assignment| assignment.broker_ids == [NODE]);
        if assignments.len() as i64 != more || !here {
            let message = format!("{more} partition(s) must be assigned, and the one broker is {}.", NODE.0);
            return Err(Refused::new(ResponseError::InvalidReplicaAssignment, message));
        }
    }
    if !validate_only {
        topic.partitions.extend((0..more).map(|_| Log::default()));
    }
    Ok(())
}
