use tokio::time::Instant;

use super::context::PartitionContext;
use super::error::PartitionError;
use super::judge::{settle, tell};
use super::ownership::Ownership;
use crate::offsets::OffsetsMessage;

/// How far an incarnation has handled its partition, and how far it has said so to the offsets actor.
///
/// A report costs as much as many fast records, so handled records are reported together: when there are no more for now,
/// when one fails, and otherwise ten times in each commit interval, or by count where commits are.
#[derive(Debug)]
pub(super) struct Progress {
    /// Handled but not reported yet: `[from, to)`. `to` is the end of what was looked at.
    from: i64,
    to: i64,
    /// When a report was last due; `None` before the first.
    last: Option<Instant>,
    /// The leader epoch of the records at the position, as told last.
    leader_epoch: Option<i32>,
}

impl Progress {
    /// Goes on where the ownership stands: whatever its last incarnation handled and did not report is settled.
    pub(super) fn of(ownership: &Ownership) -> Self {
        let (from, to) = ownership.unreported();
        Self { from, to, last: None, leader_epoch: None }
    }

    /// The records from the position on are of this leader epoch: told where it changes, which is rare.
    pub(super) fn leader_epoch(
        &mut self,
        leader_epoch: Option<i32>,
        context: &PartitionContext,
        ownership: &Ownership,
    ) -> Result<(), PartitionError> {
        if std::mem::replace(&mut self.leader_epoch, leader_epoch) == leader_epoch {
            return Ok(());
        }
        let (partition, epoch, from) = (ownership.partition.clone(), ownership.epoch, ownership.position());
        tell(context, OffsetsMessage::LeaderEpoch { partition, epoch, from, leader_epoch })
    }

    /// Everything below `offset` is out of the way, and what of it was not reported yet is settled.
    pub(super) fn handled(&mut self, offset: i64) {
        self.to = offset;
    }

    /// Moves past records that this incarnation did not settle: their dead letter's acknowledgement does.
    pub(super) fn passed(&mut self, offset: i64, ownership: &Ownership) {
        (self.from, self.to) = (offset, offset);
        ownership.pass(offset);
    }

    /// Reports what was handled.
    pub(super) fn report(&mut self, context: &PartitionContext, ownership: &Ownership) -> Result<(), PartitionError> {
        if self.from < self.to {
            settle(context, ownership, self.from, self.to)?;
            self.from = self.to;
            ownership.reported(self.to);
        }
        Ok(())
    }

    /// Reports what was handled unless that was done a moment ago. Returns when to ask again, where anything is left.
    pub(super) fn report_if_due(
        &mut self,
        now: Instant,
        context: &PartitionContext,
        ownership: &Ownership,
    ) -> Option<Instant> {
        if self.from == self.to {
            return None;
        }
        let many = self.to.abs_diff(self.from) >= context.report_records;
        match self.last.map(|last| last + context.report_interval) {
            Some(due) if now < due && !many => Some(due),
            _ => {
                self.last = Some(now);
                // Ignored: without an offsets actor the next report fails too, and that one is not ignored.
                let _ = self.report(context, ownership);
                None
            }
        }
    }
}
