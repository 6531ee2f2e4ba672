use std::collections::HashMap;
use std::ops::{ControlFlow, Deref};

use super::entry::{Entry, State};
use super::error::ReplayError;
use super::filter::Filter;
use super::letters::DeadLetters;
use super::scan::Collect;
use super::sight::{Sight, apart, cost, read};
use crate::record::Record;

/// Dead letters of one fault.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Group {
    /// What they have in common.
    pub fingerprint: String,
    /// How many there are.
    pub count: u64,
    /// When the first was published, in milliseconds since the Unix epoch.
    pub first_seen: i64,
    /// When the last was published, in milliseconds since the Unix epoch.
    pub last_seen: i64,
    /// The last one. Its value and backtrace are as they were read.
    pub example: Entry,
}

/// Dead letters by fault, the most frequent first; among those as frequent the one seen last.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Groups {
    /// The groups.
    pub groups: Vec<Group>,
    /// How many dead letters are in none: their faults came when there were [`Groups::LIMIT`] others already, or examples of
    /// [`Groups::EXAMPLE_BYTES`].
    pub others: u64,
    /// How many ranges of the topics' logs are damaged and were passed over; the log tells which.
    pub unreadable: u64,
}

impl Groups {
    /// The most groups.
    pub const LIMIT: usize = 10_000;
    /// The most bytes that the examples of all groups may have together. Where the last one of a fault would be too many, the one
    /// before it stays.
    pub const EXAMPLE_BYTES: usize = 64 << 20;
}

impl Deref for Groups {
    type Target = [Group];

    fn deref(&self) -> &[Group] {
        &self.groups
    }
}

impl IntoIterator for Groups {
    type Item = Group;
    type IntoIter = std::vec::IntoIter<Group>;

    fn into_iter(self) -> Self::IntoIter {
        self.groups.into_iter()
    }
}

/// Sorts dead letters into groups.
pub(super) struct Sorter {
    limit: usize,
    bytes_left: usize,
    by_fingerprint: HashMap<Box<str>, usize>,
    groups: Vec<Sorted>,
    /// Groups whose latest is still a view of what was read.
    touched: Vec<usize>,
    others: u64,
}

struct Sorted {
    count: u64,
    first_seen: i64,
    last_seen: i64,
    example: Record,
    state: State,
    /// How many bytes the example was given.
    cost: usize,
    /// The latest one, which belongs to what was read last.
    latest: Option<(Record, State)>,
}

impl Sorter {
    pub(super) fn new(limit: usize, bytes: usize) -> Self {
        let (by_fingerprint, groups) = (HashMap::new(), Vec::new());
        Self { limit, bytes_left: bytes, by_fingerprint, groups, touched: Vec::new(), others: 0 }
    }

    fn begin(&mut self, fingerprint: &str, record: &Record, state: State) {
        let (own, cost) = (fingerprint.len(), cost(record));
        if self.groups.len() >= self.limit || own + cost > self.bytes_left {
            self.others += 1;
            return;
        }
        self.bytes_left -= own + cost;
        self.by_fingerprint.insert(fingerprint.into(), self.groups.len());
        let (time, example) = (record.timestamp(), apart(record));
        self.groups.push(Sorted { count: 1, first_seen: time, last_seen: time, example, state, cost, latest: None });
    }

    pub(super) fn into_groups(mut self) -> Groups {
        self.end_piece();
        let mut sorted: Vec<_> = self.groups.into_iter().map(Some).collect();
        let group = |(fingerprint, index): (Box<str>, usize)| {
            let Sorted { count, first_seen, last_seen, example, state, .. } = sorted.get_mut(index)?.take()?;
            let example = read(&example, state);
            Some(Group { fingerprint: fingerprint.into(), count, first_seen, last_seen, example })
        };
        let mut groups: Vec<_> = self.by_fingerprint.into_iter().filter_map(group).collect();
        groups.sort_by(|one, other| {
            let by_number = other.count.cmp(&one.count).then(other.last_seen.cmp(&one.last_seen));
            by_number.then_with(|| one.fingerprint.cmp(&other.fingerprint))
        });
        Groups { groups, others: self.others, unreadable: 0 }
    }
}

impl Collect for Sorter {
    fn take(&mut self, sight: Sight<'_>) -> ControlFlow<()> {
        let (record, time) = (sight.record, sight.record.timestamp());
        let facts = sight.facts();
        let Some(&index) = self.by_fingerprint.get(facts.fingerprint) else {
            self.begin(facts.fingerprint, record, sight.state());
            return ControlFlow::Continue(());
        };
        let group = &mut self.groups[index];
        group.count += 1;
        group.first_seen = group.first_seen.min(time);
        if time >= group.last_seen {
            group.last_seen = time;
            if group.latest.replace((record.clone(), sight.state())).is_none() {
                self.touched.push(index);
            }
        }
        ControlFlow::Continue(())
    }

    /// Copies the latest of each group: once per piece, not once per dead letter.
    fn end_piece(&mut self) {
        for index in self.touched.drain(..) {
            let group = &mut self.groups[index];
            let Some((record, state)) = group.latest.take() else { continue };
            let cost = cost(&record);
            if cost <= self.bytes_left + group.cost {
                self.bytes_left = self.bytes_left + group.cost - cost;
                (group.example, group.state, group.cost) = (apart(&record), state, cost);
            }
        }
    }
}

impl DeadLetters {
    /// Dead letters of the same fault together, the most frequent first, over all topics.
    ///
    /// Memory is bounded: there are at most [`Groups::LIMIT`] groups, whose examples have at most [`Groups::EXAMPLE_BYTES`]; what
    /// comes beyond that is only counted. A dead letter that was published twice counts twice.
    ///
    /// # Errors
    /// As for [`list`](Self::list).
    pub async fn groups(&self, filter: &Filter) -> Result<Groups, ReplayError> {
        let mut sorter = Sorter::new(Groups::LIMIT, Groups::EXAMPLE_BYTES);
        let mut unreadable = 0;
        for topic in &self.topics {
            unreadable += self.scan(topic, filter, &mut sorter).await?.unreadable;
        }
        Ok(Groups { unreadable, ..sorter.into_groups() })
    }
}
