//! InitProducerId, versions 0 to 5.
//!
//! - 2: flexible. 3: the request may carry the id and epoch it has. 4: PRODUCER_FENCED may be answered.
//! - 5: nothing new in shape.
//!
//! A request without a transactional id gets a new producer id each time, as in Kafka. One with it keeps its producer
//! id, gets the next epoch, and thereby fences whoever had the transactional id before.

use std::time::Duration;

use kafka_protocol::messages::{InitProducerIdRequest, InitProducerIdResponse, ProducerId};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::State;
use super::fenced;

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 2,
    fields: &[always(Kind::Text), always(Kind::Fixed(4)), since(3, Kind::Fixed(8)), since(3, Kind::Fixed(2))],
};

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &InitProducerIdRequest,
) -> InitProducerIdResponse {
    let given = match (call.errors.whole(), &request.transactional_id) {
        (Some(code), _) => Err(code),
        (None, None) => Ok((state.new_producer_id(), 0)),
        (None, Some(id)) => {
            let timeout = u64::try_from(request.transaction_timeout_ms).unwrap_or(0);
            let known = (request.producer_id.0 >= 0).then_some((request.producer_id.0, request.producer_epoch));
            state
                .init_transactional(call.now, id, Duration::from_millis(timeout), known)
                .map_err(|error| fenced(error, call.version >= 4))
        }
    };
    let answer = InitProducerIdResponse::default();
    match given {
        Ok((id, epoch)) => answer.with_producer_id(ProducerId(id)).with_producer_epoch(epoch),
        Err(code) => answer.with_error_code(code).with_producer_id(ProducerId(-1)).with_producer_epoch(-1),
    }
}
