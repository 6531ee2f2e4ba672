use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::broker::Feed;
use crate::group::Tenure;
use crate::record::TopicPartition;

/// What one ownership of a partition keeps from incarnation to incarnation: the feed, the place in it, the retries of
/// the record at that place, and how many dead letters wait for their acknowledgement.
pub(crate) struct Ownership {
    pub(crate) partition: TopicPartition,
    /// Tells this ownership from others of the same partition; messages of another epoch are ignored.
    pub(crate) epoch: u64,
    pub(crate) feed: Arc<Feed>,
    /// The offset that it began at.
    pub(crate) start: i64,
    /// The next offset to deliver. Written by the one live incarnation, or by its restart.
    position: AtomicI64,
    /// Everything below is reported as settled, or handed over to be dead-lettered.
    reported: AtomicI64,
    /// The offset in `retry`: records that never failed, which is most, need no lock.
    retrying: AtomicI64,
    retry: Mutex<Option<Retry>>,
    unacknowledged: watch::Sender<usize>,
    /// Whether a delivery is being waited for.
    in_flight: AtomicBool,
    /// In one word, since each delivery looks at it: [`STOPPING`] and its like.
    flags: AtomicU8,
    /// Told of each change of the flags.
    changed: Notify,
    /// Until when a member of a group may take the partition for its own.
    lease: Option<Tenure>,
}

/// No further record is taken.
const STOPPING: u8 = 1;
/// It stops once the feed is empty.
const FINISHING: u8 = 2;
/// Nothing new is delivered for now.
const PAUSED: u8 = 4;
/// The partition is not this consumer's any more.
const LOST: u8 = 8;

/// How often it is looked whether a lease that is over was renewed, of which nobody is told.
pub(crate) const LEASE_LOOK: Duration = Duration::from_millis(100);

/// The failed attempts of the record at the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retry {
    pub(crate) offset: i64,
    /// How many attempts have failed.
    pub(crate) attempts: u32,
    pub(crate) first_failed: SystemTime,
    pub(crate) last_failed: SystemTime,
}

impl Ownership {
    pub(crate) fn new(partition: TopicPartition, epoch: u64, start: i64, feed: Arc<Feed>) -> Self {
        Self {
            partition,
            epoch,
            feed,
            start,
            position: AtomicI64::new(start),
            reported: AtomicI64::new(start),
            retrying: AtomicI64::new(i64::MIN),
            retry: Mutex::default(),
            unacknowledged: watch::Sender::new(0),
            in_flight: AtomicBool::new(false),
            flags: AtomicU8::new(0),
            changed: Notify::new(),
            lease: None,
        }
    }

    /// Bound to a member's lease.
    pub(crate) fn leased(self, lease: Option<Tenure>) -> Self {
        Self { lease, ..self }
    }

    /// The lease that it is bound to.
    pub(crate) fn tenure(&self) -> Option<Tenure> {
        self.lease.clone()
    }

    pub(crate) fn position(&self) -> i64 {
        self.position.load(Ordering::Acquire)
    }

    /// Moves past what was handled.
    pub(crate) fn advance(&self, position: i64) {
        self.position.store(position, Ordering::Release);
    }

    /// Moves past a record that is settled by others: its dead letter's acknowledgement, or whoever skipped it. All that
    /// was handled before it is reported already.
    pub(crate) fn pass(&self, position: i64) {
        // In this order: nobody may take it for handled in between.
        self.reported(position);
        self.advance(position);
    }

    /// Notes that everything below `offset` is reported as settled, or handed over.
    pub(crate) fn reported(&self, offset: i64) {
        self.reported.store(offset, Ordering::Release);
    }

    /// What was handled but not reported, `[from, to)`: an incarnation that ends without a word leaves it to the next.
    pub(crate) fn unreported(&self) -> (i64, i64) {
        (self.reported.load(Ordering::Acquire).min(self.position()), self.position())
    }

    /// The failed attempts of the record to be delivered next, if it has any.
    pub(crate) fn retrying(&self) -> Option<Retry> {
        self.retry(self.position())
    }

    /// The failed attempts of the record at `offset`, if it has any.
    pub(crate) fn retry(&self, offset: i64) -> Option<Retry> {
        if self.retrying.load(Ordering::Acquire) != offset {
            return None;
        }
        self.retry_state().filter(|retry| retry.offset == offset)
    }

    /// Counts a failed attempt of the record at `offset`.
    pub(crate) fn failed(&self, offset: i64, now: SystemTime) -> Retry {
        let mut state = self.retry_state();
        let before = state.filter(|retry| retry.offset == offset);
        let retry = Retry {
            offset,
            attempts: before.map_or(0, |retry| retry.attempts) + 1,
            first_failed: before.map_or(now, |retry| retry.first_failed),
            last_failed: now,
        };
        *state = Some(retry);
        self.retrying.store(offset, Ordering::Release);
        retry
    }

    fn retry_state(&self) -> MutexGuard<'_, Option<Retry>> {
        self.retry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts dead letters handed over for publishing.
    pub(crate) fn dead_letters_sent(&self, sent: usize) {
        self.unacknowledged.send_modify(|count| *count += sent);
    }

    /// Counts dead letters acknowledged, or given up with the ownership. Together, since whoever waits is woken each time.
    pub(crate) fn dead_letters_settled(&self, settled: usize) {
        self.unacknowledged.send_modify(|count| *count = count.saturating_sub(settled));
    }

    pub(crate) fn unacknowledged(&self) -> usize {
        *self.unacknowledged.borrow()
    }

    /// Notes whether a delivery is being waited for: for those who look, nothing depends on it.
    pub(crate) fn wait_for_delivery(&self, in_flight: bool) {
        self.in_flight.store(in_flight, Ordering::Relaxed);
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Waits until at most `limit` dead letters wait for their acknowledgement. False if the ownership ends before.
    pub(crate) async fn acknowledged_down_to(&self, limit: usize) -> bool {
        let mut count = self.unacknowledged.subscribe();
        tokio::select! {
            biased;
            () = self.stopped() => false,
            result = count.wait_for(|count| *count <= limit) => result.is_ok(),
        }
    }

    /// Waits until no dead letter waits for its acknowledgement, even if the ownership is ending; but not once it is lost.
    pub(crate) async fn all_acknowledged(&self) {
        let mut count = self.unacknowledged.subscribe();
        tokio::select! {
            biased;
            // The sender is in `self`: this cannot fail.
            _ = count.wait_for(|count| *count == 0) => {}
            () = self.until(LOST) => {}
        }
    }

    /// Asks the partition actor to stop once the feed is empty: nothing more will come.
    pub(crate) fn finish(&self) {
        self.raise(FINISHING);
    }

    pub(crate) fn is_finishing(&self) -> bool {
        self.has(FINISHING)
    }

    /// Asks the partition actor to take no further record.
    pub(crate) fn stop(&self) {
        self.raise(STOPPING);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.has(STOPPING)
    }

    /// Fences it: from now on nothing of the partition is delivered, and nothing handed over or published as a dead letter,
    /// whatever still runs.
    pub(crate) fn lose(&self) {
        self.raise(STOPPING | LOST);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.has(LOST)
    }

    /// Delivers nothing new until it is called again with `false`.
    pub(crate) fn pause(&self, paused: bool) {
        if paused {
            self.raise(PAUSED);
        } else {
            self.flags.fetch_and(!PAUSED, Ordering::AcqRel);
            self.changed.notify_waiters();
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.has(PAUSED)
    }

    fn has(&self, flag: u8) -> bool {
        self.flags.load(Ordering::Acquire) & flag != 0
    }

    fn raise(&self, flags: u8) {
        self.flags.fetch_or(flags, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    /// Whether the partition is this consumer's now: it is not lost, and the lease of a member is not over.
    pub(crate) fn is_ours(&self) -> bool {
        !self.is_lost() && self.lease.as_ref().is_none_or(|lease| !lease.is_over())
    }

    /// Whether the next record may be delivered now.
    pub(crate) fn may_deliver(&self) -> bool {
        !self.has(STOPPING | PAUSED | LOST) && self.is_ours()
    }

    /// Waits until the next record may be delivered. False if the ownership ends before.
    pub(crate) async fn until_may_deliver(&self) -> bool {
        self.until_either(|| self.may_deliver(), || self.is_stopping()).await
    }

    /// Waits until the partition is this consumer's. False if the ownership ends before.
    pub(crate) async fn until_ours(&self) -> bool {
        self.until_either(|| self.is_ours(), || self.is_stopping()).await
    }

    /// Waits until `good` or else `over` holds; true for `good`.
    async fn until_either(&self, good: impl Fn() -> bool, over: impl Fn() -> bool) -> bool {
        loop {
            let changed = self.changed.notified();
            if good() {
                return true;
            }
            if over() {
                return false;
            }
            match self.is_ours() {
                true => changed.await,
                // Told, or time to look again.
                false => drop(timeout(LEASE_LOOK, changed).await),
            }
        }
    }

    /// Waits until [`Ownership::stop`] is called.
    pub(crate) async fn stopped(&self) {
        self.until(STOPPING).await;
    }

    async fn until(&self, flag: u8) {
        loop {
            let changed = self.changed.notified();
            if self.has(flag) {
                return;
            }
            changed.await;
        }
    }
}
