use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ractor::Actor;
use tokio::sync::watch;

use super::Consumer;
use super::error::ConsumerError;
use super::resolved::Resolved;
use super::topic::TopicEntry;
use crate::broker::{BrokerError, Ports, TopicMetadata};
use crate::classifier::ClassifierActor;
use crate::dead_letter::{DeadLetterActor, DeadLetterTopicError, Publisher, TopicKeeper};
use crate::event::{Event, Events};
use crate::isolation::Planes;
use crate::offsets::{OffsetsActor, ResolveError, resolve};
use crate::partition::{Hooks, TopicLimits};
use crate::policy::{Action, Backoff, Category};
use crate::record::TopicPartition;
use crate::supervisor::{Assignment, ControlActors, SupervisorActor, SupervisorMessage, SupervisorSettings, TopicPlan};

/// Waits between attempts to reach the broker at start.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_millis(250), 2.0, Duration::from_secs(5));

/// Starts a consumer whose settings are checked.
pub(super) async fn start(
    settings: Resolved,
    topics: Vec<TopicEntry>,
    hooks: Hooks,
    events: Events,
    ports: Option<Ports>,
) -> Result<Consumer, ConsumerError> {
    let planes = Planes::new(settings.isolation)?;
    let starting = planes.clone();
    // On the control plane: connections and actors live where they were made.
    let started = planes.control().spawn(async move {
        let preparation = Preparation { settings: &settings, topics: &topics };
        let mut attempt = 1;
        let (ports, assignments, keeper) = loop {
            match preparation.prepare(ports.clone()).await {
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
        launch(settings, topics, hooks, events, ports, assignments, keeper, starting).await
    });
    started.await.map_err(|_| ConsumerError::Internal)?
}

/// The broker's error within, whichever step it came from.
fn broker_error(error: &ConsumerError) -> Option<&BrokerError> {
    match error {
        ConsumerError::Broker { error, .. }
        | ConsumerError::DeadLetterTopic(DeadLetterTopicError::Broker(error))
        | ConsumerError::Offset(ResolveError::Broker(error)) => Some(error),
        _ => None,
    }
}

fn retriable(error: &ConsumerError) -> bool {
    broker_error(error).is_some_and(BrokerError::is_retriable)
}

fn with_attempts(error: ConsumerError, group: &str, attempts: u32) -> ConsumerError {
    match broker_error(&error) {
        Some(broker) => ConsumerError::Broker { group: group.to_owned(), attempts, error: broker.clone() },
        None => error,
    }
}

struct Preparation<'a> {
    settings: &'a Resolved,
    topics: &'a [TopicEntry],
}

impl Preparation<'_> {
    /// Connects, and checks everything that the broker tells: topics, dead-letter topics, the group's offsets.
    async fn prepare(&self, ports: Option<Ports>) -> Result<(Ports, Vec<Assignment>, Arc<TopicKeeper>), ConsumerError> {
        let ports = match ports {
            Some(ports) => ports,
            None => {
                let connection = self.settings.connection.clone();
                self.settings.plane.connect(connection).await.map_err(|error| self.broker(error))?
            }
        };
        let names: Vec<String> = self.topics.iter().map(|topic| topic.name.clone()).collect();
        let found = ports.admin.topics(names).await.map_err(|error| self.broker(error))?;
        let mut partitions = Vec::new();
        for (topic_index, (topic, metadata)) in self.topics.iter().zip(found).enumerate() {
            let metadata = metadata.ok_or_else(|| ConsumerError::MissingTopic { topic: topic.name.clone() })?;
            if metadata.operations.is_some_and(|operations| !operations.may_read()) {
                return Err(ConsumerError::MayNotRead { topic: topic.name.clone() });
            }
            for partition in partitions_of(topic, &metadata)? {
                partitions.push((TopicPartition::new(topic.name.as_str(), partition), metadata.id, topic_index));
            }
        }
        let keeper = Arc::new(TopicKeeper::new(Arc::clone(&ports.admin), self.settings.creation.clone()));
        self.dead_letter_topics(&keeper).await?;
        let wanted = partitions.iter().map(|(partition, ..)| partition.clone()).collect();
        let starts = resolve(&ports, &self.settings.group, wanted, self.settings.offset_reset).await?;
        let assignments = starts.into_iter().zip(partitions).map(|(start, (partition, topic_id, topic_index))| {
            Assignment { partition, topic_id, start: start.offset, reset: start.reset, topic_index }
        });
        Ok((ports, assignments.collect(), keeper))
    }

    /// Every topic that a policy may send a dead letter to is checked, and made if missing.
    async fn dead_letter_topics(&self, keeper: &TopicKeeper) -> Result<(), ConsumerError> {
        for topic in self.topics {
            for category in Category::ALL {
                if self.settings.policies.policy(category).action == Action::DeadLetter {
                    let name = self.settings.dead_letter_topics.topic_for(&topic.name, category);
                    keeper.partitions(&topic.name, &name).await?;
                }
            }
        }
        Ok(())
    }

    fn broker(&self, error: BrokerError) -> ConsumerError {
        ConsumerError::Broker { group: self.settings.group.clone(), attempts: 1, error }
    }
}

fn partitions_of(topic: &TopicEntry, metadata: &TopicMetadata) -> Result<Vec<i32>, ConsumerError> {
    let Some(listed) = &topic.options.partitions else { return Ok((0..metadata.partitions).collect()) };
    match listed.iter().find(|partition| **partition >= metadata.partitions) {
        Some(&partition) => {
            let (topic, partitions) = (topic.name.clone(), metadata.partitions);
            Err(ConsumerError::MissingPartition { topic, partition, partitions })
        }
        None => Ok(listed.clone()),
    }
}

#[allow(clippy::too_many_arguments)] // each is handed over once, here
async fn launch(
    settings: Resolved,
    topics: Vec<TopicEntry>,
    hooks: Hooks,
    events: Events,
    ports: Ports,
    assignments: Vec<Assignment>,
    keeper: Arc<TopicKeeper>,
    planes: Planes,
) -> Result<Consumer, ConsumerError> {
    let (finished, ended) = watch::channel(None);
    let closed = Arc::new(AtomicBool::new(false));
    let plans = topics.into_iter().map(|topic| TopicPlan {
        name: topic.name,
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
    };
    let admin = Arc::clone(&ports.admin);
    let supervisor = SupervisorActor {
        ports,
        planes: planes.clone(),
        events: events.clone(),
        topics: plans.collect(),
        settings: SupervisorSettings {
            group: settings.group.clone(),
            offset_reset: settings.offset_reset,
            feed_bytes: settings.feed_bytes,
            restart: settings.restart,
            drain_timeout: settings.drain_timeout,
            dead_letter_topics: settings.dead_letter_topics,
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
    supervisor.cast(SupervisorMessage::Assign(assignments)).map_err(|_| ConsumerError::Internal)?;
    Ok(Consumer::new(supervisor, admin, (planes, closed), events, ended, settings.drain_timeout))
}
