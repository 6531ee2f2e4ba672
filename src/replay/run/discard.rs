use std::collections::BTreeSet;

use super::driver::topics;
use super::found::{Letter, Letters};
use super::job::now;
use super::ledger::{At, Ledger};
use crate::replay::marks::{Mark, Outcome, Place};
use crate::replay::{Convention, DeadLetters, DiscardReport, Entry, ReplayError, Selection, State};

/// How many marks are written at once.
const AT_ONCE: usize = 500;

/// Marks the letters that are meant as resolved.
pub(in crate::replay) async fn discard(
    letters: &DeadLetters,
    selection: &Selection,
    reason: &str,
) -> Result<DiscardReport, ReplayError> {
    let mut ledger = Ledger::read(&letters.ports, &topics(letters, selection)).await?;
    let mut found = Letters::find((&letters.ports, &ledger), selection, false).await?;
    let mut report = DiscardReport::default();
    let mut batch: Vec<(At, Entry)> = Vec::new();
    loop {
        let letter = found.next().await?;
        if letter.is_none() || batch.len() >= AT_ONCE {
            settle(&mut ledger, std::mem::take(&mut batch), reason, &mut report).await?;
        }
        let (topic, entry) = match letter {
            None => return Ok(report),
            Some(Letter::Missing(at)) => {
                tracing::warn!(dead_letter = %at, "there is no dead letter to be discarded at this place");
                report.missing += 1;
                continue;
            }
            Some(Letter::There(topic, entry)) => (topic, *entry),
        };
        // Whoever names a source topic by mistake must not mark all its records as settled.
        if entry.letter.convention == Convention::Unrecognized && matches!(selection, Selection::Matching(_)) {
            report.unrecognized += 1;
            continue;
        }
        let place = Place::new(entry.at.partition.partition(), entry.at.offset);
        let state = ledger.marks(topic).state(place.partition, place.offset);
        if !found.include(&state) {
            continue;
        }
        if state.is_resolved() {
            report.skipped += 1;
            continue;
        }
        batch.push(((topic, place), entry));
    }
}

/// Marks letters, but those that runs have claimed or resolved while they were gathered.
async fn settle(
    ledger: &mut Ledger,
    batch: Vec<(At, Entry)>,
    reason: &str,
    report: &mut DiscardReport,
) -> Result<(), ReplayError> {
    let topics: BTreeSet<usize> = batch.iter().map(|((topic, _), _)| *topic).collect();
    for topic in topics {
        ledger.refresh(topic).await?;
    }
    let mut writes = Vec::with_capacity(batch.len());
    let mut told = Vec::with_capacity(batch.len());
    for ((topic, place), entry) in batch {
        let marks = ledger.marks(topic);
        let state = marks.state(place.partition, place.offset);
        if state.is_resolved() {
            report.skipped += 1;
            continue;
        }
        let before = marks.mark(place, marks.topic_id(), &ledger.run);
        if let (Some(Outcome::Claimed { lease, .. }), State::Claimed { at, .. }) =
            (before.as_ref().map(|mark| &mark.outcome), &state)
            && now() < at.saturating_add(*lease)
        {
            tracing::warn!(dead_letter = %entry.at, "not discarded: a replay has just claimed it");
            report.claimed += 1;
            continue;
        }
        let lineage = before.and_then(|mark| {
            let claimed = matches!(mark.outcome, Outcome::Claimed { .. });
            let mut lineage = mark.lineage?;
            if claimed {
                // The run that died may have sent it.
                lineage.doubt(lineage.target.clone());
            }
            Some(lineage)
        });
        let mark = Mark {
            topic_id: marks.topic_id(),
            outcome: Outcome::Discarded { reason: reason.to_owned() },
            replayed_at: None,
            run: ledger.run.clone(),
            lineage,
        };
        writes.push(((topic, place), Some(mark)));
        told.push(entry);
    }
    ledger.write(writes).await?;
    report.discarded += told.len() as u64;
    for entry in told {
        tracing::info!(dead_letter = %entry.at, id = entry.letter.id(), reason, "dead letter discarded");
    }
    Ok(())
}
