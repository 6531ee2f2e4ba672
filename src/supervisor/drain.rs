use std::time::Duration;

use ractor::{ActorRef, rpc::CallResult};
use tokio::time::{Instant, timeout, timeout_at};

use super::actor::SupervisorActor;
use super::incarnations::wake;
use super::message::{Finished, Summary, SupervisorMessage};
use super::state::{Drain, Phase, SupervisorState};
use super::status::SeekError;
use crate::event::Event;
use crate::monitor::{FLUSH_TIMEOUT, MonitorMessage};
use crate::offsets::OffsetsMessage;

type Myself = ActorRef<SupervisorMessage>;

/// How long the last commit may take, beyond the drain's deadline: when the consumer stops, and when a partition is revoked.
pub(crate) const COMMIT_TIMEOUT: Duration = Duration::from_secs(10);

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
        state.drain = Some(Drain {
            deadline: Instant::now() + deadline,
            dropped: Vec::new(),
            unacknowledged: 0,
            finishing: false,
        });
        if let Some(membership) = &mut state.membership {
            // Nothing of them was handled or committed yet.
            membership.claims.clear();
        }
        let mut running = 0;
        for (partition, managed) in &mut state.partitions {
            self.ports.source.remove(partition);
            managed.ownership.stop();
            managed.answer_seeker(Err(SeekError::Ended));
            match &managed.phase {
                Phase::Running(actor) => {
                    running += 1;
                    wake(actor);
                }
                Phase::Opening | Phase::Waiting => managed.phase = Phase::Stopped,
                Phase::Pending | Phase::Stopped => {}
            }
        }
        let limit = humantime::format_duration(deadline);
        tracing::info!(partitions = running, "records in flight may finish within {limit}");
        myself.send_after(deadline, || SupervisorMessage::DrainDeadline);
        self.check_drained(myself, state);
    }

    /// Drops what still runs. A handler that blocks its thread cannot be dropped: nobody waits for it.
    pub(super) fn drain_deadline(&self, myself: &Myself, state: &mut SupervisorState) {
        let (member, mut unacknowledged) = (state.membership.is_some(), 0);
        let mut dropped = Vec::new();
        for (partition, managed) in &mut state.partitions {
            if managed.is_stopped() || managed.is_leaving_alone() {
                continue;
            }
            if member {
                // Nothing that it returns later counts, nor is any of its dead letters sent.
                unacknowledged += managed.ownership.unacknowledged();
                managed.ownership.lose();
            }
            if let Phase::Running(actor) = std::mem::replace(&mut managed.phase, Phase::Stopped) {
                actor.kill();
            }
            dropped.push(partition.clone());
        }
        if let Some(drain) = &mut state.drain {
            drain.dropped.extend(dropped);
            drain.unacknowledged += unacknowledged;
        }
        self.check_drained(myself, state);
    }

    /// Once no partition has an actor, waits for dead letters and commits.
    pub(super) fn check_drained(&self, myself: &Myself, state: &mut SupervisorState) {
        // Those that are revoked come to an end by themselves.
        let all_stopped = state.partitions.values().all(|managed| managed.is_stopped() && !managed.is_leaving_alone());
        let Some(drain) = state.drain.as_mut().filter(|drain| all_stopped && !drain.finishing) else { return };
        drain.finishing = true;
        let (deadline, dropped, given_up) = (drain.deadline, std::mem::take(&mut drain.dropped), drain.unacknowledged);
        let ownerships: Vec<_> = state.partitions.values().map(|managed| managed.ownership.clone()).collect();
        let (offsets, myself, member) = (state.offsets.clone(), myself.clone(), state.membership.is_some());
        tokio::spawn(async move {
            let acknowledged = async {
                for ownership in &ownerships {
                    ownership.all_acknowledged().await;
                }
            };
            // Past the deadline the records of what is left stay uncommitted.
            let _ = timeout_at(deadline, acknowledged).await;
            let kept = ownerships.iter().filter(|ownership| !ownership.is_lost());
            let unacknowledged = given_up + kept.map(|ownership| ownership.unacknowledged()).sum::<usize>();
            if member {
                // Nothing is published once the group is left.
                ownerships.iter().for_each(|ownership| ownership.lose());
            }
            let flush = |reply| OffsetsMessage::Flush { ownership: None, reply };
            let flush = timeout(COMMIT_TIMEOUT, offsets.call(flush, None)).await;
            let committed = matches!(flush, Ok(Ok(CallResult::Success(true))));
            let snapshot = offsets.call(OffsetsMessage::Snapshot, Some(COMMIT_TIMEOUT)).await;
            let partitions = match snapshot {
                Ok(CallResult::Success(partitions)) => partitions,
                _ => Vec::new(),
            };
            let summary = Summary { partitions, dropped, unacknowledged, committed };
            let _ = myself.cast(SupervisorMessage::Drained(summary));
        });
    }

    /// The end, once the monitor has told what is left to be told.
    pub(super) fn finish(&self, myself: &Myself, state: &mut SupervisorState, summary: Summary) {
        if let Some(monitor) = state.monitor.take() {
            let myself = myself.clone();
            tokio::spawn(async move {
                // Sinks that take longer are left alone.
                let _ = monitor.call(MonitorMessage::Flush, Some(FLUSH_TIMEOUT)).await;
                let _ = myself.cast(SupervisorMessage::Left(summary));
            });
            return;
        }
        let (committed, dropped, unacknowledged) = (summary.committed, summary.dropped.len(), summary.unacknowledged);
        tracing::info!(committed, dropped, unacknowledged, "what was settled is committed, or not; what was left");
        self.events.emit(Event::Stopped);
        let halted = state.halted.take();
        self.finished.send_replace(Some(Finished { halted, summary }));
        myself.stop(None);
    }
}
