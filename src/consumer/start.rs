use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ractor::Actor;
use tokio::sync::watch;

use super::error::ConsumerError;
use super::membership::Assignment as Mode;
use super::prepare::{Preparation, Prepared, retriable, with_attempts};
use super::resolved::Resolved;
use super::subscription::{Subscribed, subscription};
use super::{Consumer, ConsumerHandle, monitor::monitor};
use crate::broker::Ports;
use crate::classifier::ClassifierActor;
use crate::dead_letter::{DeadLetterActor, Publisher};
use crate::event::{Event, Events};
use crate::handler::{Access, OriginSettings};
use crate::isolation::Planes;
use crate::metrics::keep_gauges;
use crate::offsets::OffsetsActor;
use crate::partition::{Hooks, TopicLimits};
use crate::policy::Backoff;
use crate::supervisor::{
    ControlActors, MembershipPlan, SupervisorActor, SupervisorMessage, SupervisorSettings, TopicPlan,
};

/// Waits between attempts to reach the broker at start.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_millis(250), 2.0, Duration::from_secs(5));

/// Gauges are set as often as offsets are committed, within these bounds.
const GAUGES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// Starts a consumer whose settings are checked.
pub(super) async fn start(
    settings: Resolved,
    topics: Vec<Subscribed>,
    hooks: Hooks,
    events: Events,
    ports: Option<Ports>,
) -> Result<Consumer, ConsumerError> {
    let planes = Planes::new(settings.isolation)?;
    let starting = planes.clone();
    // On the control plane: connections and actors live where they were made.
    let started = planes.control().spawn(async move {
        let preparation = Preparation { settings: &settings, topics: &topics, ports: ports.as_ref() };
        let mut attempt = 1;
        let prepared = loop {
            match preparation.prepare().await {
                Ok(prepared) => break prepared,
                Err(error) if retriable(&error) && attempt < settings.start_attempts => {
                    let wait = BACKOFF.delay(attempt, rand::random());
                    tracing::warn!(attempt, ?wait, "the consumer cannot start yet, trying again: {error}");
                    tokio::time::sleep(wait).await;
                    attempt += 1;
                }
                Err(error) => return Err(with_attempts(error, &settings.group, attempt)),
            }
        };
        let access = match ports {
            Some(ports) => Access::Given(ports),
            None => Access::Connect(settings.plane, Box::new(settings.connection.clone())),
        };
        launch(settings, topics, (hooks, events), (prepared, access), starting).await
    });
    started.await.map_err(|_| ConsumerError::Internal)?
}

async fn launch(
    settings: Resolved,
    topics: Vec<Subscribed>,
    (hooks, events): (Hooks, Events),
    (prepared, access): (Prepared, Access),
    planes: Planes,
) -> Result<Consumer, ConsumerError> {
    let Prepared { ports, keeper, assignments } = prepared;
    events.meter().begin(&settings.group, &settings.dead_letter_topics);
    let gauges_interval = settings.commit_interval.clamp(GAUGES.0, GAUGES.1);
    let membership = match settings.assignment {
        Mode::Manual => None,
        Mode::Group => Some(MembershipPlan {
            settings: settings.membership.resolve(&settings.group),
            subscription: subscription(&topics, &settings.dead_letter_topics),
        }),
    };
    let monitor = monitor(&settings, &topics, &ports, &events, &planes);
    let (finished, ended) = watch::channel(None);
    let closed = Arc::new(AtomicBool::new(false));
    let plans = topics.into_iter().map(|topic| TopicPlan {
        matches: topic.matches,
        spawner: topic.spawner,
        limits: TopicLimits { poison_timeout: topic.options.poison_timeout.unwrap_or(settings.poison_timeout) },
    });
    let actors = ControlActors {
        classifier: ClassifierActor { policies: settings.policies, rules: Arc::new(settings.rules) },
        dead_letter: DeadLetterActor {
            publisher: Arc::new(Publisher {
                produce: Arc::clone(&ports.produce),
                keeper,
                format: settings.format,
                group: settings.group.as_str().into(),
                consumer_id: settings.consumer_id.into(),
                consumer_version: settings.consumer_version.into(),
            }),
            events: events.clone(),
        },
        offsets: OffsetsActor {
            group: settings.group.clone(),
            store: Arc::clone(&ports.offsets),
            events: events.clone(),
            commit_interval: settings.commit_interval,
            closed: Arc::clone(&closed),
        },
        monitor,
    };
    let admin = Arc::clone(&ports.admin);
    let supervisor = SupervisorActor {
        ports,
        planes: planes.clone(),
        events: events.clone(),
        topics: plans.collect(),
        settings: SupervisorSettings {
            group: settings.group.clone(),
            membership,
            commit_every: settings.commit_every,
            offsets_recommit: settings.offsets_recommit,
            offset_reset: settings.offset_reset,
            feed_bytes: settings.feed_bytes,
            restart: settings.restart,
            drain_timeout: settings.drain_timeout,
            dead_letter_topics: settings.dead_letter_topics,
            origins: OriginSettings { access, trusted: settings.trusted_replays },
            max_unacknowledged: settings.max_unacknowledged,
            corrupt_batches: settings.corrupt_batches,
            buffer_bytes: settings.connection.produce.buffer_bytes,
        },
        hooks,
        closed: Arc::clone(&closed),
        finished,
    };
    let (supervisor, _join) = Actor::spawn(None, supervisor, actors).await.map_err(|_| ConsumerError::Internal)?;
    events.emit(Event::Started { group: settings.group, partitions: assignments.len() });
    if settings.assignment == Mode::Manual {
        supervisor.cast(SupervisorMessage::Assign(assignments)).map_err(|_| ConsumerError::Internal)?;
    }
    let member = settings.assignment != Mode::Manual;
    let handle = ConsumerHandle { supervisor, admin, events, member };
    if handle.meter().is_exporting() {
        tokio::spawn(keep_gauges(handle.clone(), gauges_interval));
    }
    Ok(Consumer::new(handle, (planes, closed), ended, settings.drain_timeout))
}
