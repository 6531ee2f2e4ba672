use std::time::Duration;

use tokio::time::Instant;

use crate::policy::Backoff;

/// Waits after heartbeats that failed, and before joining again where the membership is lost over and over.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_millis(100), 2.0, Duration::from_secs(2));
/// The shortest pause between two heartbeats that nothing but somebody's impatience asks for; also the least interval that a
/// broker can tell.
const LEAST: Duration = Duration::from_millis(100);

/// When the next heartbeat goes out.
#[derive(Debug)]
pub(super) struct Pace {
    /// `None` for at once.
    next: Option<Instant>,
    /// As the broker told last.
    interval: Duration,
    sent: Option<Instant>,
    joined: Option<Instant>,
    /// How many heartbeats have failed in a row.
    failures: u32,
    /// How many memberships were lost in a row before they had lasted for an interval.
    losses: u32,
}

impl Pace {
    /// The first heartbeat goes out at once.
    pub(super) fn new() -> Self {
        Self { next: None, interval: LEAST, sent: None, joined: None, failures: 0, losses: 0 }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| now >= next)
    }

    /// Whether the last heartbeat failed, so that nothing goes out before its time.
    pub(super) fn is_failing(&self) -> bool {
        self.failures > 0
    }

    pub(super) fn sent(&mut self, now: Instant) {
        self.sent = Some(now);
    }

    /// A heartbeat sent at `sent` succeeded; `joined`: it joined the group.
    pub(super) fn succeeded(&mut self, sent: Instant, interval: Duration, joined: bool) {
        if joined {
            self.joined = Some(sent);
        } else if self.joined.is_some_and(|joined| sent >= joined + self.interval) {
            self.losses = 0;
        }
        self.failures = 0;
        self.interval = interval.max(LEAST);
        self.next = Some(sent + self.interval);
    }

    /// A heartbeat failed. Whether it is the first one in a row.
    pub(super) fn failed(&mut self, now: Instant, random: f64) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.next = Some(now + BACKOFF.delay(self.failures, random));
        self.failures == 1
    }

    /// The membership is lost: it is looked for again at once the first time, and after longer and longer waits then.
    pub(super) fn lost(&mut self, now: Instant, random: f64) {
        let wait = if self.losses == 0 { Duration::ZERO } else { BACKOFF.delay(self.losses, random) };
        self.losses = self.losses.saturating_add(1);
        self.next = Some(self.next.filter(|_| self.failures > 0).map_or(now + wait, |next| next.max(now + wait)));
    }

    /// What the coordinator says now is wanted before the interval is over.
    pub(super) fn hurry(&mut self, now: Instant) {
        if self.failures == 0 {
            let soon = self.sent.map_or(now, |sent| now.max(sent + LEAST));
            self.next = self.next.map(|next| next.min(soon));
        }
    }
}
