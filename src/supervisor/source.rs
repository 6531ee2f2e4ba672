use std::sync::Arc;
use std::time::Duration;

use ractor::ActorRef;
use uuid::Uuid;

use super::actor::SupervisorActor;
use super::incarnations::wake;
use super::message::{Assignment, OwnershipKey, Reassignment, SupervisorMessage};
use super::state::{Afterwards, NewStart, Phase, SupervisorState, Why};
use crate::broker::{Ports, SourceProblem};
use crate::event::Event;
use crate::offsets::{Beginning, OffsetReset, OffsetsMessage, ResolveError, choose};
use crate::partition::Ownership;
use crate::policy::Backoff;
use crate::record::TopicPartition;

/// Waits between attempts to find a new start offset.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_millis(200), 2.0, Duration::from_secs(10));

type Myself = ActorRef<SupervisorMessage>;

impl SupervisorActor {
    /// Does what is stated for each problem of reading; none ends in a loop.
    pub(super) fn source_problem(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        key: &OwnershipKey,
        problem: SourceProblem,
    ) {
        let partition = key.partition.clone();
        if state.current(key).is_none() {
            return;
        }
        let afterwards = match problem {
            SourceProblem::Retrying(error) => {
                return self.events.emit(Event::ReadFailing { partition, reason: error.to_string() });
            }
            SourceProblem::Recovered => return self.events.emit(Event::ReadRecovered { partition }),
            SourceProblem::OffsetOutOfRange { asked, log_start, log_end } => {
                let range = match (log_start, log_end) {
                    (Some(start), Some(end)) => format!("the log holds {start} to {end} (exclusive)"),
                    _ => "the log's range is unknown".to_owned(),
                };
                Afterwards::Move(
                    NewStart::ByPolicy(self.settings.offset_reset),
                    Why::Reset(format!("offset {asked} is out of range, {range}")),
                )
            }
            SourceProblem::LogTruncated { asked, diverged_at } => Afterwards::Move(
                NewStart::At(diverged_at),
                Why::Reset(format!(
                    "the log was cut back below offset {asked}: from {diverged_at} on it holds other records"
                )),
            ),
            SourceProblem::TopicRecreated if state.is_by_ids() => return self.release_recreated(myself, state, key),
            SourceProblem::TopicRecreated => {
                // All of the new topic came after the old: `latest` would skip what came before this was noticed.
                let policy = match self.settings.offset_reset {
                    OffsetReset::Latest => OffsetReset::Earliest,
                    policy => policy,
                };
                let why = "the topic was deleted and created anew".to_owned();
                Afterwards::Move(NewStart::ByPolicy(policy), Why::Reset(why))
            }
            SourceProblem::Failed(error) => Afterwards::GiveUp(format!("{partition} cannot be read: {error}")),
        };
        // What was fetched before is processed first: it is good.
        let Some(managed) = state.current(key) else { return };
        if managed.is_stopped() || managed.ownership.is_stopping() {
            // Given up, or it goes elsewhere: what was fetched is not handled, so no new start may pass it.
            return;
        }
        managed.afterwards = Some(afterwards);
        managed.ownership.finish();
        if let Phase::Running(actor) = &managed.phase {
            wake(actor);
        }
    }

    /// Finds the new start offset and has the partition go on there.
    pub(super) fn move_to(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        key: &OwnershipKey,
        start: NewStart,
        why: Why,
    ) {
        let Some(managed) = state.current(key) else { return };
        managed.moving = true;
        managed.ownership.stop();
        managed.ownership.feed.close();
        let (from, ownership) = (managed.ownership.position(), Arc::clone(&managed.ownership));
        self.ports.source.remove(&key.partition);
        let (ports, group) = (self.ports.clone(), self.settings.group.clone());
        let (myself, key, offsets) = (myself.clone(), key.clone(), state.offsets.clone());
        tokio::spawn(async move {
            // A commit under way could land after that of the new start, and be ahead of what is then read. If the actor
            // is gone, the consumer ends.
            let (partition, epoch) = (key.partition.clone(), key.epoch);
            let _ = offsets.call(|reply| OffsetsMessage::Close { partition, epoch, reply }, None).await;
            // The new start may lie past dead letters that the broker has not acknowledged: it is not committed before.
            ownership.all_acknowledged().await;
            if ownership.is_lost() {
                return;
            }
            let result = look(&ports, &group, &key.partition, start, &ownership).await;
            let result = result.map(|(topic_id, to)| Reassignment { topic_id, from, to, why });
            let _ = myself.cast(SupervisorMessage::Reassign { key, result });
        });
    }

    pub(super) fn reassign(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        key: &OwnershipKey,
        result: Result<Reassignment, String>,
    ) {
        let (draining, by_ids) = (state.drain.is_some(), state.is_by_ids());
        let Some(managed) = state.current(key).filter(|managed| managed.leaving.is_none() && !draining) else { return };
        if let Ok(Reassignment { topic_id: Some(found), .. }) = &result
            && by_ids
            && managed.topic_id.is_some_and(|id| id != *found)
        {
            return self.release_recreated(myself, state, key);
        }
        let (topic_index, seeker) = (managed.topic_index, managed.seeker.take());
        let tenure = managed.ownership.tenure();
        let Reassignment { topic_id, from, to, why } = match result {
            Ok(reassignment) => reassignment,
            Err(reason) => return self.halt(myself, state, reason),
        };
        let partition = key.partition.clone();
        let reset = why != Why::Sought;
        self.events.emit(match why {
            Why::Sought => Event::Sought { partition: partition.clone(), from, to },
            Why::Reset(reason) => Event::OffsetReset { partition: partition.clone(), from, to, reason },
        });
        let beginning = Beginning::chosen(to);
        let assignment = Assignment { partition: partition.clone(), topic_id, topic_index, beginning, reset, tenure };
        self.open(myself, state, vec![assignment]);
        if let Some(managed) = state.partitions.get_mut(&partition) {
            // Told once the new start is committed.
            managed.seeker = seeker;
        }
    }
}

/// Tries for as long as the broker may come back: the partition has nothing else to do.
async fn look(
    ports: &Ports,
    group: &str,
    partition: &TopicPartition,
    start: NewStart,
    ownership: &Ownership,
) -> Result<(Option<Uuid>, i64), String> {
    let mut failures = 0;
    loop {
        let error = match try_look(ports, group, partition, start).await {
            Ok(chosen) => return Ok(chosen),
            Err(ResolveError::Broker(error)) if error.is_retriable() && !ownership.is_lost() => error,
            Err(error) => return Err(format!("{partition} cannot go on: {error}")),
        };
        failures += 1;
        let wait = BACKOFF.delay(failures, rand::random());
        tracing::warn!(%partition, ?wait, "a new start offset cannot be found yet, trying again: {error}");
        tokio::time::sleep(wait).await;
    }
}

async fn try_look(
    ports: &Ports,
    group: &str,
    partition: &TopicPartition,
    start: NewStart,
) -> Result<(Option<Uuid>, i64), ResolveError> {
    let topic = ports.admin.topics(vec![partition.topic().to_owned()]).await?.pop().flatten();
    let offset = match start {
        NewStart::ByPolicy(policy) => choose(ports, group, partition, policy).await?,
        NewStart::At(offset) => offset,
    };
    Ok((topic.and_then(|topic| topic.id), offset))
}
