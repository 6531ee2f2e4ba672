use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::backoff;
use super::position::Position;
use crate::broker::outlet::Outlet;
use crate::broker::{BrokerError, ErrorCode, SourceProblem};
use crate::record::{RecordBatch, TopicPartition};

/// The reading of one partition. One task has it at a time: the manager, or the loop of a broker.
pub(super) struct Reading {
    /// Tells it from other readings of the same partition.
    pub(super) serial: u64,
    pub(super) partition: TopicPartition,
    /// The id of the topic whose offsets are counted; `None` until a broker tells one.
    pub(super) topic_id: Option<Uuid>,
    pub(super) outlet: Arc<Outlet>,
    pub(super) position: Position,
    /// The epoch of the leader that is asked; -1 where it is not known.
    pub(super) leader_epoch: i32,
    /// The leader changed since the last fetch, so that the log may have been cut back.
    pub(super) unvalidated: bool,
    /// Failures in a row.
    pub(super) failures: u32,
    /// Answers in a row that were larger than any may be while it was asked for alone.
    pub(super) too_large: u32,
    /// To how many times their size records were decompressed last.
    expansion: usize,
    /// Whether the owner was told that reading fails.
    retrying: bool,
}

impl Reading {
    pub(super) fn new(
        serial: u64,
        partition: TopicPartition,
        topic_id: Option<Uuid>,
        offset: i64,
        outlet: Arc<Outlet>,
    ) -> Self {
        Self {
            serial,
            partition,
            topic_id,
            outlet,
            position: Position::new(offset),
            leader_epoch: -1,
            unvalidated: false,
            failures: 0,
            too_large: 0,
            expansion: 1,
            retrying: false,
        }
    }

    /// How many bytes may be pushed while `pending` ones are received and still to be pushed; `None` once nobody wants any.
    pub(super) fn credit(&self, pending: usize) -> Option<usize> {
        let pending = pending.saturating_mul(self.expansion);
        self.outlet.with_feed(|feed| feed.credit_beyond(pending)).flatten()
    }

    /// The [credit](Self::credit) to ask with: none where nothing is wanted from the position on, so that no request waits for it.
    pub(super) fn credit_to_ask(&self, pending: usize) -> Option<usize> {
        let wanted = self.is_wanted(self.position.offset);
        self.credit(pending).map(|credit| if wanted { credit } else { 0 })
    }

    /// Whether what lies at `offset` and behind it is wanted.
    pub(super) fn is_wanted(&self, offset: i64) -> bool {
        self.outlet.with_feed(|feed| feed.wants(offset)).unwrap_or(true)
    }

    /// How many bytes may be asked for with so much credit, which counts what is decompressed. Not so few that batches would
    /// come one by one: what there is no room for after all is not decompressed.
    pub(super) fn worth(&self, credit: usize) -> usize {
        const LEAST: usize = 64 << 10;
        (credit / self.expansion).max(credit.min(LEAST))
    }

    /// So many bytes were decompressed to so many.
    pub(super) fn note_expansion(&mut self, (from, to): (usize, usize)) {
        if from > 0 {
            self.expansion = to.div_ceil(from).max(1);
        }
    }

    /// Hands a batch over; false once nobody wants it.
    pub(super) fn push(&mut self, batch: RecordBatch) -> bool {
        let next_offset = batch.next_offset();
        let taken = self.outlet.with_feed(|feed| feed.push(batch)).unwrap_or(false);
        if taken {
            self.position.told(next_offset);
        }
        taken
    }

    /// Reading failed for now: the owner hears of the first failure in a row. Returns how long to pause.
    pub(super) fn failed(&mut self, error: BrokerError) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.tell_failure(error);
        backoff::pause(self.failures, rand::random())
    }

    /// Tells the owner that reading fails, once in a row.
    pub(super) fn tell_failure(&mut self, error: BrokerError) {
        tracing::debug!(partition = %self.partition, %error, failures = self.failures, "reading fails for now");
        if !std::mem::replace(&mut self.retrying, true) {
            self.outlet.report(SourceProblem::Retrying(error));
        }
    }

    /// Reading works.
    pub(super) fn succeeded(&mut self) {
        (self.failures, self.too_large) = (0, 0);
        if std::mem::take(&mut self.retrying) {
            self.outlet.report(SourceProblem::Recovered);
        }
    }

    /// Ends the reading with a problem for the owner to solve.
    pub(super) fn stop(&self, problem: SourceProblem) {
        self.outlet.report(problem);
        self.outlet.shut();
    }

    /// What is being done, for errors.
    pub(super) fn doing(&self) -> String {
        format!("reading {} at offset {}", self.partition, self.position.offset)
    }

    /// An error code as an error.
    pub(super) fn response(&self, code: ErrorCode) -> BrokerError {
        BrokerError::Response { doing: self.doing(), code, message: None }
    }
}
