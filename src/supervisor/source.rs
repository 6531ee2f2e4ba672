use std::sync::Arc;
use std::time::Duration;

use ractor::ActorRef;
use uuid::Uuid;

use super::actor::SupervisorActor;
use super::incarnations::wake;
use super::message::{Assignment, OwnershipKey, Reassignment, SupervisorMessage};
use super::state::{Afterwards, NewStart, Phase, SupervisorState};
use crate::broker::{CommittedOffset, Ports, SourceProblem};
use crate::event::Event;
use crate::offsets::{OffsetReset, OffsetsMessage, ResolveError, choose, commit};
use crate::policy::Backoff;
use crate::record::TopicPartition;

/// Waits between attempts to find a new start offset.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_millis(200), 2.0, Duration::from_secs(10));

type Myself = ActorRef<SupervisorMessage>;

impl SupervisorActor {
    /// Does what is stated for each problem of reading; none ends in a loop.
    pub(super) fn source_problem(&self, state: &mut SupervisorState, key: &OwnershipKey, problem: SourceProblem) {
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
                Afterwards::Reset(
                    NewStart::ByPolicy(self.settings.offset_reset),
                    format!("offset {asked} is out of range, {range}"),
                )
            }
            SourceProblem::LogTruncated { asked, diverged_at } => Afterwards::Reset(
                NewStart::At(diverged_at),
                format!("the log was cut back below offset {asked}: from {diverged_at} on it holds other records"),
            ),
            SourceProblem::TopicRecreated => {
                // All of the new topic came after the old: `latest` would skip what came before this was noticed.
                let policy = match self.settings.offset_reset {
                    OffsetReset::Latest => OffsetReset::Earliest,
                    policy => policy,
                };
                Afterwards::Reset(NewStart::ByPolicy(policy), "the topic was deleted and created anew".to_owned())
            }
            SourceProblem::Failed(error) => Afterwards::GiveUp(format!("{partition} cannot be read: {error}")),
        };
        // What was fetched before is processed first: it is good.
        let Some(managed) = state.current(key) else { return };
        if matches!(managed.phase, Phase::Stopped) {
            // Given up, or the consumer stops: what was fetched is not handled, so no new start may pass it.
            return;
        }
        managed.afterwards = Some(afterwards);
        managed.ownership.finish();
        if let Phase::Running(actor) = &managed.phase {
            wake(actor);
        }
    }

    /// Finds the new start offset and commits it.
    pub(super) fn reset(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        key: &OwnershipKey,
        start: NewStart,
        reason: String,
    ) {
        let Some(managed) = state.current(key) else { return };
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
            let result = choose_and_commit(&ports, &group, &key.partition, start).await;
            let result = result.map(|(topic_id, to)| Reassignment { topic_id, from, to, reason });
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
        let Some(managed) = state.current(key) else { return };
        let topic_index = managed.topic_index;
        match result {
            Ok(Reassignment { topic_id, from, to, reason }) => {
                self.events.emit(Event::OffsetReset { partition: key.partition.clone(), from, to, reason });
                let partition = key.partition.clone();
                self.assign(myself, state, Assignment { partition, topic_id, start: to, reset: true, topic_index });
            }
            Err(reason) => self.halt(myself, state, reason),
        }
    }
}

/// Tries for as long as the broker may come back: the partition has nothing else to do.
async fn choose_and_commit(
    ports: &Ports,
    group: &str,
    partition: &TopicPartition,
    start: NewStart,
) -> Result<(Option<Uuid>, i64), String> {
    let mut failures = 0;
    loop {
        let error = match try_choose(ports, group, partition, start).await {
            Ok(chosen) => return Ok(chosen),
            Err(ResolveError::Broker(error)) if error.is_retriable() => error,
            Err(error) => return Err(format!("{partition} cannot go on: {error}")),
        };
        failures += 1;
        let wait = BACKOFF.delay(failures, rand::random());
        tracing::warn!(%partition, ?wait, "a new start offset cannot be found yet, trying again: {error}");
        tokio::time::sleep(wait).await;
    }
}

async fn try_choose(
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
    let start = CommittedOffset::new(partition.clone(), offset);
    commit(ports, group, vec![start]).await?;
    Ok((topic.and_then(|topic| topic.id), offset))
}
