use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::broker::{BrokerError, ErrorCode};

/// One call of a port: what is being done, for its errors, and when it must have ended.
#[derive(Debug, Clone)]
pub(super) struct Call {
    doing: Arc<str>,
    deadline: Instant,
    after: Duration,
}

/// How a round of a retried call failed.
pub(super) enum Failed {
    /// Another round may succeed.
    ForNow(BrokerError),
    /// Another round would not help.
    ForGood(BrokerError),
}

impl Failed {
    /// Sorts an error code by whether Kafka calls it retriable.
    pub(super) fn by_code(call: &Call, code: i16, message: Option<String>) -> Self {
        let error = call.response(code, message);
        if error.is_retriable() { Self::ForNow(error) } else { Self::ForGood(error) }
    }

    /// The error, where there is no other round.
    pub(super) fn into_error(self) -> BrokerError {
        match self {
            Self::ForNow(error) | Self::ForGood(error) => error,
        }
    }
}

/// A connection that was lost may be a stale one: the next round opens another. That no broker can be reached, or
/// that time is up, is for the caller to know at once.
impl From<BrokerError> for Failed {
    fn from(error: BrokerError) -> Self {
        match error {
            BrokerError::Connection { .. } => Self::ForNow(error),
            _ => Self::ForGood(error),
        }
    }
}

/// More than anybody waits for: the clock has an end, and time beyond it would be a panic.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3_600);

impl Call {
    pub(super) fn new(doing: impl Into<Arc<str>>, within: Duration) -> Self {
        Self { doing: doing.into(), deadline: Instant::now() + within.min(FOREVER), after: within }
    }

    /// A part of this call that has its own description and the same deadline.
    pub(super) fn part(&self, doing: impl Into<Arc<str>>) -> Self {
        Self { doing: doing.into(), ..self.clone() }
    }

    pub(super) fn doing(&self) -> &str {
        &self.doing
    }

    /// The time that is left.
    pub(super) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The time that is left, in milliseconds, as requests carry it.
    pub(super) fn millis_left(&self) -> i32 {
        i32::try_from(self.time_left().as_millis()).unwrap_or(i32::MAX)
    }

    /// Bounds `work` by the deadline.
    pub(super) async fn bound<T>(&self, work: impl Future<Output = T>) -> Result<T, BrokerError> {
        timeout_at(self.deadline, work).await.map_err(|_| self.timeout())
    }

    /// Repeats `round` with a growing pause while it fails for now; past the deadline the last error is returned.
    pub(super) async fn retry<T, F>(&self, mut round: impl FnMut() -> F) -> Result<T, BrokerError>
    where
        F: Future<Output = Result<T, Failed>>,
    {
        let mut pauses = self.pauses();
        loop {
            match round().await {
                Ok(value) => return Ok(value),
                Err(failed) => pauses.after(failed).await?,
            }
        }
    }

    /// The pauses between rounds, for those that [`retry`](Self::retry) cannot run.
    pub(super) fn pauses(&self) -> Pauses<'_> {
        Pauses { call: self, next: Duration::from_millis(20) }
    }

    pub(super) fn timeout(&self) -> BrokerError {
        BrokerError::Timeout { doing: self.doing.to_string(), after: self.after }
    }

    pub(super) fn connection(&self, cause: impl ToString) -> BrokerError {
        BrokerError::Connection { doing: self.doing.to_string(), cause: cause.to_string() }
    }

    pub(super) fn tls(&self, cause: impl ToString) -> BrokerError {
        BrokerError::Tls { doing: self.doing.to_string(), cause: cause.to_string() }
    }

    pub(super) fn authentication(&self, cause: impl ToString) -> BrokerError {
        BrokerError::Authentication { doing: self.doing.to_string(), cause: cause.to_string() }
    }

    pub(super) fn malformed(&self, cause: impl ToString) -> BrokerError {
        BrokerError::Malformed { doing: self.doing.to_string(), cause: cause.to_string() }
    }

    pub(super) fn response(&self, code: i16, message: Option<String>) -> BrokerError {
        BrokerError::Response { doing: self.doing.to_string(), code: ErrorCode(code), message }
    }
}

/// The pauses between the rounds of a retried call.
pub(super) struct Pauses<'a> {
    call: &'a Call,
    next: Duration,
}

impl Pauses<'_> {
    /// Waits for the next round; an error where there is to be none.
    pub(super) async fn after(&mut self, failed: Failed) -> Result<(), BrokerError> {
        let error = match failed {
            Failed::ForNow(error) => error,
            Failed::ForGood(error) => return Err(error),
        };
        let pause = self.next;
        if Instant::now() + pause >= self.call.deadline {
            return Err(error);
        }
        tracing::debug!(%error, ?pause, "retrying");
        sleep(pause).await;
        self.next = (pause * 2).min(Duration::from_millis(500));
        Ok(())
    }
}

/// Whether an error code is about the group's coordinator, so that nothing of the request took effect.
pub(super) fn is_coordinator_error(code: i16) -> bool {
    let code = ErrorCode(code);
    code.refreshes_coordinator() || code == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
}
