use std::sync::Arc;

use ractor::ActorRef;

use super::context::PartitionContext;
use super::error::PartitionError;
use super::ownership::Ownership;
use crate::dead_letter::{DeadLetterMessage, Fingerprints, Job, Jobs, Target};

/// The dead letters of one incarnation, on their way to the dead-letter actor.
///
/// They are handed over together, since each message may wake another thread, which costs as much as making several of
/// them: when the partition gives its lane away or waits, and when there are [`MOST`]. What is left is handed over when
/// this is dropped, however the incarnation ends: the position has passed those records.
pub(crate) struct Letters {
    ownership: Arc<Ownership>,
    actor: ActorRef<DeadLetterMessage>,
    /// Where those that gather go.
    topic: String,
    jobs: Jobs,
    fingerprints: Fingerprints,
}

/// The most dead letters that gather. More would cost less CPU time, and keep the next batch waiting: with 64 a storm took an
/// eighth longer.
const MOST: usize = 16;

impl Letters {
    pub(crate) fn new(context: &PartitionContext, ownership: &Arc<Ownership>) -> Self {
        let (ownership, actor) = (Arc::clone(ownership), context.dead_letters.clone());
        let (topic, jobs, fingerprints) = Default::default();
        Self { ownership, actor, topic, jobs, fingerprints }
    }

    pub(super) fn ownership(&self) -> &Arc<Ownership> {
        &self.ownership
    }

    pub(super) fn fingerprints(&mut self) -> &mut Fingerprints {
        &mut self.fingerprints
    }

    /// How many dead letters wait for their acknowledgement, those that gather included.
    pub(super) fn unacknowledged(&self) -> usize {
        self.ownership.unacknowledged() + self.jobs.len()
    }

    /// Adds the next dead letter, which goes to `topic`.
    pub(super) fn push(&mut self, topic: String, job: Box<Job>) -> Result<(), PartitionError> {
        if self.jobs.len() >= MOST || self.topic != topic {
            self.hand_over()?;
            self.topic = topic;
        }
        self.jobs.push(job);
        Ok(())
    }

    /// Hands over what has gathered.
    pub(crate) fn hand_over(&mut self) -> Result<(), PartitionError> {
        if self.jobs.is_empty() {
            return Ok(());
        }
        let jobs = std::mem::take(&mut self.jobs);
        if self.ownership.is_lost() {
            // Whoever has the partition now handles their records.
            return Ok(());
        }
        let count = jobs.len();
        let target = Target { topic: self.topic.clone(), source_partition: self.ownership.partition.partition() };
        self.ownership.dead_letters_sent(count);
        self.actor.cast(DeadLetterMessage::Publish { target, jobs }).map_err(|_| {
            self.ownership.dead_letters_settled(count);
            PartitionError::Infrastructure { reason: "the dead-letter actor is gone".to_owned() }
        })
    }
}

impl Drop for Letters {
    fn drop(&mut self) {
        // The dead-letter actor is gone only when the consumer is.
        let _ = self.hand_over();
    }
}
