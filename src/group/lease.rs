use std::sync::Arc;
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
    /// How often it was ended.
    term: AtomicU64,
}

impl Lease {
    /// A lease that is over.
    pub(crate) fn new() -> Self {
        Self { base: Instant::now(), until: AtomicU64::new(0), term: AtomicU64::new(0) }
    }

    /// Moves the end, forwards only: a late answer does not shorten it.
    pub(crate) fn extend(&self, until: Instant) {
        self.until.fetch_max(self.nanos(until), Ordering::AcqRel);
    }

    /// Ends it at once, and for good for all that was assigned under it.
    pub(crate) fn end(&self) {
        self.term.fetch_add(1, Ordering::AcqRel);
        self.until.store(0, Ordering::Release);
    }

    /// For whoever takes a partition now: this lease, until it is ended.
    pub(crate) fn tenure(self: &Arc<Self>) -> Tenure {
        Tenure { lease: Arc::clone(self), term: self.term() }
    }

    fn term(&self) -> u64 {
        self.term.load(Ordering::Acquire)
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

/// The lease as whoever took a partition under it sees it: over for good once it was ended. A member that lost everything
/// may be in the group again before those that process its partitions are told of the loss.
#[derive(Debug, Clone)]
pub(crate) struct Tenure {
    lease: Arc<Lease>,
    term: u64,
}

impl Tenure {
    /// Whether nothing may be dispatched, committed or handed over any more.
    pub(crate) fn is_over(&self) -> bool {
        // In this order: a lease extended in a later term is seen together with that term.
        self.lease.is_over() || self.lease.term() != self.term
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

    #[tokio::test(start_paused = true)]
    async fn what_was_taken_before_the_lease_was_ended_is_not_processed_under_the_next_one() {
        let lease = Arc::new(Lease::new());
        lease.extend(Instant::now() + Duration::from_secs(10));
        let first = lease.tenure();
        assert!(!first.is_over());
        lease.end();
        lease.extend(Instant::now() + Duration::from_secs(10));
        let second = lease.tenure();
        assert!(first.is_over() && !second.is_over() && !lease.is_over());
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(second.is_over());
    }
}
