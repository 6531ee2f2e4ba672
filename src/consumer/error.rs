use std::fmt;

use crate::broker::BrokerError;
use crate::dead_letter::DeadLetterTopicError;
use crate::offsets::ResolveError;
use crate::policy::ConfigError;
use crate::supervisor::Summary;

fn tried(attempts: u32) -> String {
    if attempts > 1 { format!(", after {attempts} attempts") } else { String::new() }
}

fn at(brokers: &[String]) -> String {
    if brokers.is_empty() { String::new() } else { format!(" on the cluster at {}", brokers.join(", ")) }
}

/// Why a consumer could not start, or ended.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ConsumerError {
    /// A setting cannot be used; nothing was started.
    #[error("invalid configuration: {0}")]
    Config(#[from] ConfigError),
    /// The consumer's own threads could not be started.
    #[error("starting the consumer's runtimes: {0}; check the limits on threads and open files")]
    Runtime(#[from] std::io::Error),
    /// The broker could not be reached, or refused, while starting.
    #[error("starting consumer group {group:?}{}: {error}", tried(*.attempts))]
    Broker {
        /// The group.
        group: String,
        /// How many times it was tried.
        attempts: u32,
        /// The last error.
        error: BrokerError,
    },
    /// A topic to be read does not exist.
    #[error(
        "topic {topic:?} does not exist{}, or may not be seen: create it, correct its name, or grant Describe on it; or have it waited for (missing_topics = \"wait\")",
        at(.brokers)
    )]
    MissingTopic {
        /// The topic.
        topic: String,
        /// The addresses by which the cluster was reached; none where ports were given.
        brokers: Vec<String>,
    },
    /// The broker says that a topic may not be read.
    #[error("topic {topic:?} may not be read: grant Read on it to the user that this service connects as")]
    MayNotRead {
        /// The topic.
        topic: String,
    },
    /// A partition to be read does not exist.
    #[error("topic {topic:?} has no partition {partition}, it has {partitions} (counted from 0)")]
    MissingPartition {
        /// The topic.
        topic: String,
        /// The partition asked for.
        partition: i32,
        /// How many it has.
        partitions: i32,
    },
    /// A dead-letter topic cannot be used.
    #[error(transparent)]
    DeadLetterTopic(#[from] DeadLetterTopicError),
    /// No start offset could be found for a partition.
    #[error(transparent)]
    Offset(#[from] ResolveError),
    /// The consumer stopped by itself, cleanly: what was settled is committed as the summary says.
    #[error("the consumer stopped: {reason}")]
    Halted {
        /// Why.
        reason: String,
        /// What it left.
        summary: Box<Summary>,
    },
    /// A part of the framework ended that never should; nothing unsettled was committed.
    #[error("the consumer's supervisor ended unexpectedly, which is a bug in bezoar")]
    Internal,
}

/// As it displays: `main` prints what it returns this way, and the remedy shall be seen there.
impl fmt::Debug for ConsumerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
