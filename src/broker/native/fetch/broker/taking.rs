use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use kafka_protocol::messages::FetchResponse;
use tokio::task::yield_now;
use tokio::time::Instant;

use super::{BrokerLoop, Flight};
use crate::broker::batch::Share;
use crate::broker::native::fetch::epochs::{self, EpochEnds};
use crate::broker::native::fetch::intake::{Next, take_in};
use crate::broker::native::fetch::message::Then;
use crate::broker::native::fetch::session::Session;
use crate::broker::native::fetch::sorting::{Sorted, sort};
use crate::broker::{BrokerError, ErrorCode};

/// After so many bytes decoded, other tasks get their turn.
const TURN: usize = 256 << 10;

impl BrokerLoop {
    /// Takes what a new leader says of what was fetched.
    pub(super) fn validated(&mut self, result: Result<EpochEnds, BrokerError>) {
        let ends = match result {
            Ok(ends) => ends,
            // A broker that cannot tell is believed.
            Err(BrokerError::Unsupported { .. }) => EpochEnds::default(),
            Err(error) => return self.give_all_back(&error),
        };
        let partitions: Vec<_> = self.readings.keys().cloned().collect();
        for partition in partitions {
            let Some(held) = self.readings.get_mut(&partition) else { continue };
            if let Some(then) = epochs::judge(&mut held.reading, &ends) {
                self.give_back(&partition, then);
            }
        }
    }

    /// Takes an answer: sees where to go on, sends the next request, and decodes only then.
    pub(super) async fn take(&mut self, answer: FetchResponse, flight: &mut Option<Flight>) {
        let code = ErrorCode(answer.error_code);
        if code.0 != 0 {
            if Session::concerns(code) && self.refusals == 0 {
                self.refusals += 1;
                self.session.refused(code);
                return self.readings.values_mut().for_each(|held| held.asked = None);
            }
            let error =
                BrokerError::Response { doing: self.call(Duration::ZERO).doing().to_owned(), code, message: None };
            return self.give_all_back(&error);
        }
        self.refusals = 0;
        self.turn += 1;
        self.session.answered(answer.session_id);
        // What was asked for alone is not to blame.
        self.suspects.pop();
        let Sorted { chunks, leaving } =
            sort(answer, &mut self.readings, &mut self.session, self.turn, &self.cluster.settings);
        for (partition, then) in leaving {
            self.give_back(&partition, then);
        }
        *flight = self.next_step();
        if let Some(next) = flight {
            // The first poll hands the request to the task that writes, which gets to run before the decoding.
            if let Poll::Ready(landed) = poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await {
                *next = Box::pin(std::future::ready(landed));
            }
            yield_now().await;
        }
        let whole: usize = chunks.iter().map(|(_, chunk)| chunk.records.len()).sum();
        let mut decoded = 0;
        for (partition, chunk) in chunks {
            let Some(held) = self.readings.get_mut(&partition) else { continue };
            let size = chunk.records.len();
            held.undecoded = None;
            let share = Share { of: whole };
            let next = take_in(&mut held.reading, chunk, self.cluster.settings.max_decompressed_bytes, share);
            match next {
                Next::GoOn => {}
                Next::Pause(pause) => {
                    let then = Then::Again { due: Instant::now() + pause, stale: false };
                    self.give_back(&partition, then);
                }
                Next::End => self.give_back(&partition, Then::End),
            }
            decoded += size;
            if decoded >= TURN {
                decoded = 0;
                yield_now().await;
            }
        }
    }
}
