//! One partition's way into its log, as a state machine without I/O: calls are gathered into batches, batches are numbered,
//! handed out to be sent, and settled by what the broker answers.
//!
//! The broker remembers the last five batches of a producer: it appends the one whose number follows, knows one of the five
//! again, and refuses all others. So at most five batches are unsettled, nothing new is sent behind one that must be sent
//! again, and a batch that is sent again keeps its number. A producer that it does not know may begin with any number there: so the
//! first batch of a numbering goes alone, else one behind it could take its place when it is refused. Where a numbered batch is given up, the numbers behind it
//! can no longer be used: the line then waits until the fate of every batch is certain and numbers what is certainly not in
//! the log anew, under the next epoch, which also shuts out requests that are still on their way.

mod batch;
mod settle;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use self::batch::{Batch, Status};
pub(super) use self::batch::{Body, Call, Parcel, Stamp};
use super::fate::Fate;
use crate::broker::BrokerError;

/// How a line behaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How large a batch of several calls may become, in bytes.
    pub(super) batch_bytes: usize,
    /// How long calls wait for others to share a batch with.
    pub(super) linger: Duration,
    /// Whether batches are numbered. Without numbers one batch at a time is under way.
    pub(super) numbered: bool,
}

/// How many batches the broker knows again, and so how many may be unsettled.
const WINDOW: usize = 5;

/// How long after an acknowledgement a partition is sure to know the producer still; brokers forget one that is idle for a day.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// The calls for one partition. `R` is a record, `T` what a call is answered through.
pub(super) struct Line<R, T> {
    limits: Limits,
    /// Calls that are not in a batch yet.
    queue: VecDeque<Call<R, T>>,
    queued_bytes: usize,
    /// Batches, oldest first, from the first unsettled one on.
    flight: VecDeque<Batch<R, T>>,
    numbering: Option<Numbering>,
    /// The producer id that must not be used any more.
    spent_id: Option<i64>,
    gap: Gap,
    /// How often in a row sending failed.
    failures: u32,
    /// Before this nothing is sent.
    resume: Option<Instant>,
    /// Why sending failed last.
    cause: Option<BrokerError>,
    next_batch: u64,
}

/// Where the numbers of batches stand.
#[derive(Debug, Clone, Copy)]
struct Numbering {
    producer_id: i64,
    epoch: i16,
    next: i32,
    /// When a batch was last acknowledged under it.
    acknowledged: Option<Instant>,
}

/// Whether a numbered batch was given up, so that no number after it can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    /// That batch will never be in the log, nor will what was sent behind it under the same epoch.
    Explained,
    /// That batch may be in the log, or still arrive there from a connection that was lost, and let in what was sent behind it.
    Unexplained,
}

/// A call that has come to its end, and the offset of its first record (-1: unknown).
pub(super) struct Done<T> {
    pub(super) reply: T,
    pub(super) result: Result<i64, BrokerError>,
}

impl<R, T> Line<R, T> {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            queue: VecDeque::new(),
            queued_bytes: 0,
            flight: VecDeque::new(),
            numbering: None,
            spent_id: None,
            gap: Gap::None,
            failures: 0,
            resume: None,
            cause: None,
            next_batch: 0,
        }
    }

    /// Puts a call behind those before it. Deadlines must not descend.
    pub(super) fn enqueue(&mut self, call: Call<R, T>) {
        self.queued_bytes += call.bytes;
        self.queue.push_back(call);
    }

    /// Whether there is nothing left to do.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.flight.is_empty()
    }

    /// Whether it needs a producer id to go on, and which it must not be.
    pub(super) fn wants_id(&self) -> Option<Option<i64>> {
        (self.limits.numbered && self.numbering.is_none() && !self.is_idle()).then_some(self.spent_id)
    }

    /// Gives it a producer id, whose epoch begins at 0.
    pub(super) fn identify(&mut self, producer_id: i64) {
        self.numbering = Some(Numbering { producer_id, epoch: 0, next: 0, acknowledged: None });
        self.renumber();
    }

    /// Why sending failed last.
    pub(super) fn cause(&self) -> Option<&BrokerError> {
        self.cause.as_ref()
    }

    /// Sends nothing for a while, because of `cause`.
    pub(super) fn hold_back(&mut self, cause: BrokerError, now: Instant, random: f64) {
        self.failures = self.failures.saturating_add(1);
        self.resume = Some(now + pause(self.failures, random));
        self.cause = Some(cause);
    }

    /// When it is held back until.
    pub(super) fn resume(&self) -> Option<Instant> {
        self.resume
    }

    /// When [`take`](Self::take) will have something to send, as far as time decides that; `None` where an answer, a call or a
    /// producer id must come first.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let due = if self.to_send_again(now).is_some() {
            now
        } else if self.takes_more(now) {
            self.ripe(now)?
        } else {
            return None;
        };
        Some(self.resume.map_or(due, |resume| due.max(resume)))
    }

    /// When the oldest of what waits runs out of time.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let batches = self.flight.iter().filter_map(|batch| batch.deadline());
        batches.chain(self.queue.front().map(|call| call.deadline)).min()
    }

    /// The next batch to send, if it is time for one.
    pub(super) fn take(&mut self, now: Instant) -> Option<Parcel<R>> {
        if self.due(now).is_none_or(|due| due > now) {
            return None;
        }
        let index = match self.to_send_again(now) {
            Some(index) => index,
            None => {
                self.seal();
                self.flight.len() - 1
            }
        };
        let numbering = self.numbering;
        let batch = &mut self.flight[index];
        batch.status = Status::Sent;
        let stamp = numbering.map(|numbering| Stamp {
            producer_id: numbering.producer_id,
            epoch: numbering.epoch,
            sequence: batch.sequence,
        });
        Some(Parcel { batch: batch.id, body: std::mem::take(&mut batch.body), stamp, bytes: batch.bytes })
    }

    /// The first batch that is to be sent again. Those behind it wait for it, whatever their state.
    fn to_send_again(&self, now: Instant) -> Option<usize> {
        let window = self.window(now);
        // What has no number now is not known to the broker, and takes no place among its five.
        let numbered = self.flight.iter().enumerate().filter(|(_, batch)| batch.status != Status::Unnumbered);
        numbered.take(window).find(|(_, batch)| batch.status == Status::Waiting).map(|(index, _)| index)
    }

    /// How many batches may be unsettled.
    fn window(&self, now: Instant) -> usize {
        match self.numbering {
            _ if !self.limits.numbered => 1,
            None => 0,
            Some(Numbering { acknowledged: Some(at), .. }) if now < at + KNOWN_FOR => WINDOW,
            Some(_) => 1,
        }
    }

    /// Whether a new batch may be made of the queue.
    fn takes_more(&self, now: Instant) -> bool {
        let under_way = |batch: &Batch<R, T>| matches!(batch.status, Status::Sent | Status::Done);
        let clear = !self.limits.numbered || (self.gap == Gap::None && self.flight.iter().all(under_way));
        clear && self.flight.len() < self.window(now) && !self.queue.is_empty()
    }

    /// When the queue may become a batch; `None` where something under way must be answered first.
    fn ripe(&self, now: Instant) -> Option<Instant> {
        if self.queued_bytes >= self.limits.batch_bytes {
            return Some(now);
        }
        if self.limits.linger.is_zero() {
            // What comes while a batch is under way shares the next one.
            return self.flight.is_empty().then_some(now);
        }
        self.queue.front().map(|call| now.max(call.enqueued + self.limits.linger))
    }

    /// Makes a batch of as many calls as fit.
    fn seal(&mut self) {
        let mut batch = Batch::new(self.next_batch);
        self.next_batch += 1;
        while let Some(call) = self.queue.front() {
            if !batch.calls.is_empty() && batch.bytes + call.bytes > self.limits.batch_bytes {
                break;
            }
            if let Some(call) = self.queue.pop_front() {
                self.queued_bytes -= call.bytes;
                batch.add(call);
            }
        }
        if let Some(numbering) = &mut self.numbering {
            numbering.number(&mut batch);
        }
        self.flight.push_back(batch);
    }

    /// Numbers all batches anew, none of which may be in the log.
    fn renumber(&mut self) {
        let Some(numbering) = &mut self.numbering else { return };
        for batch in &mut self.flight {
            numbering.number(batch);
            batch.status = Status::Waiting;
            batch.doubt = false;
        }
    }

    /// Takes the answer to a parcel, whose body comes back with it.
    pub(super) fn answer(&mut self, batch: u64, body: Body<R>, fate: Fate, now: Instant, random: f64) -> Vec<Done<T>> {
        let mut done = Vec::new();
        let Some(index) = self.flight.iter().position(|known| known.id == batch) else { return done };
        self.flight[index].body = body;
        self.apply(index, fate, (now, random), &mut done);
        self.settle();
        done
    }
}

impl Numbering {
    fn number<R, T>(&mut self, batch: &mut Batch<R, T>) {
        batch.sequence = self.next;
        // After the largest number comes 0.
        self.next = self.next.wrapping_add(batch.records as i32) & i32::MAX;
    }
}

/// The pause after so many failures in a row: 20 ms, twice as much each time up to 1 s, give or take a quarter so that many
/// producers don't come back at the same moment. `random` is at least 0 and below 1.
fn pause(failures: u32, random: f64) -> Duration {
    let millis = (20 << failures.saturating_sub(1).min(6)).min(1_000);
    Duration::from_millis(millis).mul_f64(0.75 + random / 2.0)
}
