//! InitProducerId, versions 0 to 5.
//!
//! - 2: flexible. 3: the request may carry the id and epoch it has. 4: PRODUCER_FENCED may be answered.
//! - 5: nothing new in shape.
//!
//! Transactions are not served: a request with a transactional id is refused. One without gets a new id each time,
//! as in Kafka.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{InitProducerIdRequest, InitProducerIdResponse, ProducerId};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always, since};
use super::super::state::State;

pub(in super::super) static SHAPE: Shape = Shape {
    flexible: 2,
    fields: &[always(Kind::Text), always(Kind::Fixed(4)), since(3, Kind::Fixed(8)), since(3, Kind::Fixed(2))],
};

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &InitProducerIdRequest,
) -> InitProducerIdResponse {
    let refused = request.transactional_id.as_ref().map(|_| ResponseError::InvalidRequest.code());
    if let Some(code) = call.errors.whole().or(refused) {
        return InitProducerIdResponse::default()
            .with_error_code(code)
            .with_producer_id(ProducerId(-1))
            .with_producer_epoch(-1);
    }
    InitProducerIdResponse::default().with_producer_id(ProducerId(state.new_producer_id())).with_producer_epoch(0)
}
