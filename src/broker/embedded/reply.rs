use std::sync::Arc;

use kafka_protocol::messages::FetchResponse;
use kafka_protocol::protocol::{Encodable, HeaderVersion};

use super::core::Outcome;
use super::fault::{Faults, Spoils, Throttled};
use super::request::{Request, encode_answer};

/// Encodes the answer to a request, with the faults that are for it.
pub(crate) struct Reply<'a> {
    faults: &'a mut Faults,
    request: &'a Request,
    touched: Vec<(Arc<str>, Option<i32>)>,
}

impl<'a> Reply<'a> {
    /// `touched` is what the request names, where any fault may be for it.
    pub(crate) fn new(faults: &'a mut Faults, request: &'a Request, touched: Vec<(Arc<str>, Option<i32>)>) -> Self {
        Self { faults, request, touched }
    }

    /// The answer as a frame.
    pub(crate) fn send<R: Encodable + HeaderVersion + Throttled>(&mut self, answer: R) -> Outcome {
        let spoils = self.spoils(false);
        self.encode(answer, &spoils)
    }

    /// The answer to a fetch, whose batches faults may be for.
    pub(crate) fn send_fetched(&mut self, mut answer: FetchResponse) -> Outcome {
        let mut partitions = answer.responses.iter().flat_map(|topic| &topic.partitions);
        let has_batches = partitions.any(|one| one.records.as_ref().is_some_and(|records| !records.is_empty()));
        let spoils = self.spoils(has_batches);
        if !spoils.damages.is_empty() {
            spoils.damage_batch(&mut answer);
        }
        self.encode(answer, &spoils)
    }

    fn spoils(&mut self, has_batches: bool) -> Spoils {
        let (api, version) = (self.request.api, self.request.answer_version());
        let touched: Vec<_> = self.touched.iter().map(|(topic, partition)| (&**topic, *partition)).collect();
        self.faults.spoils(api, &touched, |spoil| spoil.fits(api, version, has_batches))
    }

    fn encode<R: Encodable + HeaderVersion + Throttled>(&self, mut answer: R, spoils: &Spoils) -> Outcome {
        spoils.throttle(&mut answer);
        let (request, version) = (self.request, self.request.answer_version());
        match encode_answer(&answer, version, request.correlation_id) {
            Ok(frame) => spoils.damage_frame(request.api, version, frame),
            Err(cause) => {
                tracing::error!(api = %request.api, version, cause, "answer cannot be encoded");
                Outcome::Close
            }
        }
    }
}
