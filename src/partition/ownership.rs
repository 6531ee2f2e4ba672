use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::{Notify, watch};

use crate::broker::Feed;
use crate::record::TopicPartition;

/// What one ownership of a partition keeps from incarnation to incarnation: the feed, the place in it, the retries of
/// the record at that place, and how many dead letters wait for their acknowledgement.
pub(crate) struct Ownership {
    pub(crate) partition: TopicPartition,
    /// Tells this ownership from others of the same partition; messages of another epoch are ignored.
    pub(crate) epoch: u64,
    pub(crate) feed: Arc<Feed>,
    /// The next offset to deliver. Written by the one live incarnation, or by its restart.
    position: AtomicI64,
    /// Everything below is reported as settled, or handed over to be dead-lettered.
    reported: AtomicI64,
    /// The offset in `retry`: records that never failed, which is most, need no lock.
    retrying: AtomicI64,
    retry: Mutex<Option<Retry>>,
    unacknowledged: watch::Sender<usize>,
    stopping: AtomicBool,
    finishing: AtomicBool,
    stop: Notify,
}

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
            position: AtomicI64::new(start),
            reported: AtomicI64::new(start),
            retrying: AtomicI64::new(i64::MIN),
            retry: Mutex::default(),
            unacknowledged: watch::Sender::new(0),
            stopping: AtomicBool::new(false),
            finishing: AtomicBool::new(false),
            stop: Notify::new(),
        }
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

    /// Waits until at most `limit` dead letters wait for their acknowledgement. False if the ownership ends before.
    pub(crate) async fn acknowledged_down_to(&self, limit: usize) -> bool {
        let mut count = self.unacknowledged.subscribe();
        tokio::select! {
            biased;
            () = self.stopped() => false,
            result = count.wait_for(|count| *count <= limit) => result.is_ok(),
        }
    }

    /// Waits until no dead letter waits for its acknowledgement, even if the ownership is ending.
    pub(crate) async fn all_acknowledged(&self) {
        // The sender is in `self`: this cannot fail.
        let _ = self.unacknowledged.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Asks the partition actor to stop once the feed is empty: nothing more will come.
    pub(crate) fn finish(&self) {
        self.finishing.store(true, Ordering::Release);
    }

    pub(crate) fn is_finishing(&self) -> bool {
        self.finishing.load(Ordering::Acquire)
    }

    /// Asks the partition actor to take no further record.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.stop.notify_waiters();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Waits until [`Ownership::stop`] is called.
    pub(crate) async fn stopped(&self) {
        let notified = self.stop.notified();
        if !self.is_stopping() {
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ownership() -> Ownership {
        let partition = TopicPartition::new("orders", 0);
        let feed = Arc::new(Feed::new(partition.clone(), 1024, |_| {}));
        Ownership::new(partition, 1, 10, feed)
    }

    #[test]
    fn attempts_are_counted_per_offset() {
        let ownership = ownership();
        let start = SystemTime::UNIX_EPOCH;
        ownership.failed(10, start);
        let second = ownership.failed(10, start + Duration::from_secs(1));
        assert_eq!((second.attempts, second.first_failed), (2, start));
        assert_eq!(ownership.failed(11, start).attempts, 1);
        assert_eq!(ownership.retry(10), None);
    }

    #[tokio::test]
    async fn waiting_for_acknowledgements_ends_with_them_or_with_the_ownership() {
        let ownership = ownership();
        ownership.dead_letters_sent(1);
        assert!(ownership.acknowledged_down_to(1).await);
        ownership.dead_letters_settled(1);
        assert!(ownership.acknowledged_down_to(0).await);
        ownership.dead_letters_sent(1);
        ownership.stop();
        assert!(!ownership.acknowledged_down_to(0).await);
    }
}
