use uuid::Uuid;

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
    /// The topic holds the marks of replays, not dead letters.
    #[error("topic {topic:?} holds the marks of what was replayed from {dead_letters:?}: name that one")]
    ReplaysTopic {
        /// The topic.
        topic: String,
        /// The dead-letter topic that the marks are for.
        dead_letters: String,
    },
    /// This client may not read the topic.
    #[error("topic {topic:?} may not be read by this client: grant it READ on the topic (kafka-acls)")]
    NotAllowed {
        /// The topic.
        topic: String,
    },
    /// The topic has no such partition.
    #[error("there is no partition {at}: the topic has {partitions} of them, counted from 0")]
    NoSuchPartition {
        /// The partition.
        at: TopicPartition,
        /// How many the topic has.
        partitions: i32,
    },
    /// There is no record at that place, though there are later ones.
    #[error(
        "there is no record at {at}: it is a transaction's marker, part of an aborted or open transaction, or was compacted away"
    )]
    NoSuchLetter {
        /// The place.
        at: String,
    },
    /// The record was removed by retention, or deleted.
    #[error("the record at {at} is gone by retention: the log begins at offset {log_start}")]
    Gone {
        /// The place.
        at: String,
        /// The first offset in the log.
        log_start: i64,
    },
    /// The log is not that long.
    #[error("there is no record at {at} yet: the log ends at offset {log_end} (exclusive)")]
    BeyondEnd {
        /// The place.
        at: String,
        /// The offset after the last.
        log_end: i64,
    },
    /// The topic was deleted and created anew since: its offsets mean other records.
    #[error("{at} was in a topic of id {asked}; the topic of that name has id {found} now: list its dead letters anew")]
    OtherTopic {
        /// The place.
        at: String,
        /// The id asked for.
        asked: Uuid,
        /// The id that the topic has.
        found: Uuid,
    },
    /// The log is damaged at that place.
    #[error("the record at {at} cannot be read: {reason}")]
    Unreadable {
        /// The place.
        at: String,
        /// What is wrong with it.
        reason: String,
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
    /// Nothing came for 30 s, though there should be records and nothing fails.
    #[error(
        "{partition} says nothing at offset {offset} though its log ends at {end}: is it read twice over the same ports? Else \
         look at the broker, and run the command again"
    )]
    Stalled {
        /// The partition.
        partition: TopicPartition,
        /// The offset waited for.
        offset: i64,
        /// The offset that was to be reached.
        end: i64,
    },
    /// The broker could not be asked, or refused.
    #[error(transparent)]
    Broker(#[from] BrokerError),
}
