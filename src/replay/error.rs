use crate::broker::BrokerError;
use crate::record::TopicPartition;

/// Why dead letters cannot be read or replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A dead-letter topic does not exist.
    #[error("dead-letter topic {topic:?} does not exist: check its name (`bezoar topics` lists all)")]
    NoSuchTopic {
        /// The topic.
        topic: String,
    },
    /// There is no record at that place.
    #[error("there is no record at {at}: it was removed by retention, or never was")]
    NoSuchLetter {
        /// The place.
        at: String,
    },
    /// A partition is no longer what it was when reading began.
    #[error("{partition} changed while it was read ({problem}): run the command again")]
    Changed {
        /// The partition.
        partition: TopicPartition,
        /// What happened.
        problem: String,
    },
    /// The topic for replay marks cannot be used.
    #[error("topic {topic:?} for replay marks {problem}")]
    MarksTopic {
        /// The topic.
        topic: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The broker could not be asked, or refused.
    #[error(transparent)]
    Broker(#[from] BrokerError),
}
