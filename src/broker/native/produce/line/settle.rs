use tokio::time::Instant;

use super::super::fate::Fate;
use super::batch::{Batch, Status};
use super::{Done, Gap, Line, pause};
use crate::broker::BrokerError;

impl<R, T> Line<R, T> {
    /// What the fate of the batch at `index` means for it and for those behind it.
    pub(super) fn apply(&mut self, index: usize, fate: Fate, at: (Instant, f64), done: &mut Vec<Done<T>>) {
        match fate {
            Fate::Appended(base) => self.appended(index, base, at.0, done),
            Fate::NotYet(error) => self.again(index, error, false, at),
            Fate::Unclear(error) => self.again(index, error, true, at),
            Fate::Misnumbered { error, id_is_spent } if self.limits.numbered => {
                self.misnumbered(index, error, id_is_spent, at, done);
            }
            Fate::BadRecords(_) if self.flight[index].calls.len() > 1 => self.take_apart(index),
            Fate::BadRecords(error) => {
                // What was sent before without an answer was refused for the same.
                self.flight[index].doubt = false;
                self.give_up_batch(index, &error, done);
            }
            Fate::Refused(error) | Fate::Misnumbered { error, .. } => self.give_up_batch(index, &error, done),
        }
    }

    fn appended(&mut self, index: usize, base: i64, now: Instant, done: &mut Vec<Done<T>>) {
        if let Some(numbering) = &mut self.numbering {
            numbering.acknowledged = Some(now);
        }
        let batch = &mut self.flight[index];
        batch.status = Status::Done;
        batch.body = Default::default();
        let mut offset = base;
        for call in batch.calls.drain(..) {
            done.push(Done { reply: call.reply, result: Ok(offset) });
            if base >= 0 {
                offset += call.records as i64;
            }
        }
        (self.failures, self.resume, self.cause) = (0, None, None);
    }

    fn again(&mut self, index: usize, error: BrokerError, doubt: bool, (now, random): (Instant, f64)) {
        let batch = &mut self.flight[index];
        batch.status = Status::Waiting;
        batch.doubt |= doubt;
        if batch.calls.is_empty() {
            // Nobody waits for it any more.
            self.remove(index);
        }
        // The batches of one connection fail together, which is one failure.
        if self.resume.is_none_or(|resume| resume <= now) {
            self.hold_back(error, now, random);
        } else {
            self.cause = Some(error);
        }
    }

    /// The broker expects another number than that of the batch at `index`, or knows its producer no more.
    fn misnumbered(
        &mut self,
        index: usize,
        error: BrokerError,
        id_is_spent: bool,
        (now, random): (Instant, f64),
        done: &mut Vec<Done<T>>,
    ) {
        let is_settled = |batch: &Batch<R, T>| matches!(batch.status, Status::Done | Status::Unnumbered);
        if !self.flight.iter().take(index).all(is_settled) {
            // One before it is missing, and will be sent again first.
            self.flight[index].status = Status::Waiting;
            if self.flight[index].calls.is_empty() {
                self.remove(index);
            }
            return;
        }
        if id_is_spent {
            self.spent_id = self.numbering.map(|numbering| numbering.producer_id);
        }
        if self.gap == Gap::None {
            // Nothing of ours explains it: the partition may have forgotten its producers.
            if let Some(numbering) = &mut self.numbering {
                numbering.acknowledged = None;
            }
            self.failures = self.failures.saturating_add(1);
            self.resume = Some(now + pause(self.failures, random));
            self.cause = Some(error.clone());
        }
        let batch = &mut self.flight[index];
        if batch.calls.is_empty() {
            self.remove(index);
        } else if batch.doubt && self.gap != Gap::Explained {
            // It was sent before, without an answer, and may still arrive there together with what the broker misses now.
            self.give_up_batch(index, &fate_unknown(error), done);
        } else {
            batch.status = Status::Unnumbered;
            batch.doubt = false;
            if self.gap == Gap::None {
                self.gap = Gap::Explained;
            }
        }
    }

    /// Makes a batch of each call of a refused one, so that only those at fault are refused.
    fn take_apart(&mut self, index: usize) {
        let Some(refused) = self.flight.remove(index) else { return };
        for (place, call) in refused.split().enumerate() {
            let mut batch = Batch::new(self.next_batch);
            self.next_batch += 1;
            batch.status = if self.limits.numbered { Status::Unnumbered } else { Status::Waiting };
            batch.add(call);
            self.flight.insert(index + place, batch);
        }
        self.gap = self.gap.max(Gap::Explained);
    }

    /// Ends all calls of a batch with an error.
    fn give_up_batch(&mut self, index: usize, error: &BrokerError, done: &mut Vec<Done<T>>) {
        for call in self.flight[index].calls.drain(..) {
            done.push(Done { reply: call.reply, result: Err(error.clone()) });
        }
        self.remove(index);
    }

    fn remove(&mut self, index: usize) {
        if let Some(removed) = self.flight.remove(index) {
            self.gap = self.gap.max(if removed.doubt { Gap::Unexplained } else { Gap::Explained });
        }
    }

    /// Ends with `error` all that is not under way.
    pub(in super::super) fn give_up(&mut self, error: &BrokerError) -> Vec<Done<T>> {
        let mut done = Vec::new();
        while let Some(index) =
            self.flight.iter().position(|batch| matches!(batch.status, Status::Waiting | Status::Unnumbered))
        {
            self.give_up_batch(index, error, &mut done);
        }
        for call in self.queue.drain(..) {
            done.push(Done { reply: call.reply, result: Err(error.clone()) });
        }
        self.queued_bytes = 0;
        self.settle();
        done
    }

    /// Ends what has run out of time. A batch that is under way stays until its answer is there, without its calls.
    pub(in super::super) fn expire(
        &mut self,
        now: Instant,
        error: impl Fn(Option<&BrokerError>) -> BrokerError,
    ) -> Vec<Done<T>> {
        let mut done = Vec::new();
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return done;
        }
        let error = error(self.cause());
        let mut index = 0;
        while let Some(batch) = self.flight.get_mut(index) {
            if batch.deadline().is_none_or(|deadline| deadline > now) {
                index += 1;
            } else if batch.status == Status::Sent {
                for call in batch.calls.drain(..) {
                    done.push(Done { reply: call.reply, result: Err(error.clone()) });
                }
            } else {
                self.give_up_batch(index, &error, &mut done);
            }
        }
        while self.queue.front().is_some_and(|call| call.deadline <= now) {
            if let Some(call) = self.queue.pop_front() {
                self.queued_bytes -= call.bytes;
                done.push(Done { reply: call.reply, result: Err(error.clone()) });
            }
        }
        self.settle();
        done
    }

    /// Forgets what is settled, and begins a new numbering once the fate of all batches behind a gap is certain.
    pub(super) fn settle(&mut self) {
        while self.flight.front().is_some_and(|batch| batch.status == Status::Done) {
            self.flight.pop_front();
        }
        if !self.limits.numbered || self.gap == Gap::None {
            return;
        }
        for batch in &mut self.flight {
            // All its attempts were answered with a no. One in doubt is sent again under its number, to find out.
            if batch.status == Status::Waiting && !batch.doubt {
                batch.status = Status::Unnumbered;
            }
        }
        self.flight.retain(|batch| batch.status != Status::Done);
        if !self.flight.iter().all(|batch| batch.status == Status::Unnumbered) {
            return;
        }
        self.gap = Gap::None;
        match &mut self.numbering {
            Some(numbering) if numbering.epoch < i16::MAX && self.spent_id != Some(numbering.producer_id) => {
                numbering.epoch += 1;
                numbering.next = 0;
                self.renumber();
            }
            Some(numbering) => {
                self.spent_id = Some(numbering.producer_id);
                self.numbering = None;
            }
            None => {}
        }
    }
}

/// The error of a call whose records may or may not be in the log.
fn fate_unknown(error: BrokerError) -> BrokerError {
    const TEXT: &str = "the records were sent before without an answer, and the broker no longer tells whether it appended \
                        them: look in the log before sending them again";
    match error {
        BrokerError::Response { doing, code, message } => {
            let message = message.filter(|message| !message.is_empty());
            let message = message.map_or_else(|| TEXT.to_owned(), |message| format!("{message}; {TEXT}"));
            BrokerError::Response { doing, code, message: Some(message) }
        }
        other => other,
    }
}
