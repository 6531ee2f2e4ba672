use ractor::{ActorRef, rpc::CallResult};
use tokio::time::{Instant, timeout, timeout_at};

use super::actor::SupervisorActor;
use super::drain::COMMIT_TIMEOUT;
use super::incarnations::wake;
use super::message::{OwnershipKey, SupervisorMessage};
use super::state::{Leaving, LeavingStep, Managed, Phase, SupervisorState};
use super::status::SeekError;
use crate::event::Event;
use crate::offsets::OffsetsMessage;
use crate::record::TopicPartition;

type Myself = ActorRef<SupervisorMessage>;

impl SupervisorActor {
    /// Gives partitions up in order: no new record, what is in flight finishes and is committed; then the group is told. Each
    /// that it asks for is answered once, those too that this consumer does not have.
    pub(super) fn revoke(&self, myself: &Myself, state: &mut SupervisorState, partitions: Vec<TopicPartition>) {
        let mut released = Vec::new();
        for partition in partitions {
            if let Some(membership) = &mut state.membership
                && membership.claims.remove(&partition).is_some()
            {
                // Nothing of it was handled or committed yet.
                state.paused.remove(&partition);
                released.push(partition);
                continue;
            }
            let step = if state.drain.is_some() { LeavingStep::WithAll } else { LeavingStep::Stopping };
            let over = state.membership.as_ref().is_none_or(|membership| membership.over);
            match state.partitions.get_mut(&partition).filter(|_| !over) {
                None => released.push(partition),
                Some(managed) => match &mut managed.leaving {
                    Some(leaving) => {
                        leaving.answers += 1;
                        leaving.again = None;
                    }
                    None => {
                        let deadline = Instant::now() + self.settings.drain_timeout;
                        managed.leaving = Some(Leaving { deadline, answers: 1, again: None, step });
                        if step == LeavingStep::Stopping {
                            self.begin_release(myself, state, &partition);
                        }
                    }
                },
            }
        }
        self.released(state, released);
    }

    /// Gives up a partition whose topic was deleted and created anew, without having been asked to: what the topic has now is
    /// processed by whom the group assigns it to.
    pub(super) fn release_recreated(&self, myself: &Myself, state: &mut SupervisorState, key: &OwnershipKey) {
        let draining = state.drain.is_some();
        let Some(managed) = state.current(key).filter(|managed| managed.leaving.is_none() && !draining) else { return };
        tracing::warn!(partition = %key.partition, "the topic was deleted and created anew: the group assigns its partitions");
        let deadline = Instant::now() + self.settings.drain_timeout;
        managed.leaving = Some(Leaving { deadline, answers: 0, again: None, step: LeavingStep::Stopping });
        // What would be committed are offsets of the log that is gone. A failed cast means that the offsets actor is gone,
        // which its own end reports.
        let (partition, epoch) = (key.partition.clone(), key.epoch);
        let _ = state.offsets.cast(OffsetsMessage::Lost { partition, epoch, stopping: false });
        self.begin_release(myself, state, &key.partition);
    }

    fn begin_release(&self, myself: &Myself, state: &mut SupervisorState, partition: &TopicPartition) {
        let Some(managed) = state.partitions.get_mut(partition) else { return };
        let key = OwnershipKey { partition: partition.clone(), epoch: managed.ownership.epoch };
        self.ports.source.remove(partition);
        managed.ownership.stop();
        managed.afterwards = None;
        managed.answer_seeker(Err(SeekError::NotAssigned { partition: partition.clone() }));
        match &managed.phase {
            Phase::Running(actor) => wake(actor),
            Phase::Opening | Phase::Waiting => managed.phase = Phase::Stopped,
            Phase::Pending | Phase::Stopped => {}
        }
        let overdue = key.clone();
        myself.send_after(self.settings.drain_timeout, move || SupervisorMessage::Overdue(overdue));
        self.check_released(myself, state, &key);
    }

    /// The deadline has come: what still runs is dropped. A handler that blocks its thread cannot be: nobody waits for it, and
    /// nothing that it returns counts.
    pub(super) fn overdue(&self, myself: &Myself, state: &mut SupervisorState, key: &OwnershipKey) {
        let Some(managed) = state.current(key) else { return };
        if managed.is_stopped() {
            return;
        }
        managed.ownership.lose();
        if let Phase::Running(actor) = std::mem::replace(&mut managed.phase, Phase::Stopped) {
            actor.kill();
        }
        self.check_released(myself, state, key);
    }

    /// Once a partition that is being given up has no actor, waits for its dead letters and commits.
    pub(super) fn check_released(&self, myself: &Myself, state: &mut SupervisorState, key: &OwnershipKey) {
        let offsets = state.offsets.clone();
        let Some(managed) = state.current(key).filter(|managed| managed.is_stopped()) else { return };
        let ownership = managed.ownership.clone();
        let Some(leaving) = managed.leaving.as_mut().filter(|leaving| leaving.step == LeavingStep::Stopping) else {
            return;
        };
        leaving.step = LeavingStep::Committing;
        let (deadline, myself, key) = (leaving.deadline, myself.clone(), key.clone());
        tokio::spawn(async move {
            let (partition, epoch) = (key.partition.clone(), key.epoch);
            // Past the deadline the records of what is left stay uncommitted, and what was not sent yet is not sent.
            let _ = timeout_at(deadline, ownership.all_acknowledged()).await;
            ownership.lose();
            let flush = |reply| OffsetsMessage::Flush { ownership: Some((partition.clone(), epoch)), reply };
            // What cannot be committed is handled again by the next owner.
            let _ = timeout(COMMIT_TIMEOUT, offsets.call(flush, None)).await;
            let committed = match offsets.call(OffsetsMessage::Snapshot, None).await {
                Ok(CallResult::Success(all)) => all.into_iter().find(|one| one.partition == partition),
                _ => None,
            };
            let committed = committed.map_or(ownership.start, |offsets| offsets.committed);
            // No commit that holds an offset of it may land after it is given up: the next owner's would be undone.
            let close = |reply| OffsetsMessage::Close { partition: partition.clone(), epoch, reply };
            let _ = offsets.call(close, None).await;
            let _ = myself.cast(SupervisorMessage::GivenUp { key, committed });
        });
    }

    /// A partition is given up: nothing of it is handled or committed any more.
    pub(super) fn given_up(&self, myself: &Myself, state: &mut SupervisorState, key: OwnershipKey, committed: i64) {
        if state.current(&key).is_none() {
            return;
        }
        let Some(mut managed) = self.forget(state, &key.partition) else { return };
        self.events.emit(Event::Revoked { partition: key.partition.clone(), committed });
        if let Some(leaving) = managed.leaving.take() {
            self.released(state, vec![key.partition.clone(); leaving.answers as usize]);
            if let Some(topic_id) = leaving.again {
                self.claim(myself, state, vec![(key.partition, topic_id)]);
            }
        }
        self.check_drained(myself, state);
    }

    /// Drops a partition at once: it is not this consumer's any more.
    pub(super) fn lose(&self, state: &mut SupervisorState, partition: TopicPartition, reason: &str) {
        if let Some(membership) = &mut state.membership {
            membership.claims.remove(&partition);
        }
        let Some(mut managed) = self.forget(state, &partition) else { return };
        managed.ownership.lose();
        if let Phase::Running(actor) = &managed.phase {
            actor.kill();
        }
        self.ports.source.remove(&partition);
        let (epoch, stopping) = (managed.ownership.epoch, state.drain.is_some());
        let lost = OffsetsMessage::Lost { partition: partition.clone(), epoch, stopping };
        // A failed cast means that the offsets actor is gone, which its own end reports.
        let _ = state.offsets.cast(lost);
        managed.answer_seeker(Err(SeekError::NotAssigned { partition: partition.clone() }));
        self.events.emit(Event::Lost { partition: partition.clone(), reason: reason.to_owned() });
        if let Some(leaving) = managed.leaving {
            self.released(state, vec![partition; leaving.answers as usize]);
        }
    }

    fn forget(&self, state: &mut SupervisorState, partition: &TopicPartition) -> Option<Managed> {
        state.paused.remove(partition);
        let managed = state.partitions.remove(partition)?;
        managed.ownership.feed.close();
        Some(managed)
    }
}
