use std::sync::Arc;

use ractor::ActorRef;

use super::message::Job;
use crate::offsets::OffsetsMessage;
use crate::partition::Ownership;

/// Records of one ownership, one offset after the other, whose dead letters were acknowledged together: settled by one
/// message.
pub(super) struct Run {
    ownership: Arc<Ownership>,
    from: i64,
    to: i64,
}

impl Run {
    /// Takes a job's record into the last run, or into a new one.
    pub(super) fn extend(runs: &mut Vec<Self>, job: &Job) {
        let offset = job.context.source.offset;
        match runs.last_mut() {
            Some(run) if Arc::ptr_eq(&run.ownership, &job.ownership) && run.to == offset => run.to += 1,
            _ => runs.push(Self { ownership: Arc::clone(&job.ownership), from: offset, to: offset + 1 }),
        }
    }

    pub(super) fn settle(self, offsets: &ActorRef<OffsetsMessage>) {
        let Self { ownership, from, to } = self;
        let (partition, epoch) = (ownership.partition.clone(), ownership.epoch);
        // The offsets actor is gone only when the consumer is; then nothing more is committed.
        let _ = offsets.cast(OffsetsMessage::Settled { partition, epoch, from, to });
        ownership.dead_letters_settled(usize::try_from(to - from).unwrap_or(usize::MAX));
    }
}
