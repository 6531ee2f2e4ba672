use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::message::OffsetsMessage;
use super::state::Ledger;
use crate::broker::{BrokerError, CommittedOffset, OffsetStore};
use crate::event::{Event, Events};
use crate::isolation::guard::Guarded;
use crate::record::TopicPartition;

/// How soon a failed commit is tried again while somebody waits for it.
const FLUSH_RETRY: Duration = Duration::from_millis(100);

/// Turns settled offsets into watermarks and commits them, one commit at a time.
pub(crate) struct OffsetsActor {
    pub(crate) group: String,
    pub(crate) store: Arc<dyn OffsetStore>,
    pub(crate) events: Events,
    pub(crate) commit_interval: Duration,
    /// Set when the consumer is dropped: nothing is committed after that.
    pub(crate) closed: Arc<AtomicBool>,
}

pub(crate) struct OffsetsState {
    ledger: Ledger,
    committing: bool,
    /// Whether the last commit failed, so that a streak is reported once.
    failing: bool,
    /// Flushes that wait for the next commit, and those that the commit under way is for.
    flushes: Vec<RpcReplyPort<()>>,
    flushing: Vec<RpcReplyPort<()>>,
    /// Ended ownerships whose last commit may be under way.
    closing: Vec<RpcReplyPort<()>>,
}

#[cfg_attr(feature = "async-trait", ractor::async_trait)]
impl Actor for OffsetsActor {
    type Msg = OffsetsMessage;
    type State = OffsetsState;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<OffsetsMessage>, (): ()) -> Result<OffsetsState, ActorProcessingErr> {
        myself.send_interval(self.commit_interval, || OffsetsMessage::Tick);
        Ok(OffsetsState {
            ledger: Ledger::default(),
            committing: false,
            failing: false,
            flushes: Vec::new(),
            flushing: Vec::new(),
            closing: Vec::new(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<OffsetsMessage>,
        message: OffsetsMessage,
        state: &mut OffsetsState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            OffsetsMessage::Open { partition, epoch, start } => state.ledger.open(partition, epoch, start),
            OffsetsMessage::Settled { partition, epoch, from, to } => {
                state.ledger.settle(&partition, epoch, from, to);
            }
            OffsetsMessage::Close { partition, epoch, reply } => {
                state.ledger.close(&partition, epoch);
                if state.committing {
                    state.closing.push(reply);
                } else {
                    let _ = reply.send(());
                }
            }
            OffsetsMessage::Tick => self.commit(&myself, state),
            OffsetsMessage::Committed { offsets, result } => self.committed(&myself, state, offsets, result),
            OffsetsMessage::Flush(reply) => {
                state.flushes.push(reply);
                self.commit(&myself, state);
            }
            OffsetsMessage::Snapshot(reply) => drop(reply.send(state.ledger.snapshot())),
        }
        Ok(())
    }
}

impl OffsetsActor {
    /// Starts a commit of what has changed, unless one is under way.
    fn commit(&self, myself: &ActorRef<OffsetsMessage>, state: &mut OffsetsState) {
        if state.committing || self.closed.load(Ordering::Acquire) {
            return;
        }
        let offsets = state.ledger.uncommitted();
        if offsets.is_empty() {
            state.flushes.drain(..).for_each(|reply| drop(reply.send(())));
            return;
        }
        state.committing = true;
        state.flushing.append(&mut state.flushes);
        let to_commit = offsets.iter().map(|(partition, offset)| CommittedOffset::new(partition.clone(), *offset));
        let commit = self.store.commit(self.group.clone(), to_commit.collect());
        let myself = myself.clone();
        tokio::spawn(async move {
            // An adapter's panic must not leave the actor waiting for an answer for ever.
            let result = Guarded::new(commit).await.unwrap_or_else(|report| {
                let doing = "committing offsets".to_owned();
                Err(BrokerError::Malformed { doing, cause: format!("the adapter panicked: {}", report.message) })
            });
            // The actor is gone only when the consumer is.
            let _ = myself.cast(OffsetsMessage::Committed { offsets, result });
        });
    }

    fn committed(
        &self,
        myself: &ActorRef<OffsetsMessage>,
        state: &mut OffsetsState,
        offsets: Vec<(TopicPartition, i64)>,
        result: Result<Vec<Result<(), BrokerError>>, BrokerError>,
    ) {
        state.committing = false;
        state.closing.drain(..).for_each(|reply| drop(reply.send(())));
        let mut failure = None;
        let mut done = 0;
        match result {
            Ok(results) => {
                for ((partition, offset), result) in offsets.into_iter().zip(results) {
                    match result {
                        Ok(()) => {
                            state.ledger.committed(&partition, offset);
                            done += 1;
                        }
                        Err(error) => failure = Some(format!("{partition} at {offset}: {error}")),
                    }
                }
            }
            Err(error) => failure = Some(error.to_string()),
        }
        if done > 0 {
            self.events.emit(Event::Committed { partitions: done });
        }
        match failure {
            Some(reason) => {
                if !std::mem::replace(&mut state.failing, true) {
                    self.events.emit(Event::CommitFailing { reason });
                }
                state.flushes.append(&mut state.flushing);
                state.flushes.retain(|reply| !reply.is_closed());
                if !state.flushes.is_empty() {
                    myself.send_after(FLUSH_RETRY, || OffsetsMessage::Tick);
                }
            }
            None => {
                state.failing = false;
                state.flushing.drain(..).for_each(|reply| drop(reply.send(())));
                if !state.flushes.is_empty() {
                    self.commit(myself, state);
                }
            }
        }
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use ractor::rpc::CallResult;

    use super::*;
    use crate::testing::memory::Memory;

    /// Settles offsets below 5, has them committed, and says how far the store got.
    async fn committed(closed: bool) -> Option<i64> {
        let memory = Memory::default();
        let orders = TopicPartition::new("orders", 0);
        let actor = OffsetsActor {
            group: "group".to_owned(),
            store: memory.ports().offsets,
            events: Events::new(),
            commit_interval: Duration::from_secs(3600),
            closed: Arc::new(AtomicBool::new(closed)),
        };
        let (actor, _join) = Actor::spawn(None, actor, ()).await.unwrap();
        actor.cast(OffsetsMessage::Open { partition: orders.clone(), epoch: 1, start: 0 }).unwrap();
        actor.cast(OffsetsMessage::Settled { partition: orders, epoch: 1, from: 0, to: 5 }).unwrap();
        actor.cast(OffsetsMessage::Tick).unwrap();
        // One thread, and a store that answers at once: a commit would be through by then.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        match actor.call(OffsetsMessage::Snapshot, None).await {
            Ok(CallResult::Success(offsets)) => offsets.first().map(|offsets| offsets.committed),
            _ => None,
        }
    }

    #[tokio::test]
    async fn nothing_is_committed_after_the_consumer_was_dropped() {
        assert_eq!(committed(false).await, Some(5));
        assert_eq!(committed(true).await, Some(0));
    }
}
