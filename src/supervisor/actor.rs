use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::watch;

use super::membership::Membership;
use super::message::{Finished, SupervisorMessage};
use super::restart::RestartLog;
use super::settings::{ControlActors, SupervisorSettings, TopicPlan};
use super::state::{End, SupervisorState};
use crate::broker::Ports;
use crate::event::Events;
use crate::handler::Origins;
use crate::isolation::Planes;
use crate::offsets::{Committing, OffsetsMessage};
use crate::partition::{Hooks, PartitionContext, Sources};
use crate::producer::Producer;

/// Starts, restarts and stops the partition actors, and the control actors beside them.
pub(crate) struct SupervisorActor {
    pub(crate) ports: Ports,
    pub(crate) planes: Planes,
    pub(crate) events: Events,
    pub(crate) topics: Vec<TopicPlan>,
    pub(crate) settings: SupervisorSettings,
    pub(crate) hooks: Hooks,
    pub(crate) closed: Arc<AtomicBool>,
    /// Told once when the consumer has ended.
    pub(crate) finished: watch::Sender<Option<Finished>>,
}

#[cfg_attr(feature = "async-trait", ractor::async_trait)]
impl Actor for SupervisorActor {
    type Msg = SupervisorMessage;
    type State = SupervisorState;
    type Arguments = ControlActors;

    async fn pre_start(
        &self,
        myself: ActorRef<SupervisorMessage>,
        actors: ControlActors,
    ) -> Result<SupervisorState, ActorProcessingErr> {
        let cell = myself.get_cell();
        let commit_interval = actors.offsets.commit_interval;
        let (classifier, _) = Actor::spawn_linked(None, actors.classifier.clone(), (), cell.clone()).await?;
        let membership = self.settings.membership.as_ref().map(|_| Membership::new());
        let committing = Committing {
            member: membership.as_ref().map(|membership| membership.of_commits(&myself)),
            every: self.settings.commit_every,
            again: self.settings.offsets_recommit,
        };
        let (offsets, _) = Actor::spawn_linked(None, actors.offsets, committing, cell.clone()).await?;
        let dead_letters = (classifier.clone(), offsets.clone());
        let (dead_letters, _) = Actor::spawn_linked(None, actors.dead_letter, dead_letters, cell.clone()).await?;
        let mut control = vec![classifier.get_id(), offsets.get_id(), dead_letters.get_id()];
        let sources = Sources {
            names: self.topics.iter().map(|topic| topic.matches.clone()).collect(),
            subscription: self.settings.membership.as_ref().map(|plan| plan.subscription.clone()),
        };
        let mut context = PartitionContext {
            classifier,
            dead_letters,
            offsets: offsets.clone(),
            events: self.events.clone(),
            closed: Arc::clone(&self.closed),
            // So a slow record holds back what is committed before it by a tenth of the interval at most.
            report_interval: commit_interval / 10,
            report_records: self.settings.commit_every.unwrap_or(u64::MAX),
            producer: Producer::with_buffer(
                self.ports.clone(),
                self.planes.control().clone(),
                self.settings.buffer_bytes,
            ),
            origins: Origins::new(
                self.settings.origins.clone(),
                self.settings.dead_letter_topics.clone(),
                sources.clone(),
                self.planes.control().clone(),
            ),
            hooks: self.hooks.clone(),
            topics: self.settings.dead_letter_topics.clone(),
            sources,
            max_unacknowledged: self.settings.max_unacknowledged,
            corrupt_batches: self.settings.corrupt_batches,
        };
        let mut contexts = Vec::new();
        for lane in self.planes.lanes() {
            // ractor spawns on the runtime that polls this.
            let spawning = Actor::spawn_linked(None, actors.classifier.clone(), (), cell.clone());
            context.classifier = lane.spawn(spawning).await??.0;
            control.push(context.classifier.get_id());
            contexts.push(Arc::new(context.clone()));
        }
        let monitor = match actors.monitor {
            Some(monitor) => Some(Actor::spawn_linked(None, monitor, myself.clone(), cell).await?.0),
            None => None,
        };
        self.survey(&myself);
        Ok(SupervisorState {
            contexts,
            offsets,
            control,
            monitor,
            membership,
            partitions: BTreeMap::new(),
            by_actor: HashMap::new(),
            early: HashMap::new(),
            restarts: RestartLog::default(),
            epoch: 0,
            all_paused: false,
            paused: BTreeSet::new(),
            halted: None,
            drain: None,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<SupervisorMessage>,
        message: SupervisorMessage,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SupervisorMessage::Assign(assignments) => self.open(&myself, state, assignments),
            SupervisorMessage::Spawned { key, result } => self.spawned(&myself, state, &key, result),
            SupervisorMessage::Start(key) => self.start(&myself, state, &key),
            SupervisorMessage::RestartFailed { key, reason } => self.restart_later(&myself, state, &key, reason),
            SupervisorMessage::Source { key, problem } => self.source_problem(&myself, state, &key, problem),
            SupervisorMessage::Reassign { key, result } => self.reassign(&myself, state, &key, result),
            SupervisorMessage::Halt(reason) => self.halt(&myself, state, reason),
            SupervisorMessage::Drain { deadline } => {
                self.begin_drain(&myself, state, deadline, "asked to".to_owned());
            }
            SupervisorMessage::DrainDeadline => self.drain_deadline(&myself, state),
            SupervisorMessage::Drained(summary) => self.leave(&myself, state, summary),
            SupervisorMessage::Left(summary) => self.finish(&myself, state, summary),
            #[cfg(test)]
            SupervisorMessage::Scripted(group, reply) => {
                if let Some(membership) = &mut state.membership {
                    membership.actor = Some(group);
                    let _ = reply.send(Arc::clone(&membership.lease));
                }
            }
            SupervisorMessage::Surveyed(survey) => self.join(&myself, state, survey).await?,
            SupervisorMessage::Group(notice) => self.group(&myself, state, notice),
            SupervisorMessage::Resolved(resolved) => self.resolved(&myself, state, resolved),
            SupervisorMessage::Opened { key, result } => self.opened(&myself, state, &key, result),
            SupervisorMessage::Overdue(key) => self.overdue(&myself, state, &key),
            SupervisorMessage::GivenUp { key, committed } => self.given_up(&myself, state, key, committed),
            SupervisorMessage::CommitRefused(code) => self.commit_refused(state, code),
            SupervisorMessage::Pause { partitions, paused, reply } => self.pause(state, partitions, paused, reply),
            SupervisorMessage::Seek { partition, to, reply } => self.seek(&myself, state, partition, to, reply),
            SupervisorMessage::Found { key, result, seeker } => self.found(&myself, state, &key, result, seeker),
            SupervisorMessage::Status(reply) => self.status(state, reply),
            SupervisorMessage::Snapshot(reply) => {
                // If the offsets actor is gone, so is the reply, and the caller learns it.
                let _ = state.offsets.cast(OffsetsMessage::Snapshot(reply));
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<SupervisorMessage>,
        event: SupervisionEvent,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        let (actor, end) = match event {
            SupervisionEvent::ActorFailed(actor, error) => (actor, End::Failed(error)),
            SupervisionEvent::ActorTerminated(actor, _, _) => (actor, End::Stopped),
            _ => return Ok(()),
        };
        let id = actor.get_id();
        if state.membership.as_ref().is_some_and(|membership| membership.over && membership.is(id)) {
            // The group is left: its actor may end.
        } else if state.control.contains(&id) {
            let reason = match end {
                End::Failed(error) => format!("a control actor failed, which is a bug in bezoar: {error}"),
                End::Stopped => "a control actor stopped, which is a bug in bezoar".to_owned(),
            };
            self.halt(&myself, state, reason);
        } else if state.monitor.as_ref().is_some_and(|monitor| monitor.get_id() == id) {
            state.monitor = None;
            let reason = if let End::Failed(error) = end { error.to_string() } else { "it stopped".to_owned() };
            tracing::error!(
                "the monitor of dead letters failed, which is a bug in bezoar; the consumer goes on without: {reason}"
            );
        } else if let Some(key) = state.by_actor.remove(&id) {
            self.ended(&myself, state, &key, end);
        } else {
            state.early.insert(id, end);
        }
        Ok(())
    }
}
