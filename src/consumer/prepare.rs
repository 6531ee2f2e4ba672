use std::sync::Arc;

use super::error::ConsumerError;
use super::membership::{Assignment as Mode, MissingTopics};
use super::resolved::Resolved;
use super::subscription::Subscribed;
use crate::broker::{BrokerError, Ports, TopicMetadata};
use crate::dead_letter::{DeadLetterTopicError, TopicKeeper};
use crate::offsets::{OffsetReset, ResolveError, no_offset, resolve};
use crate::policy::{Action, Category, ConfigError};
use crate::record::TopicPartition;
use crate::supervisor::Assignment;

/// The broker's error within, whichever step it came from.
fn broker_error(error: &ConsumerError) -> Option<&BrokerError> {
    match error {
        ConsumerError::Broker { error, .. }
        | ConsumerError::DeadLetterTopic(DeadLetterTopicError::Broker(error))
        | ConsumerError::Offset(ResolveError::Broker(error)) => Some(error),
        _ => None,
    }
}

pub(super) fn retriable(error: &ConsumerError) -> bool {
    broker_error(error).is_some_and(BrokerError::is_retriable)
}

pub(super) fn with_attempts(error: ConsumerError, group: &str, attempts: u32) -> ConsumerError {
    match broker_error(&error) {
        Some(broker) => ConsumerError::Broker { group: group.to_owned(), attempts, error: broker.clone() },
        None => error,
    }
}

/// Looks at everything that the broker tells before anything is started.
pub(super) struct Preparation<'a> {
    pub(super) settings: &'a Resolved,
    pub(super) topics: &'a [Subscribed],
    /// Ports to use instead of connecting.
    pub(super) ports: Option<&'a Ports>,
}

/// What was found.
pub(super) struct Prepared {
    pub(super) ports: Ports,
    pub(super) keeper: Arc<TopicKeeper>,
    /// The partitions to process; a member of the group learns its own later.
    pub(super) assignments: Vec<Assignment>,
}

/// A partition of one of the consumer's topics.
struct Found {
    partition: TopicPartition,
    topic_id: Option<uuid::Uuid>,
    topic_index: usize,
}

impl Preparation<'_> {
    /// Connects, and checks topics, dead-letter topics and the group's offsets.
    pub(super) async fn prepare(&self) -> Result<Prepared, ConsumerError> {
        let ports = match self.ports {
            Some(ports) => ports.clone(),
            None => {
                let mut connection = self.settings.connection.clone();
                // One that is lost leaves time for two more.
                connection.heartbeat_timeout = self.settings.membership.lease() / 3;
                self.settings.plane.connect(connection).await.map_err(|error| self.broker(error))?
            }
        };
        let member = self.settings.assignment != Mode::Manual;
        if member && ports.membership.is_none() {
            let remedy = "set it to \"manual\" (.assignment(Assignment::Manual)), or use ports with `membership`";
            let problem = "cannot be had from these ports, which lack `membership`";
            return Err(ConfigError::new("assignment", "group", problem, remedy).into());
        }
        let keeper = Arc::new(TopicKeeper::new(Arc::clone(&ports.admin), self.settings.creation.clone()));
        let found = self.topics(&ports, &keeper).await?;
        let assignments = if member {
            self.offsets(&ports, found).await?;
            Vec::new()
        } else {
            self.assignments(&ports, found).await?
        };
        Ok(Prepared { ports, keeper, assignments })
    }

    /// The partitions of all topics that are named. Their dead-letter topics are checked, and made if missing; those of topics
    /// that are not there yet, and of a pattern's, are when their first dead letter comes.
    async fn topics(&self, ports: &Ports, keeper: &TopicKeeper) -> Result<Vec<Found>, ConsumerError> {
        let named: Vec<_> = self.topics.iter().enumerate().filter_map(|(at, it)| Some((at, it, it.name()?))).collect();
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let names = named.iter().map(|(_, _, name)| (*name).to_owned()).collect();
        let metadata = ports.admin.topics(names).await.map_err(|error| self.broker(error))?;
        let mut found = Vec::new();
        let mut there = Vec::new();
        for ((topic_index, topic, name), metadata) in named.into_iter().zip(metadata) {
            let Some(metadata) = metadata else {
                if self.settings.membership.missing_topics == MissingTopics::Wait {
                    continue;
                }
                let brokers =
                    if self.ports.is_some() { Vec::new() } else { self.settings.connection.bootstrap.clone() };
                return Err(ConsumerError::MissingTopic { topic: name.to_owned(), brokers });
            };
            if metadata.operations.is_some_and(|operations| !operations.may_read()) {
                return Err(ConsumerError::MayNotRead { topic: name.to_owned() });
            }
            for partition in partitions_of(topic, &metadata)? {
                let partition = TopicPartition::new(name, partition);
                found.push(Found { partition, topic_id: metadata.id, topic_index });
            }
            there.push(name);
        }
        for name in there {
            self.dead_letter_topics(keeper, name).await?;
        }
        Ok(found)
    }

    /// Every topic that a policy may send a dead letter to is checked, and made if missing.
    async fn dead_letter_topics(&self, keeper: &TopicKeeper, topic: &str) -> Result<(), ConsumerError> {
        for category in Category::ALL {
            if self.settings.policies.policy(category).action == Action::DeadLetter {
                let name = self.settings.dead_letter_topics.topic_for(topic, category);
                keeper.partitions(topic, &name).await?;
            }
        }
        Ok(())
    }

    /// Asks for the group's offsets: so that a right that is missing, and offsets that must be there, are told at the start.
    async fn offsets(&self, ports: &Ports, found: Vec<Found>) -> Result<(), ConsumerError> {
        if found.is_empty() {
            return Ok(());
        }
        let group = &self.settings.group;
        let partitions: Vec<_> = found.into_iter().map(|found| found.partition).collect();
        let committed = ports.offsets.fetch(group.clone(), partitions.clone()).await.map_err(ResolveError::from)?;
        let without = partitions.iter().zip(committed).find(|(_, committed)| committed.is_none());
        match without {
            Some((partition, _)) if self.settings.offset_reset == OffsetReset::None => {
                Err(no_offset(ports, group, partition, None).await.map_err(ResolveError::from)?.into())
            }
            _ => Ok(()),
        }
    }

    /// Finds where each partition starts.
    async fn assignments(&self, ports: &Ports, found: Vec<Found>) -> Result<Vec<Assignment>, ConsumerError> {
        let wanted = found.iter().map(|found| found.partition.clone()).collect();
        let starts = resolve(ports, &self.settings.group, wanted, self.settings.offset_reset).await?;
        let assignments =
            starts.into_iter().zip(found).map(|(start, Found { partition, topic_id, topic_index })| Assignment {
                partition,
                topic_id,
                beginning: start.beginning,
                reset: start.reset,
                topic_index,
                tenure: None,
            });
        Ok(assignments.collect())
    }

    fn broker(&self, error: BrokerError) -> ConsumerError {
        ConsumerError::Broker { group: self.settings.group.clone(), attempts: 1, error }
    }
}

fn partitions_of(topic: &Subscribed, metadata: &TopicMetadata) -> Result<Vec<i32>, ConsumerError> {
    let Some(listed) = &topic.options.partitions else { return Ok((0..metadata.partitions).collect()) };
    match listed.iter().find(|partition| **partition >= metadata.partitions) {
        Some(&partition) => {
            let (topic, partitions) = (metadata.name.clone(), metadata.partitions);
            Err(ConsumerError::MissingPartition { topic, partition, partitions })
        }
        None => Ok(listed.clone()),
    }
}
