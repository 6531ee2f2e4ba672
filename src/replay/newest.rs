use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::ControlFlow;

use super::duplicates::Duplicates;
use super::entry::{Entry, State};
use super::error::ReplayError;
use super::filter::Filter;
use super::kept::Kept;
use super::letters::DeadLetters;
use super::listing::Listing;
use super::marks::Marks;
use super::reading::Span;
use super::scan::{Collect, Topic};
use super::sight::{Sight, apart, read};
use crate::record::Record;

/// How many offsets of each partition are read first, how much more each time, and the most.
const FIRST_STEP: i64 = 500;
const GROWTH: i64 = 4;
const LONGEST_STEP: i64 = 50_000;

/// Where a dead letter stands from the newest on: by time, but never after an older one of its partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Age {
    /// The earliest timestamp of its partition from it on.
    time: i64,
    topic: usize,
    partition: i32,
    offset: i64,
}

/// A partition that is read from its end backwards.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    topic: usize,
    /// What is not read yet.
    pub(super) rest: Span,
    pub(super) step: i64,
    /// The earliest timestamp so far of those that fit.
    time: i64,
}

impl Tail {
    pub(super) fn new(topic: usize, rest: Span) -> Self {
        Self { topic, rest, step: FIRST_STEP, time: i64::MAX }
    }

    /// Where the newest of what is not read could stand; `None` where all is read.
    fn best(&self) -> Option<Age> {
        let Span { partition, start, end, .. } = &self.rest;
        let age = Age { time: self.time, topic: self.topic, partition: partition.partition(), offset: end - 1 };
        (start < end).then_some(age)
    }

    /// Takes the last part of what is not read.
    pub(super) fn cut(&mut self) -> Span {
        let start = self.rest.start.max(self.rest.end - self.step);
        let part = Span { start, ..self.rest.clone() };
        self.rest.end = start;
        self.step = (self.step * GROWTH).min(LONGEST_STEP);
        part
    }
}

/// Keeps the newest of all.
pub(super) struct Newest {
    limit: usize,
    matched: u64,
    kept: BinaryHeap<Reverse<Kept<Age>>>,
}

impl Newest {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, matched: 0, kept: BinaryHeap::new() }
    }

    /// Whether what is not read of a partition may be newer than something that is kept.
    pub(super) fn wants(&self, tail: &Tail) -> bool {
        let Some(best) = tail.best() else { return false };
        self.kept.len() < self.limit || self.kept.peek().is_some_and(|Reverse(oldest)| best > oldest.rank)
    }

    /// Takes what was read of a partition's part.
    pub(super) fn take(&mut self, tail: &mut Tail, part: Part) {
        self.matched += part.matched;
        for (record, state) in part.last.into_iter().rev() {
            tail.time = tail.time.min(record.timestamp());
            let partition = record.partition().partition();
            let age = Age { time: tail.time, topic: tail.topic, partition, offset: record.offset() };
            self.kept.push(Reverse(Kept { rank: age, record, state }));
            if self.kept.len() > self.limit {
                self.kept.pop();
            }
        }
    }

    pub(super) fn into_entries(self) -> Vec<Entry> {
        let newest_first = self.kept.into_sorted_vec().into_iter();
        let mut entries: Vec<_> = newest_first.map(|Reverse(kept)| read(&kept.record, kept.state)).collect();
        // The earlier one is what the later one repeats.
        let mut duplicates = Duplicates::default();
        entries.iter_mut().rev().for_each(|entry| duplicates.mark(entry));
        entries
    }
}

/// The last ones that fit of a part of each partition of a topic, by partition.
pub(super) struct Parts {
    limit: usize,
    by_partition: BTreeMap<i32, Part>,
}

/// The last ones that fit of a part of a partition.
#[derive(Default)]
pub(super) struct Part {
    matched: u64,
    last: VecDeque<(Record, State)>,
}

impl Parts {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, by_partition: BTreeMap::new() }
    }

    /// What was read of a partition.
    pub(super) fn of(&mut self, partition: i32) -> Part {
        self.by_partition.remove(&partition).unwrap_or_default()
    }
}

impl Collect for Parts {
    fn take(&mut self, sight: Sight<'_>) -> ControlFlow<()> {
        let part = self.by_partition.entry(sight.record.partition().partition()).or_default();
        part.matched += 1;
        part.last.push_back((apart(sight.record), sight.state()));
        if part.last.len() > self.limit {
            part.last.pop_front();
        }
        ControlFlow::Continue(())
    }
}

impl DeadLetters {
    /// The newest `limit` dead letters that fit, newest first, over all topics: by time of publishing, those of one partition
    /// always against the order of its log.
    ///
    /// Logs are read from their ends backwards and only as far as is needed, so that it takes no time to look at what came last.
    /// So not all that fit are counted: [`matched`](Listing::matched) is how many were met, and
    /// [`is_whole`](Listing::is_whole) says whether that is all.
    ///
    /// # Errors
    /// As for [`list`](Self::list).
    pub async fn newest(&self, filter: &Filter, limit: usize) -> Result<Listing, ReplayError> {
        let (mut topics, mut tails) = (Vec::new(), Vec::new());
        for (number, name) in self.topics.iter().enumerate() {
            let topic = Topic::find(&self.ports, name).await?;
            let marks = Marks::read(&self.ports, name).await?;
            let spans = topic.spans(&self.ports, filter.since).await?;
            tails.extend(spans.into_iter().map(|span| Tail::new(number, span)));
            topics.push((topic, marks));
        }
        let mut newest = Newest::new(limit);
        let mut unreadable = 0;
        loop {
            let mut wanted: Vec<_> = tails.iter_mut().filter(|tail| newest.wants(tail)).collect();
            if wanted.is_empty() {
                break;
            }
            for (number, (topic, marks)) in topics.iter().enumerate() {
                let spans = wanted.iter_mut().filter(|tail| tail.topic == number).map(|tail| tail.cut()).collect();
                let mut parts = Parts::new(limit);
                unreadable += topic.go_through(&self.ports, spans, (filter, marks), &mut parts).await?.unreadable;
                for tail in wanted.iter_mut().filter(|tail| tail.topic == number) {
                    let part = parts.of(tail.rest.partition.partition());
                    newest.take(tail, part);
                }
            }
        }
        let is_whole = tails.iter().all(|tail| tail.best().is_none());
        let matched = newest.matched;
        Ok(Listing { entries: newest.into_entries(), matched, unreadable, is_whole })
    }
}
