use std::sync::Arc;

use super::letter::DeadLetter;
use crate::record::RecordId;

/// A dead letter in its dead-letter topic, and what became of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The dead letter's own place: what marks are keyed by and commands name, as `orders.dlq.poison/0/3`.
    pub at: RecordId,
    /// When it was published, in milliseconds since the Unix epoch (unless its writer kept the original's timestamp).
    pub timestamp: i64,
    /// The dead letter.
    pub letter: DeadLetter,
    /// What became of it.
    pub state: State,
    /// The earlier dead letter that this one repeats, where one that was read with it has the same source coordinates, topic id
    /// and group: the record was dead-lettered twice, since a consumer died in between. The two may tell of different failures.
    pub duplicate_of: Option<RecordId>,
}

/// What became of a dead letter, by its mark in the replays topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum State {
    /// Nothing yet.
    #[default]
    Unresolved,
    /// A run has claimed it and has not told the result: it may have been sent, or not.
    Claimed {
        /// The run.
        run: Arc<str>,
        /// When, in milliseconds since the Unix epoch.
        at: i64,
    },
    /// It was sent.
    Replayed {
        /// When, in milliseconds since the Unix epoch.
        at: i64,
        /// Where it is now.
        to: RecordId,
    },
    /// The last attempt to send it failed: it is still unresolved.
    Failed {
        /// When, in milliseconds since the Unix epoch.
        at: i64,
        /// Why.
        reason: String,
    },
    /// It was marked as resolved without being sent.
    Discarded {
        /// When, in milliseconds since the Unix epoch.
        at: i64,
        /// Why.
        reason: String,
    },
}

impl State {
    /// Whether nothing is left to be done: it was replayed or discarded.
    pub fn is_resolved(&self) -> bool {
        matches!(self, Self::Replayed { .. } | Self::Discarded { .. })
    }

    /// `success: topic/partition/offset`, `failed: reason` or `discarded: reason`; `None` where nothing was done yet.
    pub fn result(&self) -> Option<String> {
        match self {
            Self::Unresolved | Self::Claimed { .. } => None,
            Self::Replayed { to, .. } => Some(format!("success: {to}")),
            Self::Failed { reason, .. } => Some(format!("failed: {reason}")),
            Self::Discarded { reason, .. } => Some(format!("discarded: {reason}")),
        }
    }
}
