use super::driver::topics;
use super::found::{Letter, Letters};
use super::job::now;
use super::ledger::{At, Ledger};
use crate::replay::marks::{Mark, Outcome, Place};
use crate::replay::{Convention, DeadLetters, DiscardReport, ReplayError, Selection};

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
    let mut batch: Vec<(At, Option<Mark>)> = Vec::new();
    loop {
        let letter = found.next().await?;
        if letter.is_none() || batch.len() >= AT_ONCE {
            let count = batch.len() as u64;
            ledger.write(std::mem::take(&mut batch)).await?;
            report.discarded += count;
        }
        let (topic, entry) = match letter {
            None => return Ok(report),
            Some(Letter::Missing(at)) => {
                tracing::warn!(dead_letter = %at, "there is no dead letter to be discarded at this place");
                report.missing += 1;
                continue;
            }
            Some(Letter::There(topic, entry)) => (topic, entry),
        };
        // Whoever names a source topic by mistake must not mark all its records as settled.
        if entry.letter.convention == Convention::Unrecognized && matches!(selection, Selection::Matching(_)) {
            report.unrecognized += 1;
            continue;
        }
        let place = Place::new(entry.at.partition.partition(), entry.at.offset);
        let marks = ledger.marks(topic);
        let state = marks.state(place.partition, place.offset);
        if !found.include(&state) {
            continue;
        }
        if state.is_resolved() {
            report.skipped += 1;
            continue;
        }
        let before = marks.mark(place, marks.topic_id(), &ledger.run);
        if let (Some(Outcome::Claimed { lease, .. }), crate::replay::State::Claimed { at, .. }) =
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
        ledger.open(topic).await?;
        batch.push(((topic, place), Some(mark)));
        let id = entry.letter.id();
        tracing::info!(dead_letter = %entry.at, id, reason, "dead letter discarded");
    }
}
