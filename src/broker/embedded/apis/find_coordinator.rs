//! FindCoordinator, versions 0 to 6.
//!
//! - 1: key types; throttle time and error text. 3: flexible. 4: several keys at once.
//! - 5, 6: nothing new in shape (transactions, share groups).
//!
//! The one broker coordinates every group and every transaction; coordinators of share groups there are none.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::{BrokerId, FindCoordinatorRequest, FindCoordinatorResponse};
use kafka_protocol::protocol::StrBytes;

use super::super::core::Call;
use super::super::shape::{Kind, Shape, since, until};
use super::super::state::{NODE, State};
use super::{OK, text};

pub(in super::super) static SHAPE: Shape =
    Shape { flexible: 3, fields: &[until(3, Kind::Text), since(1, Kind::Fixed(1)), since(4, Kind::List(&Kind::Text))] };

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

pub(in super::super) fn handle(
    state: &State,
    call: &Call<'_>,
    request: &FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    let unserved = (!matches!(request.key_type, GROUP | TRANSACTION)).then_some(ResponseError::InvalidRequest.code());
    let code = call.errors.whole().or(unserved).unwrap_or(OK);
    let message = (code != OK).then(|| text("There is no such coordinator here."));
    let (node, host, port) =
        if code == OK { (NODE, state.host(), state.port()) } else { (BrokerId(-1), StrBytes::new(), -1) };
    if call.version >= 4 {
        let coordinators = request.coordinator_keys.iter().map(|key| {
            Coordinator::default()
                .with_key(key.clone())
                .with_node_id(node)
                .with_host(host.clone())
                .with_port(port)
                .with_error_code(code)
                .with_error_message(message.clone())
        });
        return FindCoordinatorResponse::default().with_coordinators(coordinators.collect());
    }
    let message = if call.version >= 1 { message } else { None };
    FindCoordinatorResponse::default()
        .with_error_code(code)
        .with_error_message(message)
        .with_node_id(node)
        .with_host(host)
        .with_port(port)
}
