//! DescribeCluster, versions 0 to 2.
//!
//! - 0: flexible from the start. 1: the client says whether it means brokers (1) or controllers (2).
//! - 2: fenced brokers, of which there are none here.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::{DescribeClusterRequest, DescribeClusterResponse};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::{NODE, State};
use super::metadata::CLUSTER_OPERATIONS;
use super::text;

pub(in super::super) static SHAPE: Shape =
    Shape { flexible: 0, fields: &[always(Kind::Fixed(1)), since(1, Kind::Fixed(1)), since(2, Kind::Fixed(1))] };

const BROKERS: i8 = 1;

pub(in super::super) fn handle(
    state: &State,
    call: &Call<'_>,
    request: &DescribeClusterRequest,
) -> DescribeClusterResponse {
    let mismatched = (request.endpoint_type != BROKERS).then(|| ResponseError::MismatchedEndpointType.code());
    if let Some(code) = call.errors.whole().or(mismatched) {
        let message = if mismatched == Some(code) { "This is a broker, not a controller." } else { "injected fault" };
        return DescribeClusterResponse::default().with_error_code(code).with_error_message(Some(text(message)));
    }
    let broker = DescribeClusterBroker::default().with_broker_id(NODE).with_host(state.host()).with_port(state.port());
    let answer = DescribeClusterResponse::default()
        .with_cluster_id(state.cluster_id.clone())
        .with_controller_id(NODE)
        .with_brokers(vec![broker]);
    if request.include_cluster_authorized_operations {
        return answer.with_cluster_authorized_operations(CLUSTER_OPERATIONS);
    }
    answer
}
