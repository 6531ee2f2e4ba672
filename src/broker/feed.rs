use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::error::BrokerError;
use crate::record::{RecordBatch, TopicPartition};

/// What was fetched of a partition and is not yet settled: a queue bounded in bytes between the source, which fills
/// it under credit, and the partition actor, which drains it. It outlives the partition actor, so that a restart
/// fetches nothing again.
pub struct Feed {
    partition: TopicPartition,
    limit: usize,
    state: Mutex<State>,
    room: Notify,
    report: Box<dyn Fn(SourceProblem) + Send + Sync>,
    /// Negative while not known.
    log_end: AtomicI64,
    /// From which offset on nothing is wanted.
    end: i64,
}

#[derive(Default)]
struct State {
    batches: VecDeque<RecordBatch>,
    bytes: usize,
    closed: bool,
    listener: Option<Box<dyn Fn() + Send + Sync>>,
    waker: Option<Arc<Notify>>,
}

/// What a source cannot decide by itself about a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceProblem {
    /// Reading fails for now; the source goes on trying. Reported once per streak of failures.
    Retrying(BrokerError),
    /// Reading works again after [`SourceProblem::Retrying`].
    Recovered,
    /// The offset asked for is not in the log any more, or not yet. The source has stopped reading.
    OffsetOutOfRange {
        /// The offset asked for.
        asked: i64,
        /// The first offset in the log, where known.
        log_start: Option<i64>,
        /// The offset after the last, where known.
        log_end: Option<i64>,
    },
    /// The log was cut back by an unclean change of its leader (KIP-320): what was read from `diverged_at` on is no longer in
    /// it, and other records may stand there. The source has stopped reading.
    LogTruncated {
        /// The offset asked for.
        asked: i64,
        /// The first offset whose record is no longer the one that was read.
        diverged_at: i64,
    },
    /// The topic was deleted and created anew: the offsets mean other records. The source has stopped reading.
    TopicRecreated,
    /// Reading can never succeed here without somebody's doing. The source has stopped reading.
    Failed(BrokerError),
}

impl Feed {
    /// An empty feed that holds up to `limit` bytes (a larger batch still fits into an empty one). `report` takes the
    /// problems that the source meets.
    pub fn new(
        partition: TopicPartition,
        limit: usize,
        report: impl Fn(SourceProblem) + Send + Sync + 'static,
    ) -> Self {
        Self {
            partition,
            limit,
            state: Mutex::default(),
            room: Notify::new(),
            report: Box::new(report),
            log_end: AtomicI64::new(-1),
            end: i64::MAX,
        }
    }

    /// Sets the offset from which on nothing is wanted: a source need not ask for more than what lies below it. It may push more.
    pub(crate) fn until(mut self, end: i64) -> Self {
        self.end = end;
        self
    }

    /// For the source: whether records from `offset` on are wanted.
    pub(crate) fn wants(&self, offset: i64) -> bool {
        offset < self.end
    }

    /// The partition that the feed belongs to.
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// For the source: how many bytes may be pushed now; `Some(0)` while more than half of the limit is in use;
    /// `None` once closed.
    pub fn credit(&self) -> Option<usize> {
        self.credit_beyond(0)
    }

    /// For the source: the [credit](Self::credit) once `pending` bytes, which have been received, are pushed.
    pub(crate) fn credit_beyond(&self, pending: usize) -> Option<usize> {
        let state = self.lock();
        let used = state.bytes.saturating_add(pending);
        // Half at once rather than each byte that comes free, so that fetches stay large.
        (!state.closed).then(|| if self.is_full(used) { 0 } else { self.limit - used })
    }

    fn is_full(&self, used: usize) -> bool {
        used > self.limit / 2
    }

    /// For the source: from now on `waker` gets a permit when credit comes back and when the feed is closed, in place of
    /// the waker before it. One waker may serve many feeds.
    pub(crate) fn wake_on_credit(&self, waker: Arc<Notify>) {
        self.lock().waker = Some(waker);
    }

    /// For the source: waits until there is credit and returns it; `None` once the feed is closed.
    pub async fn wait_for_credit(&self) -> Option<usize> {
        loop {
            let room = self.room.notified();
            match self.credit() {
                Some(0) => room.await,
                other => return other,
            }
        }
    }

    /// For the source: waits until the feed is closed.
    pub async fn closed(&self) {
        loop {
            let room = self.room.notified();
            if self.credit().is_none() {
                return;
            }
            room.await;
        }
    }

    /// For the source: appends a batch. Returns false, keeping nothing, once the feed is closed.
    pub fn push(&self, batch: RecordBatch) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        state.bytes += batch.cost();
        state.batches.push_back(batch);
        if let Some(listener) = &state.listener {
            listener();
        }
        true
    }

    /// For the source: reports a problem to whoever owns the partition.
    pub fn report(&self, problem: SourceProblem) {
        if self.credit().is_some() {
            (self.report)(problem);
        }
    }

    /// For the source: the log could be read up to this offset when the broker last said so: its last stable offset where
    /// committed records are read, its high watermark otherwise. A negative one is left out.
    pub fn set_log_end(&self, offset: i64) {
        if offset >= 0 {
            self.log_end.store(offset, Ordering::Relaxed);
        }
    }

    /// Up to which offset the log could be read when the broker last said so; `None` before it has.
    pub fn log_end(&self) -> Option<i64> {
        Some(self.log_end.load(Ordering::Relaxed)).filter(|offset| *offset >= 0)
    }

    /// For the partition actor: the oldest batch, which stays in the feed.
    pub fn front(&self) -> Option<RecordBatch> {
        self.lock().batches.front().cloned()
    }

    /// For the partition actor: gives the oldest batch up, and its bytes back as credit.
    pub fn pop_front(&self) {
        let mut state = self.lock();
        let before = state.bytes;
        if let Some(batch) = state.batches.pop_front() {
            state.bytes -= batch.cost();
        }
        let waker = state.waker.clone().filter(|_| self.is_full(before) && !self.is_full(state.bytes));
        drop(state);
        self.room.notify_waiters();
        if let Some(waker) = waker {
            waker.notify_one();
        }
    }

    /// For the partition actor: `listener` is called, under the feed's lock, after each push, and once now if there
    /// is something to read. It replaces the one before.
    pub fn on_ready(&self, listener: impl Fn() + Send + Sync + 'static) {
        let mut state = self.lock();
        if !state.batches.is_empty() {
            listener();
        }
        state.listener = Some(Box::new(listener));
    }

    /// Ends the feed: what it holds is dropped, nothing more is taken, sources that wait for credit are woken.
    pub fn close(&self) {
        let before = std::mem::replace(&mut *self.lock(), State { closed: true, ..State::default() });
        self.room.notify_waiters();
        if let Some(waker) = before.waker {
            waker.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of users runs under the lock; a poisoned one still holds a consistent queue.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        write!(f, "Feed({}, {} batches, {} of {} bytes)", self.partition, state.batches.len(), state.bytes, self.limit)
    }
}
