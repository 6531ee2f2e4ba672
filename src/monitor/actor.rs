use std::sync::Arc;
use std::time::Duration;

use ractor::rpc::CallResult;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::alert::Alert;
use super::clock::Clock;
use super::gauges::Gauges;
use super::holds::Hold;
use super::margin::Position;
use super::message::{MonitorMessage, Seen, Surveyor};
use super::outbox::Outbox;
use super::plan::Plan;
use super::settings::MonitorSettings;
use super::state::{Signature, State};
use super::survey::{Look, Standing, Survey};
use crate::broker::{BrokerError, Ports};
use crate::event::Events;
use crate::isolation::guard::Guarded;
use crate::policy::DeadLetterTopics;
use crate::supervisor::{PartitionStatus, SupervisorMessage};

/// Watches the dead letters of a consumer. It decides nothing about records, and whatever becomes of it, the consumer goes on.
pub(crate) struct MonitorActor {
    pub(crate) settings: MonitorSettings,
    pub(crate) ports: Ports,
    pub(crate) events: Events,
    pub(crate) group: String,
    /// Who tells.
    pub(crate) consumer_id: String,
    pub(crate) plan: Plan,
    pub(crate) dead_letter_topics: DeadLetterTopics,
    /// Where sinks run: apart from the control plane, since they are users' code.
    pub(crate) runtime: Handle,
}

pub(crate) struct MonitorState {
    supervisor: ActorRef<SupervisorMessage>,
    clock: Clock,
    state: State,
    gauges: Gauges,
    outboxes: Vec<Outbox>,
    /// `None` while a look is under way.
    survey: Option<Box<Survey>>,
    /// How many looks in a row have failed; a streak is told once.
    failures: u32,
    /// For when it is woken, after the start.
    alarm: Option<Duration>,
    /// Waits for letters; ends with this.
    _listener: JoinSet<()>,
}

type Myself = ActorRef<MonitorMessage>;

#[cfg_attr(feature = "async-trait", ractor::async_trait)]
impl Actor for MonitorActor {
    type Msg = MonitorMessage;
    type State = MonitorState;
    type Arguments = ActorRef<SupervisorMessage>;

    async fn pre_start(
        &self,
        myself: Myself,
        supervisor: ActorRef<SupervisorMessage>,
    ) -> Result<MonitorState, ActorProcessingErr> {
        self.events.tap().listen(self.dead_letter_topics.clone());
        myself.send_interval(self.settings.limits.interval, || MonitorMessage::Tick);
        let (events, told) = (self.events.clone(), myself.clone());
        let mut listener = JoinSet::new();
        listener.spawn(async move {
            loop {
                events.tap().changed().await;
                // The actor is gone only when this is.
                let _ = told.cast(MonitorMessage::Tapped);
            }
        });
        let signature = Signature {
            source: self.consumer_id.as_str().into(),
            group: Some(self.group.clone()),
            tags: self.settings.tags.clone(),
        };
        let sinks = self.settings.all_sinks();
        Ok(MonitorState {
            supervisor,
            clock: Clock::new(),
            state: State::new(self.settings.limits.clone(), signature),
            gauges: Gauges::default(),
            outboxes: sinks.into_iter().map(|sink| Outbox::new(sink, &self.runtime)).collect(),
            survey: Some(Box::new(Survey::new(self.ports.clone()))),
            failures: 0,
            alarm: None,
            _listener: listener,
        })
    }

    async fn handle(
        &self,
        myself: Myself,
        message: MonitorMessage,
        state: &mut MonitorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            MonitorMessage::Tick => {
                self.holds(state);
                self.look(&myself, state);
            }
            MonitorMessage::Tapped => self.tapped(state),
            MonitorMessage::Due => {
                state.alarm = None;
                self.due(state);
            }
            MonitorMessage::Looked(surveyor, result) => {
                let survey = surveyor.map(|Surveyor(survey)| survey);
                state.survey = Some(survey.unwrap_or_else(|| Box::new(Survey::new(self.ports.clone()))));
                self.looked(state, result);
            }
            MonitorMessage::Flush(reply) => self.flush(state, reply),
        }
        state.arm(&myself);
        Ok(())
    }
}

impl MonitorActor {
    fn tapped(&self, state: &mut MonitorState) {
        let (now, letters) = (state.clock.now(), self.events.tap().take_letters());
        let alerts = state.state.letters(now, letters);
        state.send(alerts);
    }

    fn holds(&self, state: &mut MonitorState) {
        let held = self.events.present().held().into_iter();
        let holds = held.map(|((topic, source_partition), reason)| Hold { topic, source_partition, reason });
        let alerts = state.state.held(state.clock.now(), &holds.collect::<Vec<_>>());
        state.send(alerts);
    }

    fn due(&self, state: &mut MonitorState) {
        // Those that came since belong to the groups that end now.
        self.tapped(state);
        self.holds(state);
        let (alerts, over) = state.state.due(state.clock.now());
        state.send(alerts);
        over.iter().for_each(|group| self.events.tap().close(group));
    }

    /// Looks at the broker, in a task of its own: an answer may take its time.
    fn look(&self, myself: &Myself, state: &mut MonitorState) {
        // The one before is still under way.
        let Some(mut survey) = state.survey.take() else { return };
        let (supervisor, myself, plan) = (state.supervisor.clone(), myself.clone(), self.plan.clone());
        let (routed, wall) = (self.events.tap().routed(), state.clock.now().wall);
        tokio::spawn(async move {
            // An adapter's panic must not end the watch.
            let looking = Guarded::new(async move {
                let Some(partitions) = partitions(&supervisor).await else {
                    return (survey, Ok(Look::default()));
                };
                let asked = plan.topics(partitions.iter().map(|status| &status.partition), &routed);
                let look = survey.look(&asked, standings(&partitions), wall).await;
                let Ok(mut look) = look else { return (survey, look) };
                look.ours = partitions.into_iter().map(|status| status.partition).collect();
                // The broker answered later than the consumer: what was removed may have been settled in between.
                if look.positions.iter().any(Position::is_lost)
                    && let Some(partitions) = self::partitions(&supervisor).await
                {
                    look.settle(standings(&partitions));
                }
                (survey, Ok(look))
            });
            let (survey, look) = match looking.await {
                Ok((survey, look)) => (Some(Surveyor(survey)), look),
                Err(report) => {
                    let doing = "looking at the dead-letter topics".to_owned();
                    (
                        None,
                        Err(BrokerError::Malformed {
                            doing,
                            cause: format!("the adapter panicked: {}", report.message),
                        }),
                    )
                }
            };
            // The actor is gone only when the consumer is.
            let _ = myself.cast(MonitorMessage::Looked(survey, look.map(Seen)));
        });
    }

    fn looked(&self, state: &mut MonitorState, result: Result<Seen, BrokerError>) {
        let trouble = match result {
            Ok(Seen(look)) => {
                let now = state.clock.now();
                let mut alerts = state.state.read(now, look.readings, &look.unread);
                alerts.extend(state.state.positions(now, &look.ours, &look.positions));
                state.send(alerts);
                state.gauges.set(&state.state.health(now));
                look.trouble
            }
            Err(error) => Some(error),
        };
        match trouble {
            Some(error) => {
                state.failures = state.failures.saturating_add(1);
                if state.failures == 1 {
                    tracing::warn!(
                        "the monitor cannot look at all dead-letter topics, trying again at each interval: {error}"
                    );
                }
            }
            None if std::mem::take(&mut state.failures) > 0 => {
                tracing::info!("the monitor sees all dead-letter topics again");
            }
            None => {}
        }
    }

    /// Tells all that is left. The sinks are waited for elsewhere.
    fn flush(&self, state: &mut MonitorState, reply: RpcReplyPort<()>) {
        self.tapped(state);
        let alerts = state.state.flush(state.clock.now());
        state.send(alerts);
        let outboxes = std::mem::take(&mut state.outboxes);
        tokio::spawn(async move {
            Outbox::close_all(outboxes).await;
            // Nobody waits any more: no error.
            let _ = reply.send(());
        });
    }
}

impl MonitorState {
    fn send(&self, alerts: Vec<Alert>) {
        for alert in alerts.into_iter().map(Arc::new) {
            self.outboxes.iter().for_each(|outbox| outbox.push(Arc::clone(&alert)));
        }
    }

    /// Has it woken when something is due.
    fn arm(&mut self, myself: &Myself) {
        let Some(next) = self.state.next() else { return };
        if self.alarm.is_none_or(|alarm| next < alarm) {
            self.alarm = Some(next);
            let wait = next.saturating_sub(self.clock.now().elapsed);
            myself.send_after(wait, || MonitorMessage::Due);
        }
    }
}

/// What the consumer has; `None` once it has ended.
async fn partitions(supervisor: &ActorRef<SupervisorMessage>) -> Option<Vec<PartitionStatus>> {
    match supervisor.call(SupervisorMessage::Status, None).await {
        Ok(CallResult::Success(partitions)) => Some(partitions),
        _ => None,
    }
}

/// Where the partitions stand that are processed, or should be.
fn standings(partitions: &[PartitionStatus]) -> Vec<Standing> {
    let known = partitions.iter().filter(|status| status.watermark >= 0);
    let standing = |status: &PartitionStatus| {
        let end = status.log_end?;
        Some(Standing { partition: status.partition.clone(), watermark: status.watermark, end })
    };
    known.filter_map(standing).collect()
}
