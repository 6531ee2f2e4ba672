use std::sync::Arc;

use ractor::{ActorCell, ActorRef};

use super::actor::SupervisorActor;
use super::message::{OwnershipKey, SupervisorMessage};
use super::restart::{Escalation, RestartLog};
use super::state::{Afterwards, End, Phase, SupervisorState};
use crate::classifier::{Evidence, FailureKind};
use crate::event::Event;
use crate::isolation::guard::Guarded;
use crate::partition::{Fault, Incarnation, Judged, Letters, PartitionError, judge};
use crate::policy::Category;
use crate::record::Record;

type Myself = ActorRef<SupervisorMessage>;

impl SupervisorActor {
    /// Starts the next incarnation, unless the ownership is ending.
    pub(super) fn start(&self, myself: &Myself, state: &mut SupervisorState, key: &OwnershipKey) {
        let Some((lane, context)) = state.lane(key) else { return };
        let Some(managed) = state.current(key) else { return };
        if managed.ownership.is_stopping() {
            self.stopped(myself, state, key);
            return;
        }
        managed.incarnation += 1;
        if managed.incarnation > 1 {
            let handler_lost = !matches!(managed.phase, Phase::Waiting);
            self.events.meter().restarted(&key.partition, handler_lost);
        }
        managed.phase = Phase::Pending;
        let plan = &self.topics[managed.topic_index];
        let halt = myself.clone();
        let spawning = plan.spawner.spawn(Incarnation {
            ownership: Arc::clone(&managed.ownership),
            context,
            limits: plan.limits,
            number: managed.incarnation,
            shared: self.planes.shared().clone(),
            supervisor: myself.get_cell(),
            halt: Arc::new(move |reason| drop(halt.cast(SupervisorMessage::Halt(reason)))),
        });
        let (myself, key) = (myself.clone(), key.clone());
        // ractor spawns on the runtime that polls this: so the actor lives on its lane.
        self.planes.lanes()[lane].spawn(async move {
            let result = spawning.await;
            let _ = myself.cast(SupervisorMessage::Spawned { key, result });
        });
    }

    pub(super) fn spawned(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        key: &OwnershipKey,
        result: Result<ActorCell, String>,
    ) {
        let actor = match result {
            Ok(actor) => actor,
            Err(reason) => return self.restart_later(myself, state, key, reason),
        };
        let id = actor.get_id();
        let early = state.early.remove(&id);
        let Some(managed) = state.current(key).filter(|managed| !managed.is_stopped()) else {
            actor.kill();
            if early.is_none() {
                // Its end is still to come.
                state.by_actor.insert(id, key.clone());
            }
            return;
        };
        // Whoever asked it to stop, or to finish, found no actor to wake.
        let ending = managed.ownership.is_stopping() || managed.ownership.is_finishing();
        managed.phase = Phase::Running(actor.clone());
        match early {
            Some(end) => self.ended(myself, state, key, end),
            None => {
                state.by_actor.insert(id, key.clone());
                if ending {
                    wake(&actor);
                }
            }
        }
    }

    /// A partition actor has ended.
    pub(super) fn ended(&self, myself: &Myself, state: &mut SupervisorState, key: &OwnershipKey, end: End) {
        let Some(managed) = state.current(key).filter(|managed| !managed.is_stopped()) else { return };
        managed.phase = Phase::Pending;
        match end {
            End::Stopped if managed.ownership.is_stopping() || managed.ownership.is_finishing() => {
                self.stopped(myself, state, key);
            }
            End::Stopped => {
                // Nothing of the partition's own failed.
                managed.in_a_row = 0;
                self.restart_later(myself, state, key, "it was stopped from outside".to_owned());
            }
            End::Failed(error) => match error.downcast::<PartitionError>().map(|error| *error) {
                Ok(PartitionError::Fault { record, fault }) => self.quarantine(myself, state, key, record, fault),
                Ok(PartitionError::Infrastructure { reason }) => self.restart_later(myself, state, key, reason),
                Err(error) => {
                    let reason = format!("the partition actor failed, which is a bug in bezoar: {error}");
                    self.restart_later(myself, state, key, reason);
                }
            },
        }
    }

    /// Has the record that took its handler down judged, as a rule dead-lettered, and the next incarnation started
    /// after it.
    fn quarantine(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        key: &OwnershipKey,
        record: Record,
        fault: Fault,
    ) {
        let Some((lane, context)) = state.lane(key) else { return };
        let Some(managed) = state.current(key) else { return };
        let (evidence, backtrace) = match fault {
            Fault::Panic(report) => {
                let report = *report;
                let evidence = Evidence::panic(&report.message, report.location, report.thread.as_deref(), None);
                (evidence, report.backtrace)
            }
            Fault::Timeout { limit, unacknowledged: 0 } => (Evidence::timeout(limit), None),
            Fault::Timeout { limit, unacknowledged } => {
                let mut evidence = Evidence::timeout(limit);
                evidence.kind = FailureKind::Handler;
                evidence.stated = Some(Category::Transient);
                evidence.message +=
                    &format!(" while {unacknowledged} records that it produced were not acknowledged by the broker");
                (evidence, None)
            }
        };
        let (myself, key, ownership) = (myself.clone(), key.clone(), Arc::clone(&managed.ownership));
        self.planes.lanes()[lane].spawn(async move {
            // A panic in there would otherwise leave the partition waiting for its next incarnation for ever.
            let judging = Guarded::new(async {
                let mut letters = Letters::new(&context, &ownership);
                let judged = judge(&context, &mut letters, &record, Box::new(evidence), backtrace).await?;
                letters.hand_over().map(|()| judged)
            });
            let judged = judging.await.unwrap_or_else(|report| {
                let reason = format!("judging a fault panicked, which is a bug in bezoar: {}", report.message);
                Err(PartitionError::Infrastructure { reason })
            });
            let next = match judged {
                Ok(Judged::Passed) => {
                    ownership.pass(record.offset() + 1);
                    SupervisorMessage::Start(key)
                }
                Ok(Judged::Retry(after)) => {
                    tokio::select! {
                        biased;
                        () = ownership.stopped() => {}
                        () = tokio::time::sleep(after) => {}
                    }
                    SupervisorMessage::Start(key)
                }
                Ok(Judged::Stop(reason)) => {
                    ownership.stop();
                    let _ = myself.cast(SupervisorMessage::Halt(reason));
                    SupervisorMessage::Start(key)
                }
                // It is ending, by which the start sees that there is none.
                Ok(Judged::Withheld) => SupervisorMessage::Start(key),
                Err(error) => SupervisorMessage::RestartFailed { key, reason: error.to_string() },
            };
            // The supervisor is gone only when the consumer is.
            let _ = myself.cast(next);
        });
    }

    /// Counts a restart that did not advance, and starts the next incarnation after a wait or gives the partition up.
    pub(super) fn restart_later(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        key: &OwnershipKey,
        reason: String,
    ) {
        let policy = &self.settings.restart;
        let now = tokio::time::Instant::now();
        let Some(managed) = state.current(key) else { return };
        if managed.ownership.is_stopping() {
            return self.stopped(myself, state, key);
        }
        managed.phase = Phase::Waiting;
        let position = managed.ownership.position();
        // What advanced since the last restart starts counting anew.
        let before = managed.restarted_at.replace(position);
        let advanced = before.is_some_and(|before| position > before);
        if advanced {
            managed.restarts = RestartLog::default();
            managed.in_a_row = 0;
        }
        managed.in_a_row += 1;
        // Attempts that take longer than the window would otherwise be repeated for ever.
        let restarts = managed.restarts.note(now, policy.window).max(managed.in_a_row);
        let used_up = restarts > policy.max_per_partition;
        // The first of each partition is free: what all of them need at the start may be away for a moment.
        let counts = before.is_some() && !advanced;
        let all_used_up = counts && state.restarts.note(now, policy.window) > policy.max_overall;
        if all_used_up || (used_up && policy.escalation == Escalation::StopConsumer) {
            let limit = if all_used_up {
                let window = humantime::format_duration(policy.window);
                format!("{} restarts of all partitions within {window}", policy.max_overall)
            } else {
                format!("{} restarts without progress", policy.max_per_partition)
            };
            self.mark_stopped(state, key);
            let reason = format!("partition {} cannot go on ({limit}): {reason}", key.partition);
            return self.halt(myself, state, reason);
        }
        if used_up {
            return self.give_up(myself, state, key, reason);
        }
        let backoff = policy.backoff.delay(restarts, rand::random());
        self.events.emit(Event::RestartScheduled { partition: key.partition.clone(), reason, restarts, backoff });
        let key = key.clone();
        myself.send_after(backoff, move || SupervisorMessage::Start(key));
    }

    /// Stops one partition for good; the others go on.
    pub(super) fn give_up(&self, myself: &Myself, state: &mut SupervisorState, key: &OwnershipKey, reason: String) {
        let Some(managed) = state.current(key) else { return };
        managed.ownership.stop();
        managed.ownership.feed.close();
        // What waits in the feed is not handled: no new start may pass it.
        managed.afterwards = None;
        let offset = managed.ownership.position();
        self.ports.source.remove(&key.partition);
        self.events.emit(Event::PartitionStopped { partition: key.partition.clone(), offset, reason });
        self.stopped(myself, state, key);
    }

    /// A partition has no actor any more and gets none, unless it starts anew elsewhere.
    pub(super) fn stopped(&self, myself: &Myself, state: &mut SupervisorState, key: &OwnershipKey) {
        let draining = state.drain.is_some();
        let Some(managed) = state.current(key) else { return };
        managed.phase = Phase::Stopped;
        if managed.leaving.is_some() {
            self.check_released(myself, state, key);
            return self.check_drained(myself, state);
        }
        match managed.afterwards.take() {
            Some(Afterwards::Move(start, why)) if !draining => self.move_to(myself, state, key, start, why),
            Some(Afterwards::GiveUp(reason)) if !draining => match self.settings.restart.escalation {
                Escalation::StopConsumer => self.halt(myself, state, reason),
                Escalation::StopPartition => self.give_up(myself, state, key, reason),
            },
            _ => self.check_drained(myself, state),
        }
    }

    pub(super) fn mark_stopped(&self, state: &mut SupervisorState, key: &OwnershipKey) {
        if let Some(managed) = state.current(key) {
            managed.ownership.stop();
            managed.phase = Phase::Stopped;
        }
    }
}

/// Has a partition actor look at its feed and at whether it should stop.
pub(super) fn wake(actor: &ActorCell) {
    // An actor that is gone has an end on its way.
    let _ = actor.send_message(crate::partition::PartitionMessage::Run);
}
