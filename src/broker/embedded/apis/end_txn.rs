//! EndTxn, versions 0 to 4.
//!
//! - 1: nothing new in shape. 2: PRODUCER_FENCED may be answered. 3: flexible. 4: nothing new in shape.
//! - Version 5 belongs to the second version of transactions (KIP-890), which the broker does not claim to have.
//!
//! Markers are written before the answer: whoever reads after it sees the transaction decided.

use kafka_protocol::messages::{EndTxnRequest, EndTxnResponse};

use super::super::core::Call;
use super::super::shape::{Kind, Shape, always};
use super::super::state::State;
use super::super::transactions::Claim;
use super::{OK, fenced};

pub(in super::super) static SHAPE: Shape =
    Shape { flexible: 3, fields: &[always(Kind::Text), always(Kind::Fixed(10)), always(Kind::Fixed(1))] };

pub(in super::super) fn handle(state: &mut State, call: &Call<'_>, request: &EndTxnRequest) -> EndTxnResponse {
    let claim = Claim {
        transactional_id: &request.transactional_id,
        producer_id: request.producer_id.0,
        epoch: request.producer_epoch,
    };
    let code = match call.errors.whole() {
        Some(code) => code,
        None => match state.end_transaction(call.now, claim, request.committed) {
            Ok(()) => OK,
            Err(error) => fenced(error, call.version >= 2),
        },
    };
    EndTxnResponse::default().with_error_code(code)
}
