use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use uuid::Uuid;

use super::bits::Bits;
use super::mark::{Lineage, Mark, Outcome, RunId};
use super::place::Place;
use crate::record::{RecordId, TopicPartition};
use crate::replay::State;

/// What became of the dead letters of one topic, by the marks so far: some hundred bytes for each letter that was replayed, and
/// two bits where only the numbers are wanted.
#[derive(Debug, Default)]
pub(crate) struct Index {
    resolved: BTreeMap<i32, Bits>,
    details: BTreeMap<Place, Detail>,
    names: Names,
    /// The ids of the dead-letter topics that marks were of, by number: where origins are asked for, there may be several of one name.
    topics: Vec<Option<Uuid>>,
    /// Whether nothing is kept of letters that are resolved but that they are.
    numbers_only: bool,
    /// The most marks that are kept; the older half of more is dropped.
    limit: Option<usize>,
    has_dropped: bool,
}

#[derive(Debug)]
struct Detail {
    /// When the mark was appended, by the broker's clock.
    at: i64,
    /// The number of the dead-letter topic's id.
    topic: u32,
    what: What,
}

#[derive(Debug)]
enum What {
    /// Sent once, and known where: as nearly all are.
    Replayed { to: Short, origin: Option<(Short, Option<Uuid>)>, replay_id: Uuid, count: u32 },
    /// Never to be sent.
    Discarded { reason: u32 },
    /// Anything else.
    Whole(Box<Mark>),
}

/// A record, its topic by number.
#[derive(Debug, Clone, Copy)]
struct Short {
    topic: u32,
    partition: i32,
    offset: i64,
}

/// What a mark did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It is a claim that holds; it took the letter from this run, whose claim had expired.
    Claimed { from: Option<Uuid> },
    /// It is a claim or a failure that came too late, and does not count.
    Void,
    /// It is a result.
    Result,
}

/// What the marks know of a letter that is to be replayed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) replay_id: Option<Uuid>,
    /// How often it has been replayed.
    pub(crate) count: u32,
    /// Where records of earlier replays are.
    pub(crate) also_at: Vec<RecordId>,
    /// Where there may be records whose offset nobody knows.
    pub(crate) maybe_at: Vec<TopicPartition>,
    /// The run that has a claim.
    pub(crate) claimed_by: Option<RunId>,
    /// Whether it may have been sent without anybody having been told.
    pub(crate) in_doubt: bool,
}

impl Index {
    pub(super) fn new(numbers_only: bool, limit: Option<usize>) -> Self {
        Self { numbers_only, limit, ..Self::default() }
    }

    /// Whether marks were dropped, so that a letter without one may have had one.
    pub(super) fn has_dropped(&self) -> bool {
        self.has_dropped
    }

    /// Takes the next mark of the topic, which was appended `at`. All who read the topic come to the same: of two claims the
    /// first one holds until its lease is over, by the times at which the broker appended them; a claim on a letter that is
    /// resolved holds only where that is meant; that a record was sent always counts, a failure only of a letter that is neither
    /// resolved nor another run's by now, and no letter is discarded under the hands of a run that has it.
    pub(super) fn apply(&mut self, place: Place, mut mark: Mark, at: i64) -> Effect {
        let topic = self.topic(mark.topic_id);
        // Not every client knows the ids.
        let differs = |known: &Option<Uuid>| known.is_some() && mark.topic_id.is_some() && *known != mark.topic_id;
        let known = self.details.get(&place).and_then(|detail| self.topics.get(detail.topic as usize));
        let is_other = known.is_some_and(differs);
        let resolved = !is_other && self.is_resolved(place);
        let before = self.details.get(&place).filter(|_| !is_other);
        let claim = before.and_then(|detail| match &detail.what {
            What::Whole(mark) => match mark.outcome {
                Outcome::Claimed { lease, .. } => Some((mark.run.id, detail.at.saturating_add(lease))),
                _ => None,
            },
            _ => None,
        });
        let effect = match &mark.outcome {
            Outcome::Claimed { again, .. } => match claim {
                _ if resolved && !again => Effect::Void,
                Some((run, until)) if run != mark.run.id && at < until => Effect::Void,
                Some((run, _)) if run != mark.run.id => Effect::Claimed { from: Some(run) },
                _ => Effect::Claimed { from: None },
            },
            Outcome::Failed { .. } if resolved || claim.is_some_and(|(run, _)| run != mark.run.id) => Effect::Void,
            Outcome::Discarded { .. } if claim.is_some_and(|(run, until)| run != mark.run.id && at < until) => {
                Effect::Void
            }
            _ => Effect::Result,
        };
        if effect == Effect::Result && !is_other {
            self.keep_places(place, &mut mark);
        }
        if effect != Effect::Void {
            self.put(place, mark, at, topic);
        }
        effect
    }

    /// Takes over where records of the letter are, or may be, that the run which wrote `mark` could not know of: it had lost the letter
    /// to another run before.
    fn keep_places(&self, place: Place, mark: &mut Mark) {
        let is_its_own = |detail: &Detail| matches!(&detail.what, What::Whole(before) if before.run.id == mark.run.id);
        if self.details.get(&place).is_none_or(is_its_own) {
            return;
        }
        let Some(before) = self.mark(place, None, &RunId::nobody()) else { return };
        mark.keep_places(before);
    }

    fn topic(&mut self, id: Option<Uuid>) -> u32 {
        // The last one first: it is nearly always that.
        let known = self.topics.iter().rposition(|known| *known == id);
        let number = known.unwrap_or_else(|| {
            self.topics.push(id);
            self.topics.len() - 1
        });
        number as u32
    }

    /// Forgets what is known of a letter: its mark was taken back.
    pub(super) fn clear(&mut self, place: Place) {
        self.details.remove(&place);
        if let Some(bits) = self.resolved.get_mut(&place.partition) {
            bits.remove(place.offset);
        }
    }

    fn put(&mut self, place: Place, mark: Mark, at: i64, topic: u32) {
        let resolved = matches!(mark.outcome, Outcome::Replayed { .. } | Outcome::Discarded { .. });
        let bits = self.resolved.entry(place.partition).or_default();
        if resolved {
            bits.insert(place.offset);
        } else {
            bits.remove(place.offset);
        }
        if resolved && self.numbers_only {
            self.details.remove(&place);
            return;
        }
        let simple = mark.lineage.as_ref().is_none_or(|it| it.also_at.is_empty() && it.maybe_at.is_empty());
        let what = match (&mark.outcome, &mark.lineage) {
            (Outcome::Replayed { to }, Some(lineage)) if simple => What::Replayed {
                to: self.names.short(to),
                origin: lineage.origin.as_ref().map(|origin| (self.names.short(origin), origin.topic_id)),
                replay_id: lineage.replay_id,
                count: lineage.count,
            },
            (Outcome::Discarded { reason }, None) => What::Discarded { reason: self.names.of(reason) },
            _ => What::Whole(Box::new(mark)),
        };
        self.details.insert(place, Detail { at, topic, what });
        if self.limit.is_some_and(|limit| self.details.len() > limit) {
            self.drop_older_half();
        }
    }

    fn drop_older_half(&mut self) {
        let mut times: Vec<i64> = self.details.values().map(|detail| detail.at).collect();
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable(middle);
        let mut left = middle;
        // Of those of one time as many as it takes: they may all be of one.
        self.details.retain(|_, detail| {
            let drops = detail.at <= *median && left > 0;
            left -= usize::from(drops);
            !drops
        });
        self.has_dropped = true;
    }

    /// The mark that counts now, as if `run` had written it, which is not kept of all.
    pub(crate) fn mark(&self, place: Place, topic_id: Option<Uuid>, run: &RunId) -> Option<Mark> {
        let Detail { at, what, .. } = self.details.get(&place)?;
        let (outcome, lineage) = match what {
            What::Whole(mark) => return Some((**mark).clone()),
            What::Discarded { reason } => (Outcome::Discarded { reason: self.names.name(*reason).to_string() }, None),
            What::Replayed { to, origin, replay_id, count } => {
                let to = self.names.record(*to);
                let lineage = Lineage {
                    replay_id: *replay_id,
                    target: to.partition.clone(),
                    origin: origin.map(|(origin, topic_id)| RecordId { topic_id, ..self.names.record(origin) }),
                    count: *count,
                    also_at: Vec::new(),
                    maybe_at: Vec::new(),
                };
                (Outcome::Replayed { to }, Some(lineage))
            }
        };
        Some(Mark { topic_id, outcome, replayed_at: Some(*at), run: run.clone(), lineage })
    }

    pub(crate) fn is_resolved(&self, place: Place) -> bool {
        self.resolved.get(&place.partition).is_some_and(|bits| bits.contains(place.offset))
    }

    /// How many letters of a range are resolved.
    pub(crate) fn resolved(&self, partition: i32, range: Range<i64>) -> u64 {
        self.resolved.get(&partition).map_or(0, |bits| bits.count(range))
    }

    /// The first offset from `from` on that is not resolved, at most `end`.
    pub(crate) fn first_unresolved(&self, partition: i32, from: i64, end: i64) -> i64 {
        self.resolved.get(&partition).map_or(from.min(end), |bits| bits.first_missing(from..end))
    }

    /// What became of a letter.
    pub(crate) fn state(&self, place: Place) -> State {
        let Some(Detail { at, what, .. }) = self.details.get(&place) else { return State::Unresolved };
        let at = *at;
        match what {
            What::Replayed { to, .. } => State::Replayed { at, to: self.names.record(*to) },
            What::Discarded { reason } => State::Discarded { at, reason: self.names.name(*reason).to_string() },
            What::Whole(mark) => match &mark.outcome {
                Outcome::Claimed { .. } => State::Claimed { run: mark.run.to_string().into(), at },
                Outcome::Replayed { to } => State::Replayed { at, to: to.clone() },
                Outcome::Failed { reason } => State::Failed { at, reason: reason.clone() },
                Outcome::Discarded { reason } => State::Discarded { at, reason: reason.clone() },
            },
        }
    }

    /// What a new claim of a letter goes on from.
    pub(crate) fn known(&self, place: Place) -> Known {
        match self.details.get(&place).map(|detail| &detail.what) {
            None | Some(What::Discarded { .. }) => Known::default(),
            Some(What::Replayed { to, replay_id, count, .. }) => Known {
                replay_id: Some(*replay_id),
                count: *count,
                also_at: vec![self.names.record(*to)],
                ..Known::default()
            },
            Some(What::Whole(mark)) => {
                let claimed = matches!(mark.outcome, Outcome::Claimed { .. });
                let claimed_by = claimed.then(|| mark.run.clone());
                let Some(lineage) = &mark.lineage else { return Known { claimed_by, ..Known::default() } };
                let mut lineage = lineage.clone();
                // Without the replay that is under way, or failed.
                let mut count = lineage.count.saturating_sub(1);
                match &mark.outcome {
                    Outcome::Replayed { to } => {
                        count = lineage.count;
                        lineage.also_at.push(to.clone());
                    }
                    // It may have been sent before the run died.
                    Outcome::Claimed { .. } => lineage.doubt(lineage.target.clone()),
                    Outcome::Failed { .. } | Outcome::Discarded { .. } => {}
                }
                Known {
                    replay_id: Some(lineage.replay_id),
                    in_doubt: !lineage.maybe_at.is_empty() && !matches!(mark.outcome, Outcome::Replayed { .. }),
                    count,
                    also_at: lineage.also_at,
                    maybe_at: lineage.maybe_at,
                    claimed_by,
                }
            }
        }
    }
}

/// Texts that many letters have in common.
#[derive(Debug, Default)]
struct Names {
    all: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Names {
    fn of(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let (name, number): (Arc<str>, u32) = (name.into(), self.all.len() as u32);
        self.all.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }

    fn short(&mut self, record: &RecordId) -> Short {
        let topic = self.of(record.partition.topic());
        Short { topic, partition: record.partition.partition(), offset: record.offset }
    }

    fn record(&self, Short { topic, partition, offset }: Short) -> RecordId {
        RecordId { topic_id: None, partition: TopicPartition::new(self.name(topic), partition), offset }
    }

    fn name(&self, number: u32) -> Arc<str> {
        self.all.get(number as usize).map_or_else(|| "".into(), Arc::clone)
    }
}

#[cfg(test)]
mod tests;
