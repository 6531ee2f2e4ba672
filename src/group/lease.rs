use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Until when this member may take what it was assigned for its own: the lease's length after the *sending* of its last
/// heartbeat that succeeded. Shared with the partition actors, which look at it before each delivery.
#[derive(Debug)]
pub(crate) struct Lease {
    base: Instant,
    /// Nanoseconds since `base`; 0 is over.
    until: AtomicU64,
}

impl Lease {
    /// A lease that is over.
    pub(crate) fn new() -> Self {
        Self { base: Instant::now(), until: AtomicU64::new(0) }
    }

    /// Moves the end, forwards only: a late answer does not shorten it.
    pub(crate) fn extend(&self, until: Instant) {
        self.until.fetch_max(self.nanos(until), Ordering::AcqRel);
    }

    /// Ends it at once.
    pub(crate) fn end(&self) {
        self.until.store(0, Ordering::Release);
    }

    /// Whether nothing may be dispatched, committed or handed over any more.
    pub(crate) fn is_over(&self) -> bool {
        self.nanos(Instant::now()) >= self.until.load(Ordering::Acquire)
    }

    fn nanos(&self, at: Instant) -> u64 {
        let since: Duration = at.saturating_duration_since(self.base);
        // 0 means over; an end before the base is over too.
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lease_ends_at_its_time_and_is_only_ever_made_longer() {
        let lease = Lease::new();
        assert!(lease.is_over());
        let now = Instant::now();
        lease.extend(now + Duration::from_secs(10));
        lease.extend(now + Duration::from_secs(5));
        tokio::time::advance(Duration::from_millis(9_999)).await;
        assert!(!lease.is_over());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(lease.is_over());
        lease.extend(Instant::now() + Duration::from_secs(10));
        assert!(!lease.is_over());
        lease.end();
        assert!(lease.is_over());
    }
}
