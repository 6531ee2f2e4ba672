use std::time::Duration;

use tokio::time::Instant;

use crate::policy::Backoff;

/// Waits after readings that failed.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_millis(250), 2.0, Duration::from_secs(5));
/// The shortest time between two readings.
const LEAST: Duration = Duration::from_millis(500);
/// The longest time between two readings.
const MOST: Duration = Duration::from_secs(300);

/// When metadata is read.
#[derive(Debug)]
pub(super) struct Looks {
    refresh: Duration,
    next: Instant,
    begun: Option<Instant>,
    under_way: bool,
    /// Whether a reading was asked for while one was under way.
    again: bool,
    failures: u32,
}

impl Looks {
    /// The first reading is due at once, others `refresh` later each.
    pub(super) fn new(refresh: Duration, now: Instant) -> Self {
        let refresh = refresh.clamp(LEAST, MOST);
        Self { refresh, next: now, begun: None, under_way: false, again: false, failures: 0 }
    }

    /// Whether a reading is to begin now; then it has.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        let begins = !self.under_way && now >= self.next;
        if begins {
            (self.under_way, self.again, self.begun) = (true, false, Some(now));
        }
        begins
    }

    /// A reading is wanted before the next one is due.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.again |= self.under_way;
        if self.failures == 0 {
            self.next = self.next.min(self.soon(now));
        }
    }

    /// The reading under way succeeded. Whether the one before had failed.
    pub(super) fn succeeded(&mut self, now: Instant) -> bool {
        self.under_way = false;
        let recovered = std::mem::take(&mut self.failures) > 0;
        self.next = now + self.refresh;
        if self.again {
            self.next = self.soon(now);
        }
        recovered
    }

    /// The reading under way failed. Whether it is the first one in a row.
    pub(super) fn failed(&mut self, now: Instant, random: f64) -> bool {
        (self.under_way, self.failures) = (false, self.failures.saturating_add(1));
        self.next = now + BACKOFF.delay(self.failures, random);
        self.failures == 1
    }

    /// When the next reading is due; `None` while one is under way.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        (!self.under_way).then_some(self.next)
    }

    fn soon(&self, now: Instant) -> Instant {
        self.begun.map_or(now, |begun| now.max(begun + LEAST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_come_by_themselves_sooner_when_wanted_and_never_faster_than_the_least() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut looks = Looks::new(Duration::from_secs(30), start);
        assert!(looks.begin(start));
        assert!(!looks.begin(start));
        looks.succeeded(at(10));
        assert_eq!(looks.wake_at(), Some(at(30_010)));
        looks.hurry(at(20));
        assert_eq!(looks.wake_at(), Some(at(500)));
        assert!(!looks.begin(at(499)) && looks.begin(at(500)));
        // Wanted while one is under way: that one may have seen the old state.
        looks.hurry(at(600));
        assert_eq!(looks.wake_at(), None);
        looks.succeeded(at(700));
        assert_eq!(looks.wake_at(), Some(at(1_000)));
        assert!(looks.begin(at(1_000)));
        assert!(looks.failed(at(1_100), 0.0));
        assert_eq!(looks.wake_at(), Some(at(1_350)));
        looks.hurry(at(1_150));
        assert_eq!(looks.wake_at(), Some(at(1_350)));
        assert!(looks.begin(at(1_350)));
        assert!(!looks.failed(at(1_400), 0.0));
        assert!(looks.begin(at(1_900)));
        looks.succeeded(at(2_000));
        assert_eq!(looks.wake_at(), Some(at(32_000)));
    }
}
