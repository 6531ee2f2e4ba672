use std::time::Duration;

use ractor::{ActorRef, rpc::CallResult};
use tokio::time::{Instant, timeout, timeout_at};

use super::actor::SupervisorActor;
use super::incarnations::wake;
use super::message::{Summary, SupervisorMessage};
use super::state::{Drain, Phase, SupervisorState};
use crate::event::Event;
use crate::offsets::OffsetsMessage;

type Myself = ActorRef<SupervisorMessage>;

/// How long the last commit may take, beyond the drain's deadline.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(10);

impl SupervisorActor {
    /// Stops the consumer for a reason of its own.
    pub(super) fn halt(&self, myself: &Myself, state: &mut SupervisorState, reason: String) {
        // Told even where a drain goes on already: the caller should know.
        state.halted.get_or_insert_with(|| reason.clone());
        self.begin_drain(myself, state, self.settings.drain_timeout, reason);
    }

    /// No partition takes a new record; those in flight finish.
    pub(super) fn begin_drain(&self, myself: &Myself, state: &mut SupervisorState, deadline: Duration, reason: String) {
        if state.drain.is_some() {
            return;
        }
        self.events.emit(Event::Stopping { reason });
        state.drain = Some(Drain { deadline: Instant::now() + deadline, dropped: Vec::new(), finishing: false });
        for (partition, managed) in &mut state.partitions {
            self.ports.source.remove(partition);
            managed.ownership.stop();
            match &managed.phase {
                Phase::Running(actor) => wake(actor),
                Phase::Waiting => managed.phase = Phase::Stopped,
                Phase::Pending | Phase::Stopped => {}
            }
        }
        myself.send_after(deadline, || SupervisorMessage::DrainDeadline);
        self.check_drained(myself, state);
    }

    /// Drops what still runs. A handler that blocks its thread cannot be dropped: nobody waits for it.
    pub(super) fn drain_deadline(&self, myself: &Myself, state: &mut SupervisorState) {
        let mut dropped = Vec::new();
        for (partition, managed) in &mut state.partitions {
            match std::mem::replace(&mut managed.phase, Phase::Stopped) {
                Phase::Stopped => continue,
                Phase::Running(actor) => actor.kill(),
                Phase::Pending | Phase::Waiting => {}
            }
            dropped.push(partition.clone());
        }
        if let Some(drain) = &mut state.drain {
            drain.dropped.extend(dropped);
        }
        self.check_drained(myself, state);
    }

    /// Once no partition has an actor, waits for dead letters and commits.
    pub(super) fn check_drained(&self, myself: &Myself, state: &mut SupervisorState) {
        let all_stopped = state.partitions.values().all(|managed| matches!(managed.phase, Phase::Stopped));
        let Some(drain) = state.drain.as_mut().filter(|drain| all_stopped && !drain.finishing) else { return };
        drain.finishing = true;
        let (deadline, dropped) = (drain.deadline, std::mem::take(&mut drain.dropped));
        let ownerships: Vec<_> = state.partitions.values().map(|managed| managed.ownership.clone()).collect();
        let (offsets, myself) = (state.offsets.clone(), myself.clone());
        tokio::spawn(async move {
            let acknowledged = async {
                for ownership in &ownerships {
                    ownership.all_acknowledged().await;
                }
            };
            // Past the deadline the records of what is left stay uncommitted.
            let _ = timeout_at(deadline, acknowledged).await;
            let unacknowledged = ownerships.iter().map(|ownership| ownership.unacknowledged()).sum();
            let flush = timeout(COMMIT_TIMEOUT, offsets.call(OffsetsMessage::Flush, None)).await;
            let committed = matches!(flush, Ok(Ok(CallResult::Success(()))));
            let snapshot = offsets.call(OffsetsMessage::Snapshot, Some(COMMIT_TIMEOUT)).await;
            let partitions = match snapshot {
                Ok(CallResult::Success(partitions)) => partitions,
                _ => Vec::new(),
            };
            let summary = Summary { partitions, dropped, unacknowledged, committed };
            let _ = myself.cast(SupervisorMessage::Drained(summary));
        });
    }
}
