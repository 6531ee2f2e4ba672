use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use super::duplicates::Duplicates;
use super::entry::Entry;
use super::error::ReplayError;
use super::filter::Filter;
use super::kept::Kept;
use super::letters::DeadLetters;
use super::scan::Collect;
use super::sight::{Sight, apart, read};
use crate::record::Record;

/// What a listing gives.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Listing {
    /// The dead letters, at most as many as asked for.
    pub entries: Vec<Entry>,
    /// How many fit in all; more than there are entries where the limit was reached.
    pub matched: u64,
    /// Whether all were looked at: always, except by [`newest`](DeadLetters::newest), which stops when it has enough.
    pub is_whole: bool,
    /// How many ranges of the topics' logs are damaged and were passed over; the log tells which.
    pub unreadable: u64,
}

impl Listing {
    /// How many dead letters a list has by custom.
    pub const LIMIT: usize = 100;

    /// Whether more fit than are listed, or may.
    pub fn has_more(&self) -> bool {
        self.matched > self.entries.len() as u64 || !self.is_whole
    }
}

/// Keeps the first so many by [`Place`], and counts all.
pub(super) struct First {
    limit: usize,
    matched: u64,
    kept: BinaryHeap<Kept<Place>>,
    /// The latest timestamp so far, by partition.
    latest: Vec<i64>,
}

/// Where a dead letter stands in a list: by time, but never before another of its partition with a lower offset. So it does not
/// matter in which order partitions were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// The latest timestamp of its partition up to it.
    time: i64,
    partition: i32,
    offset: i64,
}

impl First {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, matched: 0, kept: BinaryHeap::new(), latest: Vec::new() }
    }

    fn place(&mut self, record: &Record) -> Place {
        let partition = record.partition().partition();
        let index = usize::try_from(partition).unwrap_or_default();
        if self.latest.len() <= index {
            self.latest.resize(index + 1, i64::MIN);
        }
        let latest = &mut self.latest[index];
        *latest = (*latest).max(record.timestamp());
        Place { time: *latest, partition, offset: record.offset() }
    }

    /// Those that were kept, in their order.
    pub(super) fn into_entries(self) -> (Vec<Entry>, u64) {
        let mut duplicates = Duplicates::default();
        let entry = |kept: Kept<Place>| {
            let mut entry = read(&kept.record, kept.state);
            duplicates.mark(&mut entry);
            entry
        };
        (self.kept.into_sorted_vec().into_iter().map(entry).collect(), self.matched)
    }
}

impl Collect for First {
    fn take(&mut self, sight: Sight<'_>) -> ControlFlow<()> {
        self.matched += 1;
        let place = self.place(sight.record);
        if self.kept.len() >= self.limit {
            if self.kept.peek().is_none_or(|last| last.rank < place) {
                return ControlFlow::Continue(());
            }
            self.kept.pop();
        }
        self.kept.push(Kept { rank: place, record: apart(sight.record), state: sight.state() });
        ControlFlow::Continue(())
    }
}

impl DeadLetters {
    /// The first `limit` dead letters that fit ([`Listing::LIMIT`] is the custom), and how many fit in all.
    ///
    /// Topic by topic in the order given; within a topic by time of publishing, those of one partition always in the order of
    /// its log. All that fit are counted, so that all of each topic is read; at most `limit` are in memory.
    ///
    /// A record can be dead-lettered twice when a consumer dies in between; both are listed and counted, and the later one
    /// says which it [repeats](Entry::duplicate_of) if that is listed too.
    ///
    /// # Errors
    /// A topic that does not exist, may not be read, or holds the marks of replays; a broker that fails for 30 s.
    pub async fn list(&self, filter: &Filter, limit: usize) -> Result<Listing, ReplayError> {
        let mut listing = Listing { entries: Vec::new(), matched: 0, is_whole: true, unreadable: 0 };
        for topic in &self.topics {
            let mut first = First::new(limit.saturating_sub(listing.entries.len()));
            let gone = self.scan(topic, filter, &mut first).await?;
            let (entries, matched) = first.into_entries();
            listing.entries.extend(entries);
            listing.matched += matched;
            listing.unreadable += gone.unreadable;
        }
        Ok(listing)
    }
}
