use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::note_unreadable;
use super::bar::Bar;
use super::tally::{LetterJson, SummaryJson, Tally};
use super::words::{doubled, line};
use crate::cli::exit::{CliError, Exit};
use crate::cli::output::{Out, note, thousands};
use crate::consumer::shutdown_signal;
use crate::replay::{DeadLetters, Outcome, Progress, ReplayOptions, Selection};

/// Replays, with a bar that shows how far it is, and says what came of it.
pub(super) async fn send(
    letters: &DeadLetters,
    selection: &Selection,
    options: &ReplayOptions,
    (expected, names_each): (Option<u64>, bool),
    out: &mut Out,
) -> Result<Exit, CliError> {
    let bar = Bar::new(expected, options.dry_run)?;
    let mut tally = Tally::default();
    let is_stopping = AtomicBool::new(false);
    let progress = |progress: &Progress| {
        tally.add(progress);
        bar.show(&tally);
        if out.is_json() || names_each || matches!(progress.outcome, Outcome::Failed(_)) || progress.warning.is_some() {
            // A reader that has gone must not stop what is half done.
            bar.suspend(|| drop(tell(progress, out)));
        }
    };
    let stopping = |under_way| {
        is_stopping.store(true, Ordering::Relaxed);
        let under_way = thousands(under_way);
        bar.suspend(|| note(&format!("stopping: {under_way} under way; press Ctrl-C again to leave at once")));
    };
    let ended = {
        let sending = letters.replay_telling(selection, options, progress, (shutdown_signal(), stopping));
        tokio::select! {
            ended = pin!(sending) => Some(ended),
            () = asked_twice() => None,
        }
    };
    let is_stopping = is_stopping.into_inner();
    bar.end();
    let (maybe_doubled, error) = match ended {
        Some(Ok(report)) => {
            note_unreadable(report.unreadable);
            if report.stopped && !is_stopping {
                note("ended at the first failure: what comes after it was not looked at");
            }
            (report.maybe_doubled, is_stopping.then(stopped))
        }
        Some(Err(error)) => (Vec::new(), Some(CliError::from(error))),
        None => (Vec::new(), Some(left())),
    };
    if tally.all() == 0 {
        return Err(error.unwrap_or_else(|| CliError::nothing("no dead letter fits")));
    }
    let is_interrupted = error.as_ref().is_some_and(|error| error.exit == Exit::Interrupted);
    summary(&tally, (options.dry_run, is_interrupted), &maybe_doubled, out)?;
    match error {
        Some(error) => Err(error),
        None => Ok(tally.exit()),
    }
}

fn tell(progress: &Progress, out: &mut Out) -> Result<(), CliError> {
    if out.is_json() {
        out.json(&LetterJson::new(progress))?;
    } else {
        out.text(&line(progress))?;
    }
    out.flush()
}

fn summary(
    tally: &Tally,
    (dry_run, is_interrupted): (bool, bool),
    maybe_doubled: &[crate::record::RecordId],
    out: &mut Out,
) -> Result<(), CliError> {
    if out.is_json() {
        out.json(&SummaryJson::new(tally, dry_run, is_interrupted, maybe_doubled))?;
    } else {
        let (success, failed, skipped) = (thousands(tally.success), thousands(tally.failed), thousands(tally.skipped));
        out.text(&format!("replayed {success}, failed {failed}, skipped {skipped}"))?;
        tally.reasons().iter().try_for_each(|reason| out.text(reason))?;
        if let Some(text) = doubled(maybe_doubled) {
            out.text(&text)?;
        }
    }
    out.flush()
}

/// Ready at the second Ctrl-C (or SIGTERM).
async fn asked_twice() {
    shutdown_signal().await;
    shutdown_signal().await;
}

fn stopped() -> CliError {
    let message = "interrupted: what was under way is sent and marked, and the rest is as it was";
    CliError { message: message.to_owned(), ..CliError::interrupted() }
}

fn left() -> CliError {
    let message = "interrupted: what was under way is found by the next run, which says what may be doubled";
    CliError { message: message.to_owned(), ..CliError::interrupted() }
}
