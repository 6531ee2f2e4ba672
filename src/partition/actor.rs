use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::context::{CorruptBatches, PartitionContext, TopicLimits};
use super::deliver::{Attempt, Delivered};
use super::error::PartitionError;
use super::judge::{Judged, judge};
use super::letters::Letters;
use super::message::PartitionMessage;
use super::ownership::Ownership;
use super::patience::Patience;
use super::progress::Progress;
use super::tally::Tally;
use super::turn::Turn;
use crate::broker::Feed;
use crate::classifier::Evidence;
use crate::handler::{Decoder, FactoryContext, FactoryError, Handler, HandlerFactory, Outbox};
use crate::isolation::guard::{Contained, Guarded};
use crate::record::{Record, RecordBatch};

/// One incarnation: processes the records of its ownership's feed strictly in order.
pub(crate) struct PartitionActor<D, F> {
    pub(crate) ownership: Arc<Ownership>,
    pub(crate) context: Arc<PartitionContext>,
    pub(crate) decoder: Arc<D>,
    pub(crate) factory: Arc<F>,
    pub(crate) limits: TopicLimits,
    pub(crate) creation: FactoryContext,
    /// Told why, where a policy says to stop.
    pub(crate) halt: Arc<dyn Fn(String) + Send + Sync>,
}

pub(crate) struct PartitionState<D, H> {
    decoder: Contained<D>,
    handler: Contained<H>,
    outbox: Arc<Outbox>,
    letters: Letters,
    progress: Progress,
    tally: Tally,
    patience: Patience,
    turn: Turn,
}

/// The longest that a factory may take: one that waits for ever would hold its partition without a word.
const FACTORY_LIMIT: Duration = Duration::from_secs(60);

/// Why a run over the feed ended.
enum Pause {
    /// The feed is empty.
    Idle,
    /// The ownership is ending.
    Stopping,
}

#[cfg_attr(feature = "async-trait", ractor::async_trait)]
impl<D, F> Actor for PartitionActor<D, F>
where
    F: HandlerFactory,
    D: Decoder<<F::Handler as Handler>::Message> + Sync,
{
    type Msg = PartitionMessage;
    type State = PartitionState<D, F::Handler>;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<PartitionMessage>, (): ()) -> Result<Self::State, ActorProcessingErr> {
        let created = Guarded::new(async {
            let handler = self.factory.create(self.creation.clone()).await?;
            Ok::<_, FactoryError>((Contained::new((*self.decoder).clone()), Contained::new(handler)))
        });
        let (decoder, handler) = match tokio::time::timeout(FACTORY_LIMIT, created).await {
            Ok(Ok(Ok(made))) => made,
            Err(_) => {
                let limit = humantime::format_duration(FACTORY_LIMIT);
                return Err(infrastructure(format!("the handler factory made no handler within {limit}")));
            }
            Ok(Ok(Err(error))) => return Err(infrastructure(format!("the handler factory failed: {error}"))),
            Ok(Err(report)) => {
                let place = report.location.unwrap_or_else(|| "an unknown place".to_owned());
                return Err(infrastructure(format!("the handler factory panicked at {place}: {}", report.message)));
            }
        };
        let listener = myself.clone();
        // An actor that is gone misses nothing: its successor asks the feed when it starts.
        self.ownership.feed.on_ready(move || drop(listener.cast(PartitionMessage::Run)));
        let tally = Tally::new(self.context.events.meter().topic(&self.ownership.partition));
        let patience = Patience::new(self.limits.poison_timeout, self.context.producer.runtime().clone());
        Ok(PartitionState {
            decoder,
            handler,
            outbox: Arc::new(Outbox::new(self.context.producer.clone(), self.context.origins.clone())),
            letters: Letters::new(&self.context, &self.ownership),
            progress: Progress::of(&self.ownership),
            patience: patience.timed(tally.is_timed()),
            tally,
            turn: Turn::begin(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<PartitionMessage>,
        PartitionMessage::Run: PartitionMessage,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let outcome = self.run(state).await;
        state.tally.rest();
        state.letters.hand_over()?;
        state.progress.report(&self.context, &self.ownership)?;
        match outcome? {
            Pause::Idle => {}
            Pause::Stopping => myself.stop(None),
        }
        Ok(())
    }
}

fn infrastructure(reason: String) -> ActorProcessingErr {
    PartitionError::Infrastructure { reason }.into()
}

impl<D, F> PartitionActor<D, F>
where
    F: HandlerFactory,
    D: Decoder<<F::Handler as Handler>::Message> + Sync,
{
    fn feed(&self) -> &Feed {
        &self.ownership.feed
    }

    /// Processes what is in the feed.
    async fn run(&self, state: &mut PartitionState<D, F::Handler>) -> Result<Pause, PartitionError> {
        if !self.dead_letters_acknowledged(state).await? {
            return Ok(Pause::Stopping);
        }
        state.tally.go_on();
        loop {
            if self.ownership.is_stopping() {
                return Ok(Pause::Stopping);
            }
            let Some(batch) = self.feed().front() else {
                return Ok(if self.ownership.is_finishing() { Pause::Stopping } else { Pause::Idle });
            };
            if !self.batch(state, &batch).await? {
                return Ok(Pause::Stopping);
            }
            // Gaps at the end of the batch hold no record: there is nothing to settle in them.
            let end = batch.next_offset().max(self.ownership.position());
            self.ownership.advance(end);
            state.progress.handled(end);
            self.feed().pop_front();
        }
    }

    /// Processes one batch from the position on. False if the ownership ends before the batch does.
    async fn batch(
        &self,
        state: &mut PartitionState<D, F::Handler>,
        batch: &RecordBatch,
    ) -> Result<bool, PartitionError> {
        if let (Some(reason), CorruptBatches::Stop) = (batch.damage(), self.context.corrupt_batches) {
            let (partition, from, to) = (batch.partition(), self.ownership.position(), batch.next_offset());
            (self.halt)(format!(
                "offsets {from} to {} of {partition} cannot be read and the policy is to stop there: {reason}",
                to - 1
            ));
            self.ownership.stop();
            return Ok(false);
        }
        state.progress.leader_epoch(batch.leader_epoch(), &self.context, &self.ownership)?;
        for index in batch.index_of(self.ownership.position())..batch.len() {
            if let Some(now) = state.turn.look() {
                state.tally.look(now);
                state.progress.report_if_due(now, &self.context, &self.ownership);
                if state.turn.is_over(now) {
                    state.letters.hand_over()?;
                    tokio::task::yield_now().await;
                    state.turn.begin_again();
                    state.tally.go_on();
                }
            }
            // After the others' turn: one of them may have blocked the lane until the partition was not ours any more.
            if !self.ownership.may_deliver() && !self.until_may_deliver(state).await? {
                return Ok(false);
            }
            if self.context.closed.load(Ordering::Acquire) {
                return Ok(false);
            }
            let Some(record) = batch.get(index) else { break };
            let offset = record.offset();
            match self.attempt(state, record).await {
                Delivered::Handled => {
                    self.ownership.advance(offset + 1);
                    state.progress.handled(offset + 1);
                    state.tally.handled();
                }
                failed => {
                    let Some(record) = batch.get(index) else { break };
                    if !self.failed(state, record, failed).await? {
                        return Ok(false);
                    }
                    state.tally.go_on();
                }
            }
        }
        Ok(true)
    }

    /// Delivers a record that failed until it is out of the way. False if the ownership ends before.
    async fn failed(
        &self,
        state: &mut PartitionState<D, F::Handler>,
        record: Record,
        mut delivered: Delivered,
    ) -> Result<bool, PartitionError> {
        let offset = record.offset();
        loop {
            // What lies before the record is settled; the record itself is not, whatever comes of it.
            state.progress.handled(offset);
            state.tally.rest();
            let evidence = match delivered {
                Delivered::Handled => {
                    self.ownership.advance(offset + 1);
                    state.progress.handled(offset + 1);
                    state.tally.handled();
                    return Ok(true);
                }
                Delivered::Failed(evidence) => evidence,
                Delivered::Lost(fault) => return Err(PartitionError::Fault { record, fault }),
                Delivered::Gone(reason) => return Err(PartitionError::Infrastructure { reason }),
                Delivered::Withheld => {
                    if !self.until_may_deliver(state).await? {
                        return Ok(false);
                    }
                    delivered = self.attempt(state, record.clone()).await;
                    continue;
                }
            };
            state.progress.report(&self.context, &self.ownership)?;
            match judge(&self.context, &mut state.letters, &record, evidence, None).await? {
                Judged::Retry(after) => {
                    state.letters.hand_over()?;
                    if !self.wait(after).await {
                        return Ok(false);
                    }
                }
                Judged::Passed => {
                    state.progress.passed(offset + 1, &self.ownership);
                    return self.dead_letters_acknowledged(state).await;
                }
                Judged::Stop(reason) => {
                    (self.halt)(reason);
                    self.ownership.stop();
                    return Ok(false);
                }
                Judged::Withheld => return Ok(false),
            }
            if !self.until_may_deliver(state).await? {
                return Ok(false);
            }
            state.tally.go_on();
            delivered = self.attempt(state, record.clone()).await;
        }
    }

    /// Waits until the next record may be delivered: while the partition is paused, or the lease of a member is over and may
    /// be renewed. False if the ownership ends before.
    async fn until_may_deliver(&self, state: &mut PartitionState<D, F::Handler>) -> Result<bool, PartitionError> {
        if self.ownership.may_deliver() {
            return Ok(true);
        }
        state.tally.rest();
        state.letters.hand_over()?;
        state.progress.report(&self.context, &self.ownership)?;
        let goes_on = self.ownership.until_may_deliver().await;
        state.turn.rested();
        state.tally.go_on();
        Ok(goes_on)
    }

    async fn attempt(&self, state: &mut PartitionState<D, F::Handler>, record: Record) -> Delivered {
        let (Some(decoder), Some(handler)) = (state.decoder.as_mut(), state.handler.as_mut()) else {
            return Delivered::Gone("the handler is gone".to_owned());
        };
        if let Some((next_offset, reason)) = record.unreadable() {
            // Nothing to deliver: it goes the way of a record whose delivery failed.
            return Delivered::Failed(Box::new(Evidence::corrupt((record.offset(), next_offset), reason)));
        }
        let retry = self.ownership.retry(record.offset());
        let attempt = Attempt {
            hooks: &self.context.hooks,
            events: &self.context.events,
            decoder,
            handler,
            outbox: &state.outbox,
            patience: &mut state.patience,
            record,
            partition: &self.ownership.partition,
            number: retry.map_or(1, |retry| retry.attempts + 1),
            first_failure: retry.map(|retry| retry.first_failed),
            ownership: Some(&self.ownership),
        };
        // Neither progress nor dead letters wait for a slow record.
        let (progress, letters, tally) = (&mut state.progress, &mut state.letters, &mut state.tally);
        let due = |now| {
            tally.count();
            // Ignored: without a dead-letter actor the next one fails too, and that one is not ignored.
            let _ = letters.hand_over();
            progress.report_if_due(now, &self.context, &self.ownership)
        };
        let delivered = attempt.run(due).await;
        if state.patience.has_waited() {
            state.turn.rested();
            state.tally.has_waited(state.patience.waiting());
            self.ownership.wait_for_delivery(false);
        } else {
            state.tally.was_ready();
        }
        delivered
    }

    /// Waits before a retry. False if the ownership ends before.
    async fn wait(&self, after: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.ownership.stopped() => false,
            () = tokio::time::sleep(after) => true,
        }
    }

    /// Waits until no more dead letters than allowed wait for their acknowledgement. False if the ownership ends before.
    async fn dead_letters_acknowledged(
        &self,
        state: &mut PartitionState<D, F::Handler>,
    ) -> Result<bool, PartitionError> {
        let limit = self.context.max_unacknowledged;
        if state.letters.unacknowledged() <= limit {
            return Ok(true);
        }
        state.letters.hand_over()?;
        Ok(self.ownership.acknowledged_down_to(limit).await)
    }
}
