//! AddOffsetsToTxn, versions 0 to 4.
//!
//! - 1: nothing new in shape. 2: PRODUCER_FENCED may be answered. 3: flexible. 4: nothing new in shape.
//!
//! The transaction begins with it, if it has not begun; TxnOffsetCommit then says which offsets.

use kafka_protocol::messages::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always};
use super::super::state::State;
use super::super::transactions::Claim;
use super::{OK, fenced};

pub(in super::super) static SHAPE: Shape =
    Shape { flexible: 3, fields: &[always(Kind::Text), always(Kind::Fixed(10)), always(Kind::Text)] };

pub(in super::super) fn handle(
    state: &mut State,
    call: &Call<'_>,
    request: &AddOffsetsToTxnRequest,
) -> AddOffsetsToTxnResponse {
    let claim = Claim {
        transactional_id: &request.transactional_id,
        producer_id: request.producer_id.0,
        epoch: request.producer_epoch,
    };
    let code = match call.errors.whole() {
        Some(code) => code,
        None => match state.transactions.add(call.now.elapsed, claim, []) {
            Ok(()) => OK,
            Err(error) => fenced(error, call.version >= 2),
        },
    };
    AddOffsetsToTxnResponse::default().with_error_code(code)
}
