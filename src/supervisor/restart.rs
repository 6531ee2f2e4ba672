use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::policy::Backoff;

/// How often partition actors are started again, and what happens past it.
///
/// Only restarts that did not advance count: a panic whose record was quarantined is progress, a factory that fails
/// is not.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RestartPolicy {
    /// Restarts of one partition within the window before it is given up; more of them without progress in between are
    /// too many however long each attempt takes. Default 5.
    pub max_per_partition: u32,
    /// Restarts of all partitions together within the window before the consumer stops. The first restart of each
    /// partition is not counted, so that many partitions can wait for the same thing at the start. Default 100.
    pub max_overall: u32,
    /// The window. Default 60 s.
    pub window: Duration,
    /// The wait before each restart. Default exponential from 100 ms, doubled up to 10 s, with jitter.
    pub backoff: Backoff,
    /// What happens when a partition is given up. Default [`Escalation::StopConsumer`].
    pub escalation: Escalation,
}

/// What happens when a partition's restarts are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Escalation {
    /// The consumer drains and stops with an error that the caller gets.
    #[default]
    StopConsumer,
    /// That partition stops, visibly; the others go on.
    StopPartition,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            max_per_partition: 5,
            max_overall: 100,
            window: Duration::from_secs(60),
            backoff: Backoff::exponential(Duration::from_millis(100), 2.0, Duration::from_secs(10)),
            escalation: Escalation::default(),
        }
    }
}

impl RestartPolicy {
    /// Sets [`max_per_partition`](Self::max_per_partition).
    pub fn max_per_partition(mut self, max_per_partition: u32) -> Self {
        self.max_per_partition = max_per_partition;
        self
    }

    /// Sets [`max_overall`](Self::max_overall).
    pub fn max_overall(mut self, max_overall: u32) -> Self {
        self.max_overall = max_overall;
        self
    }

    /// Sets [`window`](Self::window).
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Sets [`backoff`](Self::backoff).
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets [`escalation`](Self::escalation).
    pub fn escalation(mut self, escalation: Escalation) -> Self {
        self.escalation = escalation;
        self
    }
}

/// The restarts within the window.
#[derive(Debug, Default)]
pub(super) struct RestartLog {
    restarts: VecDeque<Instant>,
}

impl RestartLog {
    /// Notes a restart and returns how many there are within the window, this one included.
    pub(super) fn note(&mut self, now: Instant, window: Duration) -> u32 {
        while self.restarts.front().is_some_and(|&at| now.duration_since(at) > window) {
            self.restarts.pop_front();
        }
        self.restarts.push_back(now);
        self.restarts.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_outside_the_window_are_forgotten() {
        let mut log = RestartLog::default();
        let start = Instant::now();
        let window = Duration::from_secs(60);
        assert_eq!(log.note(start, window), 1);
        assert_eq!(log.note(start + Duration::from_secs(59), window), 2);
        assert_eq!(log.note(start + Duration::from_secs(61), window), 2);
        assert_eq!(log.note(start + Duration::from_secs(600), window), 1);
    }
}
