use crate::record::RecordId;

/// What a replay did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReplayReport {
    /// How many were sent and acknowledged.
    pub success: u64,
    /// How many could not be sent or fixed; they stay unresolved.
    pub failed: u64,
    /// How many were left: a dry run, replayed already, parked, not allowed.
    pub skipped: u64,
    /// Dead letters that an earlier run had claimed when it ended without a word, and that this one sent: their records may be
    /// there twice.
    pub maybe_doubled: Vec<RecordId>,
}

/// What was decided of one dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The dead letter's own place.
    pub at: RecordId,
    /// Where its record goes, where that is known.
    pub target: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of one dead letter in a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Sent: the new record.
    Success(RecordId),
    /// Not sent, and why.
    Failed(String),
    /// Left, and why.
    Skipped(Skip),
}

/// Why a dead letter was left.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Skip {
    /// It is a dry run.
    #[error("dry run: would be sent to {0}")]
    DryRun(String),
    /// It is replayed or discarded already.
    #[error("resolved already ({0})")]
    Resolved(String),
    /// Another run that goes on has claimed it.
    #[error("being replayed by another run, {0}")]
    Claimed(String),
    /// It was replayed as often as is allowed.
    #[error("parked: replayed {0} times already")]
    Parked(u32),
    /// Its target is not allowed.
    #[error("target {0:?} is not allowed: name it as an allowed target")]
    NotAllowed(String),
}
