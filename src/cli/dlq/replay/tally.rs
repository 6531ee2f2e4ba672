use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::cli::output::{count, thousands};
use crate::record::RecordId;
use crate::replay::{Outcome, Progress, Skip};

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
    /// Left, for other reasons than that it is a dry run.
    pub(super) skipped: u64,
    /// Would be sent, were it no dry run.
    pub(super) planned: u64,
    /// Where they would be sent.
    pub(super) targets: BTreeSet<String>,
    failures: BTreeMap<String, u64>,
    skips: BTreeMap<String, u64>,
}

impl Tally {
    pub(super) fn add(&mut self, progress: &Progress) {
        match &progress.outcome {
            Outcome::Success(_) => self.success += 1,
            Outcome::Failed(reason) => {
                self.failed += 1;
                add(&mut self.failures, reason.clone());
            }
            Outcome::Skipped(Skip::DryRun(target)) => {
                self.planned += 1;
                // The place of a partition: `orders/0`.
                let topic = target.split('/').next().unwrap_or_default();
                if self.targets.len() < TARGETS {
                    self.targets.insert(topic.to_owned());
                }
            }
            Outcome::Skipped(skip) => {
                self.skipped += 1;
                add(&mut self.skips, kind(skip));
            }
        }
    }

    /// How many were looked at.
    pub(super) fn all(&self) -> u64 {
        self.success + self.failed + self.skipped + self.planned
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

/// Why they were left, in words that are the same for all of a kind.
fn kind(skip: &Skip) -> String {
    match skip {
        Skip::DryRun(_) => "dry run".to_owned(),
        Skip::Resolved(_) => "resolved already (--again replays them)".to_owned(),
        Skip::Claimed(_) => {
            "claimed by another run: should that have died, run the command again in half a minute".to_owned()
        }
        Skip::Parked(_) => "parked: replayed as often as is allowed (--max-replays)".to_owned(),
        Skip::NotAllowed(target) => format!("their target {target} is not allowed (--allow-target {target})"),
        Skip::NoSource => "their source is not known (--to, --allow-target)".to_owned(),
    }
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
            Outcome::Failed(reason) => ("failed", None, Some(reason.clone())),
            Outcome::Skipped(skip) => ("skipped", None, Some(skip.to_string())),
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
    skipped: u64,
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
            dry_run,
            interrupted,
            maybe_doubled: maybe_doubled.iter().map(ToString::to_string).collect(),
        }
    }
}

/// What became of one dead letter, for people.
pub(super) fn line(progress: &Progress) -> String {
    let at = &progress.at;
    let warning = progress.warning.as_ref().map_or_else(String::new, |warning| format!(" (warning: {warning})"));
    match &progress.outcome {
        Outcome::Success(to) => format!("{at}: sent to {to}{warning}"),
        Outcome::Failed(reason) => format!("{at}: failed: {reason}"),
        Outcome::Skipped(Skip::DryRun(target)) => format!("{at}: would be sent to {target}{warning}"),
        Outcome::Skipped(skip) => format!("{at}: left: {skip}"),
    }
}

/// Dead letters that may be in their target twice, for people.
pub(super) fn doubled(maybe_doubled: &[RecordId]) -> Option<String> {
    /// At most so many are named.
    const NAMED: usize = 100;
    if maybe_doubled.is_empty() {
        return None;
    }
    let named: Vec<String> = maybe_doubled.iter().take(NAMED).map(ToString::to_string).collect();
    let more = maybe_doubled.len() - named.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!(
        "{} may be in the target topic twice, since an earlier run ended while it sent them: {}{more}",
        count(maybe_doubled.len() as u64, "dead letter"),
        named.join(", ")
    ))
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
        let reasons = tally.reasons();
        assert_eq!(reasons.len(), REASONS + 2, "{reasons:?}");
        assert!(reasons.contains(&"  failed 80: other reasons".to_owned()), "{reasons:?}");
        assert!(reasons.contains(&"  skipped 100: resolved already (--again replays them)".to_owned()), "{reasons:?}");
        assert_eq!(tally.targets.into_iter().collect::<Vec<_>>(), ["o"]);
    }
}
