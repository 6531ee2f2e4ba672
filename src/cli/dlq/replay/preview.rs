use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};

use super::tally::{LetterJson, SummaryJson, Tally};
use super::to_targets;
use super::words::line;
use crate::cli::exit::{CliError, Exit};
use crate::cli::fix::{self, Change};
use crate::cli::interrupt::or_interrupted;
use crate::cli::output::{Out, count, note, thousands};
use crate::replay::{DeadLetters, Fix, Outcome, Progress, ReplayOptions, Selection, Skip};

/// Of so many records the changes are shown.
const SHOWN: usize = 3;
/// So many dead letters are named by what would become of them.
const NAMED: usize = 100;

/// What a replay would do, found by a dry run.
pub(super) struct Preview {
    pub(super) tally: Tally,
    /// What the first records would be changed to.
    pub(super) changes: Vec<Change>,
    has_fix: bool,
    first: Vec<Progress>,
}

impl Preview {
    pub(super) async fn of(
        letters: &DeadLetters,
        selection: &Selection,
        options: &ReplayOptions,
    ) -> Result<Self, CliError> {
        let changes = Arc::default();
        let dry =
            ReplayOptions { dry_run: true, fix: Some(recording(options.fix.clone(), &changes)), ..options.clone() };
        let bar = ProgressBar::new_spinner().with_style(
            ProgressStyle::with_template("{spinner} looking at dead letters: {pos}").map_err(CliError::failed)?,
        );
        let (mut tally, mut first) = (Tally::default(), Vec::new());
        let looking = letters.replay(selection, &dry, |progress| {
            tally.add(progress);
            if first.len() < NAMED {
                first.push(progress.clone());
            }
            bar.set_position(tally.all());
        });
        let ended = or_interrupted(async { looking.await.map_err(CliError::from) }).await;
        bar.finish_and_clear();
        ended?;
        let changes = std::mem::take(&mut *changes.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Self { tally, changes, has_fix: options.fix.is_some(), first })
    }

    /// Shows what would be done. In full where that is the result; else what a question is about.
    pub(super) fn show(&self, is_result: bool, out: &mut Out) -> Result<(), CliError> {
        let changed: Vec<_> =
            self.changes.iter().filter(|change| self.has_fix || change.before != change.after).collect();
        for change in &changed {
            fix::show(change, out)?;
        }
        if out.is_json() {
            let first = if is_result { &self.first[..] } else { &[] };
            return first.iter().try_for_each(|one| out.json(&LetterJson::new(one)));
        }
        if !changed.is_empty() && self.tally.planned > changed.len() as u64 {
            out.text(&format!("… and so on: {} in all\n", count(self.tally.planned, "record")))?;
        }
        for one in &self.first {
            let is_planned = matches!(one.outcome, Outcome::Skipped(Skip::DryRun(_)));
            if is_result || !is_planned {
                out.text(&line(one))?;
            }
        }
        match self.tally.all() - self.first.len() as u64 {
            0 => Ok(()),
            more if is_result => out.text(&format!("… and {} more", thousands(more))),
            _ => Ok(()),
        }
    }

    /// What is to be confirmed.
    pub(super) fn question(&self) -> String {
        let targets: Vec<String> = self.tally.targets.iter().cloned().collect();
        let others = match self.tally.failed + self.tally.skipped {
            0 => String::new(),
            others => format!(", and leave {others}"),
        };
        format!("Send {}{others}?", to_targets(self.tally.planned, &targets))
    }

    /// Ends the command here: a dry run, or nothing to send.
    pub(super) fn end(self, dry_run: bool, out: &mut Out) -> Result<Exit, CliError> {
        let tally = &self.tally;
        if tally.all() == 0 {
            return Err(CliError::nothing("no dead letter fits"));
        }
        if out.is_json() {
            out.json(&SummaryJson::new(tally, dry_run, false, &[]))?;
        } else {
            let targets: Vec<String> = tally.targets.iter().cloned().collect();
            let would = if tally.planned == 0 {
                "nothing to send".to_owned()
            } else {
                format!("would send {}", to_targets(tally.planned, &targets))
            };
            out.text(&would)?;
            tally.reasons().iter().try_for_each(|reason| out.text(reason))?;
        }
        out.flush()?;
        note("nothing was sent");
        Ok(tally.exit())
    }
}

/// A fix that keeps what it does to the first records.
fn recording(fix: Option<Fix>, changes: &Arc<Mutex<Vec<Change>>>) -> Fix {
    let changes = Arc::clone(changes);
    Arc::new(move |entry, before| {
        let after = match &fix {
            Some(fix) => fix(entry, before.clone())?,
            None => before.clone(),
        };
        let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
        if changes.len() < SHOWN {
            changes.push(Change { at: entry.at.to_string(), before, after: after.clone() });
        }
        Ok(after)
    })
}
