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
    /// The same by reason.
    pub skips: SkipCounts,
    /// Dead letters that an earlier run had claimed when it ended without a word, or whose sending nobody answered, and that
    /// this run sent: their records may be there twice.
    pub maybe_doubled: Vec<RecordId>,
    /// How many ranges of the topics' logs are damaged and were passed over; the log tells which.
    pub unreadable: u64,
    /// Whether it was ended early: at its first failure, as it was told to, or by the signal of
    /// [`replay_until`](super::DeadLetters::replay_until). What it had not come to is as it was.
    pub stopped: bool,
}

impl ReplayReport {
    /// Counts what was decided of one dead letter.
    pub(super) fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Success(_) => self.success += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Skipped(skip) => {
                self.skipped += 1;
                *self.skips.of(skip) += 1;
            }
        }
    }
}

/// How many dead letters were left, by reason: see [`Skip`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[non_exhaustive]
pub struct SkipCounts {
    /// It was a dry run.
    pub dry_run: u64,
    /// They were replayed or discarded already.
    pub resolved: u64,
    /// Another run that goes on, or ended a moment ago, has claimed them.
    pub claimed: u64,
    /// They were replayed as often as is allowed.
    pub parked: u64,
    /// Their target is not allowed.
    pub not_allowed: u64,
    /// Their source is not known.
    pub no_source: u64,
}

impl SkipCounts {
    pub(crate) fn of(&mut self, skip: &Skip) -> &mut u64 {
        match skip {
            Skip::DryRun(_) => &mut self.dry_run,
            Skip::Resolved(_) => &mut self.resolved,
            Skip::Claimed(_) => &mut self.claimed,
            Skip::Parked(_) => &mut self.parked,
            Skip::NotAllowed(_) => &mut self.not_allowed,
            Skip::NoSource => &mut self.no_source,
        }
    }
}

/// What was decided of one dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The dead letter's own place.
    pub at: RecordId,
    /// Its short id, see [`short_id`](crate::dead_letter::short_id); `None` where its source is not known.
    pub id: Option<String>,
    /// Where its record goes, where that is known: `topic/partition`, or the topic.
    pub target: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// What somebody should know of it though it was sent: that it came through a retry topic, say.
    pub warning: Option<String>,
    /// Whether an earlier run may have sent it already.
    pub maybe_doubled: bool,
}

impl Progress {
    /// One event for each, with its id, its place and where it goes.
    pub(super) fn log(&self) {
        let Self { at, id, target, outcome, warning, maybe_doubled } = self;
        let (dead_letter, target) = (at, target.as_deref());
        match (outcome, warning) {
            (Outcome::Success(to), Some(warning)) => {
                tracing::warn!(%dead_letter, id, target, %to, maybe_doubled, "dead letter replayed, but {warning}");
            }
            (Outcome::Success(to), None) => {
                tracing::info!(%dead_letter, id, target, %to, maybe_doubled, "dead letter replayed");
            }
            (Outcome::Failed(reason), _) => {
                tracing::warn!(%dead_letter, id, target, "dead letter not replayed: {reason}")
            }
            (Outcome::Skipped(skip @ Skip::DryRun(_)), _) => tracing::info!(%dead_letter, id, target, "{skip}"),
            (Outcome::Skipped(skip), _) => tracing::debug!(%dead_letter, id, target, "dead letter left: {skip}"),
        }
    }
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
    /// Another run has claimed it, and goes on or ended a moment ago.
    #[error("being replayed by another run, {0}; should that have died, run the command again in half a minute")]
    Claimed(String),
    /// It was replayed as often as is allowed.
    #[error("parked: replayed {0} times already; raise the limit to replay it once more")]
    Parked(u32),
    /// Its target is not allowed.
    #[error("target {0:?} is not allowed: name it as an allowed target")]
    NotAllowed(String),
    /// Its source is not known, so that there is no target.
    #[error("its source is not known: name a target, and allow it")]
    NoSource,
}
