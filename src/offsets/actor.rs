use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::time::Instant;

use super::message::OffsetsMessage;
use super::state::{Ledger, Watermark};
use super::waiting::Waiting;
use crate::broker::{BrokerError, ErrorCode, MemberIdentity, OffsetStore};
use crate::event::{Event, Events};
use crate::group::Lease;
use crate::isolation::guard::Guarded;
use crate::policy::Backoff;

/// Waits before a failed commit is tried again while somebody waits for it.
const RETRY: Backoff = Backoff::exponential(Duration::from_millis(100), 2.0, Duration::from_secs(1));

/// How long an identity that the group has gone on without is not used again, while no other comes.
pub(super) const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Turns settled offsets into watermarks and commits them, one commit at a time.
pub(crate) struct OffsetsActor {
    pub(crate) group: String,
    pub(crate) store: Arc<dyn OffsetStore>,
    pub(crate) events: Events,
    pub(crate) commit_interval: Duration,
    /// Set when the consumer is dropped: nothing is committed after that.
    pub(crate) closed: Arc<AtomicBool>,
}

/// How the offsets are committed.
pub(crate) struct Committing {
    /// `None` where partitions are assigned by hand.
    pub(crate) member: Option<Member>,
    /// Commit once so many records are settled.
    pub(crate) every: Option<u64>,
    /// How often what does not change is committed again, where partitions are assigned by hand.
    pub(crate) again: Duration,
}

/// What commits of a member depend on.
pub(crate) struct Member {
    pub(crate) lease: Arc<Lease>,
    /// Told that a commit under the present identity was refused: the group has gone on.
    pub(crate) refused: Box<dyn Fn(ErrorCode) + Send + Sync>,
}

pub(crate) struct OffsetsState {
    committing: Committing,
    ledger: Ledger,
    /// Whether a commit is under way.
    busy: bool,
    /// How many commits in a row have failed; a streak is reported once.
    failures: u32,
    waiting: Waiting,
    /// How many records were settled since the last commit.
    settled: u64,
    identity: Option<MemberIdentity>,
    /// Why the group refused a commit under the present identity, and when.
    refused: Option<(ErrorCode, Instant)>,
}

#[cfg_attr(feature = "async-trait", ractor::async_trait)]
impl Actor for OffsetsActor {
    type Msg = OffsetsMessage;
    type State = OffsetsState;
    type Arguments = Committing;

    async fn pre_start(
        &self,
        myself: ActorRef<OffsetsMessage>,
        committing: Committing,
    ) -> Result<OffsetsState, ActorProcessingErr> {
        myself.send_interval(self.commit_interval, || OffsetsMessage::Tick);
        if committing.member.is_none() {
            myself.send_interval(committing.again, || OffsetsMessage::Again);
        }
        Ok(OffsetsState {
            committing,
            ledger: Ledger::default(),
            busy: false,
            failures: 0,
            waiting: Waiting::default(),
            settled: 0,
            identity: None,
            refused: None,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<OffsetsMessage>,
        message: OffsetsMessage,
        state: &mut OffsetsState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            OffsetsMessage::Open { partition, epoch, beginning } => state.ledger.open(partition, epoch, beginning),
            OffsetsMessage::CommitStart { partition, epoch, reply } => {
                state.waiting.start((partition, epoch), reply);
                self.commit(&myself, state);
            }
            OffsetsMessage::Settled { partition, epoch, from, to } => {
                state.ledger.settle(&partition, epoch, from, to);
                state.settled = state.settled.saturating_add(to.abs_diff(from));
                if state.is_due_by_count() {
                    self.commit(&myself, state);
                }
            }
            OffsetsMessage::LeaderEpoch { partition, epoch, from, leader_epoch } => {
                state.ledger.leader_epoch(&partition, epoch, from, leader_epoch);
            }
            OffsetsMessage::Close { partition, epoch, reply } => {
                state.ledger.close(&partition, epoch);
                state.waiting.close(reply);
                if !state.busy {
                    state.waiting.idle();
                }
                state.waiting.committed(&state.ledger);
            }
            OffsetsMessage::Lost { partition, epoch, stopping } => {
                if stopping && state.ledger.is_behind(&partition, epoch) {
                    state.waiting.forfeited();
                }
                state.ledger.close(&partition, epoch);
                state.waiting.committed(&state.ledger);
            }
            OffsetsMessage::Identity(identity) => {
                state.identity = identity;
                state.refused = None;
                self.commit(&myself, state);
            }
            OffsetsMessage::Tick => {
                state.forgive();
                self.commit(&myself, state);
            }
            OffsetsMessage::Again => {
                state.ledger.again();
                self.commit(&myself, state);
            }
            OffsetsMessage::Committed { offsets, member, result } => {
                self.committed(&myself, state, offsets, member, result);
            }
            OffsetsMessage::Flush { ownership, reply } => {
                state.waiting.flush(ownership, reply);
                self.commit(&myself, state);
            }
            OffsetsMessage::Snapshot(reply) => drop(reply.send(state.ledger.snapshot())),
        }
        Ok(())
    }
}

impl OffsetsState {
    fn is_due_by_count(&self) -> bool {
        self.committing.every.is_some_and(|every| self.settled >= every)
    }

    /// Nothing is committed under the present identity. A member that is still one learns its next epoch or generation soon;
    /// one that is not is not waited for.
    fn held(&mut self) {
        if self.refused.is_some_and(|(code, _)| !passes(code)) {
            self.waiting.fenced();
        }
    }

    /// Asks again under the identity that was refused: at the next interval where that passes by itself, and after a while in
    /// any case, since the group may find that the member is one of its own after all and tell no new identity.
    fn forgive(&mut self) {
        if self.refused.is_some_and(|(code, at)| passes(code) || at.elapsed() >= ASK_AGAIN) {
            self.refused = None;
        }
    }
}

/// Whether a commit was refused for what the group has become, not for what was committed. A group of KIP-848 whose last member
/// has expired is not there any more.
fn is_about_membership(code: ErrorCode) -> bool {
    code.is_fenced() || code == ErrorCode::REBALANCE_IN_PROGRESS || code == ErrorCode::GROUP_ID_NOT_FOUND
}

/// Whether a refusal means that the group is changing, not that it has gone on without the member.
fn passes(code: ErrorCode) -> bool {
    code == ErrorCode::STALE_MEMBER_EPOCH || code == ErrorCode::REBALANCE_IN_PROGRESS
}

/// Whether a commit failed: not all of it was made, and not because the group has gone on.
fn is_failure(result: &Result<Vec<Result<(), BrokerError>>, BrokerError>, member: bool) -> bool {
    let failed = |error: &BrokerError| !(member && error.code().is_some_and(is_about_membership));
    match result {
        Ok(results) => results.iter().filter_map(|result| result.as_ref().err()).any(failed),
        Err(error) => failed(error),
    }
}

impl OffsetsActor {
    /// Starts a commit of what has changed, unless one is under way or the group lets nothing be committed.
    fn commit(&self, myself: &ActorRef<OffsetsMessage>, state: &mut OffsetsState) {
        if state.busy || self.closed.load(Ordering::Acquire) {
            return;
        }
        // What is committed already needs no further one.
        state.waiting.committed(&state.ledger);
        let offsets = state.ledger.uncommitted();
        if offsets.is_empty() {
            return;
        }
        let to_commit = offsets.iter().map(|(_, offset)| offset.clone()).collect();
        let group = self.group.clone();
        let (member, commit) = match &state.committing.member {
            None => (None, self.store.commit(group, to_commit)),
            Some(member) => match &state.identity {
                None => return state.waiting.fenced(),
                Some(_) if state.refused.is_some() => return state.held(),
                Some(_) if member.lease.is_over() => return self.again_soon(myself, state),
                Some(identity) => (Some(identity.clone()), self.store.commit_as(group, identity.clone(), to_commit)),
            },
        };
        state.busy = true;
        state.settled = 0;
        let (myself, meter) = (myself.clone(), Arc::clone(self.events.meter()));
        tokio::spawn(async move {
            let began = Instant::now();
            // An adapter's panic must not leave the actor waiting for an answer for ever.
            let result = Guarded::new(commit).await.unwrap_or_else(|report| {
                let doing = "committing offsets".to_owned();
                Err(BrokerError::Malformed { doing, cause: format!("the adapter panicked: {}", report.message) })
            });
            meter.committed(began.elapsed(), is_failure(&result, member.is_some()));
            // The actor is gone only when the consumer is.
            let _ = myself.cast(OffsetsMessage::Committed { offsets, member, result });
        });
    }

    fn committed(
        &self,
        myself: &ActorRef<OffsetsMessage>,
        state: &mut OffsetsState,
        offsets: Vec<Watermark>,
        member: Option<MemberIdentity>,
        result: Result<Vec<Result<(), BrokerError>>, BrokerError>,
    ) {
        state.busy = false;
        state.waiting.idle();
        let results = match result {
            Ok(results) => results,
            Err(error) => vec![Err(error); offsets.len()],
        };
        let (mut done, mut refused, mut failure) = (0, None, None);
        for ((epoch, offset), result) in offsets.into_iter().zip(results) {
            let error = match result {
                Ok(()) => {
                    state.ledger.committed(&offset.partition, epoch, offset.offset);
                    done += 1;
                    continue;
                }
                Err(error) => error,
            };
            match error.code().filter(|code| is_about_membership(*code)) {
                Some(code) if member.is_some() => refused = Some(code),
                _ => {
                    if !error.is_retriable() {
                        state.waiting.failed(&offset.partition, &error);
                    }
                    failure = Some(format!("{} at {}: {error}", offset.partition, offset.offset));
                }
            }
        }
        state.waiting.committed(&state.ledger);
        if done > 0 {
            self.events.emit(Event::Committed { partitions: done });
        }
        match failure {
            Some(reason) => {
                state.failures = state.failures.saturating_add(1);
                if state.failures == 1 {
                    self.events.emit(Event::CommitFailing { reason });
                }
            }
            None => state.failures = 0,
        }
        match refused {
            Some(code) if member == state.identity => self.refused(state, code),
            // The member's identity changed meanwhile, and this is what it was changed for.
            Some(_) => self.commit(myself, state),
            None if state.failures > 0 => self.again_soon(myself, state),
            None if state.waiting.is_any() || state.is_due_by_count() => self.commit(myself, state),
            None => {}
        }
    }

    /// The group has gone on: the present identity is of no use any more.
    fn refused(&self, state: &mut OffsetsState, code: ErrorCode) {
        state.refused = Some((code, Instant::now()));
        state.held();
        if let Some(member) = &state.committing.member {
            (member.refused)(code);
        }
    }

    /// Tries again before the next interval if somebody waits.
    fn again_soon(&self, myself: &ActorRef<OffsetsMessage>, state: &mut OffsetsState) {
        if state.waiting.is_any() {
            let wait = RETRY.delay(state.failures.max(1), rand::random());
            myself.send_after(wait, || OffsetsMessage::Tick);
        }
    }
}
