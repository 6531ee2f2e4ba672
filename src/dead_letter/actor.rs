use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::time::Instant;

use super::message::{DeadLetterMessage, Job, Jobs, Outcome, Target};
use super::run::Run;
use super::send::Publisher;
use crate::broker::BrokerError;
use crate::classifier::{ClassifierMessage, PublishVerdict};
use crate::event::{Event, Events, GivenUp};
use crate::offsets::OffsetsMessage;
use crate::partition::LEASE_LOOK;
use crate::record::TopicPartition;

/// Publishes dead letters: in order per source partition and dead-letter topic, one batch in flight for each. An
/// acknowledgement settles the record; nothing is given up.
pub(crate) struct DeadLetterActor {
    pub(crate) publisher: Arc<Publisher>,
    pub(crate) events: Events,
}

pub(crate) struct DeadLetterState {
    classifier: ActorRef<ClassifierMessage>,
    offsets: ActorRef<OffsetsMessage>,
    queues: BTreeMap<Target, Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Box<Job>>,
    /// Whether a batch is in flight, or a wait before the next attempt goes on.
    busy: bool,
    /// How many attempts in a row have failed.
    failures: u32,
}

/// How long a failure to publish may go on before it is told. A producer tries again by itself for minutes.
const PATIENCE: Duration = Duration::from_millis(500);
/// The most dead letters in one batch.
const BATCH_RECORDS: usize = 500;
/// The most bytes of original records in one batch; a larger one goes alone. Half of the broker's default limit, since
/// the context comes on top.
const BATCH_BYTES: usize = 512 * 1024;
/// What the context of a dead letter takes at most, as a rule.
const CONTEXT_BYTES: usize = 1024;

#[cfg_attr(feature = "async-trait", ractor::async_trait)]
impl Actor for DeadLetterActor {
    type Msg = DeadLetterMessage;
    type State = DeadLetterState;
    type Arguments = (ActorRef<ClassifierMessage>, ActorRef<OffsetsMessage>);

    async fn pre_start(
        &self,
        _: ActorRef<DeadLetterMessage>,
        (classifier, offsets): Self::Arguments,
    ) -> Result<DeadLetterState, ActorProcessingErr> {
        Ok(DeadLetterState { classifier, offsets, queues: BTreeMap::new() })
    }

    async fn handle(
        &self,
        myself: ActorRef<DeadLetterMessage>,
        message: DeadLetterMessage,
        state: &mut DeadLetterState,
    ) -> Result<(), ActorProcessingErr> {
        let target = match message {
            DeadLetterMessage::Publish { target, jobs } => {
                state.queues.entry(target.clone()).or_default().waiting.extend(jobs);
                target
            }
            DeadLetterMessage::Delayed { target, partition, error, waiting } => {
                if let Some(queue) = state.queues.get_mut(&target) {
                    self.failed_once_more(&target, queue, partition, &error, waiting);
                }
                return Ok(());
            }
            DeadLetterMessage::Published { target, jobs, outcome } => {
                self.published(&myself, state, &target, jobs, outcome);
                target
            }
            DeadLetterMessage::Resume(target) => {
                if let Some(queue) = state.queues.get_mut(&target) {
                    queue.busy = false;
                }
                target
            }
        };
        self.send(&myself, state, target);
        Ok(())
    }
}

impl DeadLetterActor {
    /// Sends the next batch of a queue, unless one is in flight.
    fn send(&self, myself: &ActorRef<DeadLetterMessage>, state: &mut DeadLetterState, target: Target) {
        let Some(queue) = state.queues.get_mut(&target) else { return };
        if queue.busy {
            return;
        }
        queue.drop_lost();
        if queue.waiting.front().is_some_and(|job| !job.ownership.is_ours()) {
            // The lease of the member is over, and may be renewed. Then they go on; or they are lost.
            queue.busy = true;
            myself.send_after(LEASE_LOOK, move || DeadLetterMessage::Resume(target));
            return;
        }
        let mut jobs = queue.next_batch();
        if jobs.is_empty() {
            if queue.failures > 0 {
                // What was held was lost.
                self.hold(&target, None);
            }
            state.queues.remove(&target);
            return;
        }
        queue.busy = true;
        let (failures, meter) = (queue.failures, Arc::clone(self.events.meter()));
        let (publisher, classifier, myself) = (Arc::clone(&self.publisher), state.classifier.clone(), myself.clone());
        tokio::spawn(async move {
            let waiting = jobs.len();
            let delayed = |(partition, error)| {
                let target = target.clone();
                drop(myself.cast(DeadLetterMessage::Delayed { target, partition, error, waiting }));
            };
            let began = Instant::now();
            let publishing = publisher.publish(&classifier, &target, &mut jobs, failures);
            let outcome = watched(publishing, || publisher.trouble(&target), delayed).await;
            match &outcome {
                Outcome::Acknowledged { .. } => meter.published(&target.topic, began.elapsed()),
                Outcome::Refused { .. } => meter.publish_failed(&target.topic),
                Outcome::Withheld => {}
            }
            // The actor is gone only when the consumer is.
            let _ = myself.cast(DeadLetterMessage::Published { target, jobs, outcome });
        });
    }

    fn published(
        &self,
        myself: &ActorRef<DeadLetterMessage>,
        state: &mut DeadLetterState,
        target: &Target,
        jobs: Jobs,
        outcome: Outcome,
    ) {
        let Some(queue) = state.queues.get_mut(target) else { return };
        queue.busy = false;
        match outcome {
            Outcome::Acknowledged { partition, offsets } => {
                if std::mem::take(&mut queue.failures) > 0 {
                    self.hold(target, None);
                    self.events.emit(Event::Released { dead_letter: partition.clone() });
                }
                if let Some(first) = jobs.first() {
                    self.events.tap().published(first.context.source.partition.topic(), partition.topic());
                }
                let mut runs = Vec::new();
                for (job, offset) in jobs.into_iter().zip(offsets) {
                    Run::extend(&mut runs, &job);
                    self.acknowledged(job, &partition, offset);
                }
                runs.into_iter().for_each(|run| run.settle(&state.offsets));
            }
            // They go first again, once the lease is renewed; or are dropped.
            Outcome::Withheld => jobs.into_iter().rev().for_each(|job| queue.waiting.push_front(job)),
            Outcome::Refused { partition, error, verdict } => {
                let jobs = self.refused(target, queue, partition, jobs, &error, verdict);
                jobs.into_iter().rev().for_each(|job| queue.waiting.push_front(job));
                if let PublishVerdict::Retry(after) = verdict {
                    queue.busy = true;
                    let target = target.clone();
                    myself.send_after(after, move || DeadLetterMessage::Resume(target));
                }
            }
        }
    }

    /// Tells of an acknowledged dead letter. Its record is settled afterwards: what follows may depend on what is told.
    fn acknowledged(&self, job: Box<Job>, partition: &TopicPartition, offset: i64) {
        let Job { context, alert, page, rung, .. } = *job;
        let (record, category) = (context.source, context.category);
        let alert = (alert || page).then(|| (record.clone(), context.message.clone()));
        self.events.emit(Event::DeadLettered {
            record,
            category,
            error_type: context.error_type,
            message: context.message,
            attempts: context.attempts.unwrap_or(1),
            dead_letter: partition.clone(),
            dead_letter_offset: offset,
            left_out: rung.truncated().unwrap_or_default().to_owned(),
        });
        if let Some((record, message)) = alert {
            let dead_letter = Some((partition.clone(), offset));
            self.events.alert(GivenUp { record, category, page, message, dead_letter });
        }
    }

    /// Counts a failure, and tells the first of a row: from then on the records are held.
    fn failed_once_more(
        &self,
        target: &Target,
        queue: &mut Queue,
        partition: TopicPartition,
        error: &BrokerError,
        under_way: usize,
    ) {
        queue.failures = queue.failures.saturating_add(1);
        if queue.failures == 1 {
            let (reason, waiting) = (error.to_string(), under_way + queue.waiting.len());
            self.hold(target, Some(&reason));
            self.events.emit(Event::Held { dead_letter: partition, reason, waiting });
        }
    }

    /// Notes that a queue's dead letters cannot be published, for this reason; or can be again.
    fn hold(&self, target: &Target, reason: Option<&str>) {
        let held = self.events.present().hold(&target.topic, target.source_partition, reason);
        self.events.meter().held(&target.topic, held);
    }

    fn refused(
        &self,
        target: &Target,
        queue: &mut Queue,
        partition: TopicPartition,
        mut jobs: Jobs,
        error: &BrokerError,
        verdict: PublishVerdict,
    ) -> Jobs {
        match verdict {
            PublishVerdict::Retry(_) => {
                self.failed_once_more(target, queue, partition, error, jobs.len());
            }
            PublishVerdict::Split => jobs.iter_mut().for_each(|job| job.alone = true),
            PublishVerdict::Reduce(rung) => {
                for job in &mut jobs {
                    job.rung = rung;
                    self.events.emit(Event::DeadLetterReduced {
                        record: job.context.source.clone(),
                        left_out: rung.truncated().unwrap_or_default().to_owned(),
                        reason: error.to_string(),
                    });
                }
            }
        }
        jobs
    }
}

/// Awaits `publishing`; if it takes longer than [`PATIENCE`] because of some trouble, that is told once.
async fn watched<T, Trouble>(
    publishing: impl Future<Output = T>,
    trouble: impl Fn() -> Option<Trouble>,
    tell: impl FnOnce(Trouble),
) -> T {
    let mut publishing = pin!(publishing);
    loop {
        tokio::select! {
            biased;
            outcome = &mut publishing => return outcome,
            () = tokio::time::sleep(PATIENCE) => {}
        }
        if let Some(trouble) = trouble() {
            tell(trouble);
            return publishing.await;
        }
    }
}

impl Queue {
    /// Gives up those of partitions that are not this consumer's any more: whoever has them now handles their records.
    fn drop_lost(&mut self) {
        self.waiting.retain(|job| {
            let lost = job.ownership.is_lost();
            if lost {
                job.ownership.dead_letters_settled(1);
            }
            !lost
        });
    }

    fn next_batch(&mut self) -> Jobs {
        let mut jobs = Jobs::new();
        let mut bytes = 0;
        while let Some(job) = self.waiting.front() {
            bytes += job.size + CONTEXT_BYTES;
            let alone = job.alone || jobs.first().is_some_and(|first| first.alone);
            if !jobs.is_empty() && (alone || bytes > BATCH_BYTES || jobs.len() == BATCH_RECORDS) {
                break;
            }
            jobs.extend(self.waiting.pop_front());
        }
        jobs
    }
}
