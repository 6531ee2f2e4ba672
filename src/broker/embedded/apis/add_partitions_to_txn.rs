//! AddPartitionsToTxn, versions 0 to 3.
//!
//! - 1: nothing new in shape. 2: PRODUCER_FENCED may be answered. 3: flexible.
//! - Later versions are for brokers among each other.
//!
//! Either all partitions are added or none.

use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
};
use kafka_protocol::messages::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always};
use super::super::state::State;
use super::super::transactions::Claim;
use super::{OK, fenced};

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 3,
    fields: &[
        always(Kind::Text),
        always(Kind::Fixed(10)),
        always(Kind::Structs(&[always(Kind::Text), always(Kind::List(&Kind::Fixed(4)))])),
    ],
};

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &AddPartitionsToTxnRequest,
) -> AddPartitionsToTxnResponse {
    let asked = request.v3_and_below_topics.iter();
    let asked: Vec<(&str, i32)> =
        asked.flat_map(|topic| topic.partitions.iter().map(|one| (&**topic.name, *one))).collect();
    let problem = |topic: &str, partition: i32| {
        let missing = || state.topics.get(topic).and_then(|topic| topic.log(partition)).is_none();
        let missing = || missing().then(|| ResponseError::UnknownTopicOrPartition.code());
        call.errors.partition(topic, partition).or_else(missing)
    };
    let problems: Vec<_> = asked.iter().map(|(topic, partition)| problem(topic, *partition)).collect();
    let claim = Claim {
        transactional_id: &request.v3_and_below_transactional_id,
        producer_id: request.v3_and_below_producer_id.0,
        epoch: request.v3_and_below_producer_epoch,
    };
    let others = if problems.iter().any(Option::is_some) {
        ResponseError::OperationNotAttempted.code()
    } else {
        let partitions = asked.iter().map(|(topic, partition)| (Arc::from(*topic), *partition));
        match state.transactions.add(call.now.elapsed, claim, partitions) {
            Ok(()) => OK,
            Err(error) => fenced(error, call.version >= 2),
        }
    };
    let mut problems = problems.into_iter();
    let results = request.v3_and_below_topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().zip(&mut problems).map(|(partition, problem)| {
            AddPartitionsToTxnPartitionResult::default()
                .with_partition_index(*partition)
                .with_partition_error_code(problem.unwrap_or(others))
        });
        AddPartitionsToTxnTopicResult::default()
            .with_name(topic.name.clone())
            .with_results_by_partition(partitions.collect())
    });
    AddPartitionsToTxnResponse::default().with_results_by_topic_v3_and_below(results.collect())
}
