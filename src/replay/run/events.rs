use std::future::pending;
use std::time::Duration;

use futures_util::stream::StreamExt;
use tokio::time::{Instant, sleep_until};

use super::driver::Driver;
use super::found::Letter;
use super::ledger::{At, Claim};
use super::start::Asked;
use crate::broker::BrokerError;
use crate::producer::{Produced, ProducerError};
use crate::replay::{Progress, ReplayError};

/// How long the marks that were written may take to be read back.
const READ_BACK: Duration = Duration::from_secs(60);

/// What happens next.
pub(super) enum Event {
    Sent(At, Result<Produced, ProducerError>),
    Written(Result<(), BrokerError>),
    Claimed(Result<Vec<(At, Claim)>, ReplayError>),
    Found(Result<Option<Letter>, ReplayError>),
    /// Somebody wants the run to end.
    Asked,
    Tick,
}

/// Ready when the run is asked to stop; never once it was.
pub(super) async fn heard(asked: &mut Option<Asked<'_>>) {
    match asked {
        Some(asked) => asked.signal.as_mut().await,
        None => pending().await,
    }
}

impl<F: FnMut(&Progress) + Send> Driver<'_, F> {
    pub(super) async fn event(&mut self) -> Result<Event, ReplayError> {
        if !self.ledger.is_waiting() || self.write.is_some() {
            self.waiting = None;
        } else if *self.waiting.get_or_insert_with(Instant::now) + READ_BACK < Instant::now() {
            let doing = "reading back what was written to the topics for replay marks".to_owned();
            return Err(BrokerError::Timeout { doing, after: READ_BACK }.into());
        }
        let deadline = self.machine.deadline().map(|deadline| self.started + deadline);
        let deadline = deadline.into_iter().chain(self.waiting.map(|since| since + READ_BACK)).min();
        let (wants_more, waits) = (self.wants_more(), self.ledger.is_waiting());
        let written = async {
            match &mut self.write {
                Some(write) => write.await,
                None => pending().await,
            }
        };
        let tick = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => pending().await,
            }
        };
        Ok(tokio::select! {
            Some((at, result)) = self.sends.next(), if !self.sends.is_empty() => Event::Sent(at, result),
            result = written => Event::Written(result),
            claims = self.ledger.claimed(), if waits => Event::Claimed(claims),
            letter = self.found.next(), if wants_more => Event::Found(letter),
            () = heard(&mut self.asked) => Event::Asked,
            () = tick => Event::Tick,
        })
    }
}
