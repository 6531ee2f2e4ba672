use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::words::{failure, is_missing, kind, left};
use crate::cli::exit::Exit;
use crate::cli::output::thousands;
use crate::record::RecordId;
use crate::replay::{Outcome, Progress, Skip, SkipCounts};

/// At most so many different reasons are counted by themselves.
const REASONS: usize = 20;
/// At most so many target topics are remembered.
const TARGETS: usize = 100;

/// What came of a replay so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Sent.
    pub(super) success: u64,
    /// Not sent.
    pub(super) failed: u64,
    /// Of those that failed: there is no dead letter at the place that was named.
    missing: u64,
    /// Left, for other reasons than that it is a dry run.
    pub(super) skipped: u64,
    /// Would be sent, were it no dry run.
    pub(super) planned: u64,
    /// Where they would be sent.
    pub(super) targets: BTreeSet<String>,
    failures: BTreeMap<String, u64>,
    skips: BTreeMap<String, u64>,
    kinds: SkipCounts,
}

impl Tally {
    pub(super) fn add(&mut self, progress: &Progress) {
        match &progress.outcome {
            Outcome::Success(_) => self.success += 1,
            Outcome::Failed(reason) => {
                self.failed += 1;
                self.missing += u64::from(is_missing(progress));
                add(&mut self.failures, failure(reason));
            }
            Outcome::Skipped(skip @ Skip::DryRun(target)) => {
                self.planned += 1;
                *self.kinds.of(skip) += 1;
                // The place of a partition: `orders/0`.
                let topic = target.split('/').next().unwrap_or_default();
                if self.targets.len() < TARGETS {
                    self.targets.insert(topic.to_owned());
                }
            }
            Outcome::Skipped(skip) => {
                self.skipped += 1;
                *self.kinds.of(skip) += 1;
                add(&mut self.skips, kind(skip));
            }
        }
    }

    /// How many were looked at.
    pub(super) fn all(&self) -> u64 {
        self.success + self.failed + self.skipped + self.planned
    }

    /// How the command ends.
    pub(super) fn exit(&self) -> Exit {
        match self.success + self.planned {
            0 if self.failed == self.missing => Exit::Nothing,
            _ if self.failed > 0 => Exit::Failed,
            _ => Exit::Done,
        }
    }

    /// The reasons, one line each.
    pub(super) fn reasons(&self) -> Vec<String> {
        let of = |title: &'static str, reasons: &BTreeMap<String, u64>| {
            let lines: Vec<_> =
                reasons.iter().map(|(reason, number)| format!("  {title} {}: {reason}", thousands(*number))).collect();
            lines
        };
        [of("failed", &self.failures), of("skipped", &self.skips)].concat()
    }
}

fn add(reasons: &mut BTreeMap<String, u64>, reason: String) {
    let reason =
        if reasons.len() < REASONS || reasons.contains_key(&reason) { reason } else { "other reasons".to_owned() };
    *reasons.entry(reason).or_default() += 1;
}

/// One dead letter of a replay as a JSON line.
#[derive(Debug, Serialize)]
pub(super) struct LetterJson<'a> {
    kind: &'static str,
    place: String,
    target: Option<&'a str>,
    outcome: &'static str,
    sent_to: Option<String>,
    reason: Option<String>,
    warning: Option<&'a str>,
    maybe_doubled: bool,
}

impl<'a> LetterJson<'a> {
    pub(super) fn new(progress: &'a Progress) -> Self {
        let (outcome, sent_to, reason) = match &progress.outcome {
            Outcome::Success(at) => ("success", Some(at.to_string()), None),
            Outcome::Failed(reason) => ("failed", None, Some(failure(reason))),
            // Its target says where to.
            Outcome::Skipped(Skip::DryRun(_)) => ("would_send", None, None),
            Outcome::Skipped(skip) => ("skipped", None, Some(left(skip))),
        };
        let (place, target) = (progress.at.to_string(), progress.target.as_deref());
        let (warning, maybe_doubled) = (progress.warning.as_deref(), progress.maybe_doubled);
        Self { kind: "letter", place, target, outcome, sent_to, reason, warning, maybe_doubled }
    }
}

/// What came of all, as the last JSON line.
#[derive(Debug, Serialize)]
pub(super) struct SummaryJson {
    kind: &'static str,
    success: u64,
    failed: u64,
    /// As the library counts: a dry run leaves all.
    skipped: u64,
    would_send: u64,
    skips: SkipCounts,
    dry_run: bool,
    interrupted: bool,
    maybe_doubled: Vec<String>,
}

impl SummaryJson {
    pub(super) fn new(tally: &Tally, dry_run: bool, interrupted: bool, maybe_doubled: &[RecordId]) -> Self {
        Self {
            kind: "summary",
            success: tally.success,
            failed: tally.failed,
            skipped: tally.skipped + tally.planned,
            would_send: tally.planned,
            skips: tally.kinds,
            dry_run,
            interrupted,
            maybe_doubled: maybe_doubled.iter().map(ToString::to_string).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::select::parse_place;

    fn progress(outcome: Outcome) -> Progress {
        let at = parse_place("o.dlq/0/1").unwrap();
        Progress { at, id: None, target: None, outcome, warning: None, maybe_doubled: false }
    }

    #[test]
    fn reasons_are_counted_and_bounded() {
        let mut tally = Tally::default();
        for number in 0..100 {
            tally.add(&progress(Outcome::Skipped(Skip::Resolved(format!("success: o/0/{number}")))));
            tally.add(&progress(Outcome::Failed(format!("reason {number}"))));
        }
        tally.add(&progress(Outcome::Skipped(Skip::DryRun("o/0".into()))));
        assert_eq!((tally.failed, tally.skipped, tally.planned, tally.all()), (100, 100, 1, 201));
        assert_eq!((tally.kinds.dry_run, tally.kinds.resolved, tally.kinds.parked), (1, 100, 0));
        let reasons = tally.reasons();
        assert_eq!(reasons.len(), REASONS + 2, "{reasons:?}");
        assert!(reasons.contains(&"  failed 80: other reasons".to_owned()), "{reasons:?}");
        assert!(reasons.contains(&"  skipped 100: resolved already (--again replays them)".to_owned()), "{reasons:?}");
        assert_eq!(tally.targets.into_iter().collect::<Vec<_>>(), ["o"]);
    }

    #[test]
    fn a_dead_letter_that_is_not_there_is_nothing_to_do() {
        let missing = || progress(Outcome::Failed("there is no dead letter at o.dlq/0/1".into()));
        let exit = |outcomes: Vec<Progress>| {
            let mut tally = Tally::default();
            outcomes.iter().for_each(|progress| tally.add(progress));
            tally.exit()
        };
        let left = || progress(Outcome::Skipped(Skip::NoSource));
        let planned = || progress(Outcome::Skipped(Skip::DryRun("o/0".into())));
        assert_eq!(exit(vec![missing(), left()]), Exit::Nothing);
        assert_eq!(exit(vec![missing(), planned()]), Exit::Failed);
        assert_eq!(exit(vec![missing(), progress(Outcome::Failed("no".into()))]), Exit::Failed);
        assert_eq!(exit(vec![left(), planned()]), Exit::Done);
    }
}
