use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::entry::State;
use super::error::ReplayError;
use super::facts::Facts;
use super::filter::Filter;
use super::letters::DeadLetters;
use super::options::ReplayOptions;
use super::scan::Collect;
use super::sight::Sight;
use crate::policy::Category;

/// Numbers of one dead-letter topic.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicStats {
    /// The dead-letter topic.
    pub topic: Arc<str>,
    /// How many dead letters it holds.
    pub total: u64,
    /// How many are neither replayed nor discarded.
    pub unresolved: u64,
    /// How many were replayed.
    pub replayed: u64,
    /// How many were discarded.
    pub discarded: u64,
    /// How many a run claimed without telling the result.
    pub claimed: u64,
    /// How many have been replayed as often as is allowed ([`ReplayOptions::max_replays`]' default), and failed again. Of the
    /// unresolved ones.
    pub parked: u64,
    /// Unresolved ones by category.
    pub categories: BTreeMap<Category, u64>,
    /// Unresolved ones by source topic, of the first [`TopicStats::SOURCES`] that are found.
    pub sources: BTreeMap<Arc<str>, u64>,
    /// Unresolved ones whose source topic is not told, or was found after so many others.
    pub other_sources: u64,
    /// When the oldest unresolved one was published, in milliseconds since the Unix epoch.
    pub oldest: Option<i64>,
    /// How many ranges of the topic's log are damaged and were passed over; the log tells which.
    pub unreadable: u64,
}

impl TopicStats {
    /// The most source topics that are counted by themselves.
    pub const SOURCES: usize = 1_000;

    pub(super) fn new(topic: Arc<str>) -> Self {
        Self {
            topic,
            total: 0,
            unresolved: 0,
            replayed: 0,
            discarded: 0,
            claimed: 0,
            parked: 0,
            categories: BTreeMap::new(),
            sources: BTreeMap::new(),
            other_sources: 0,
            oldest: None,
            unreadable: 0,
        }
    }

    fn add(&mut self, state: &State, timestamp: i64, facts: &Facts<'_>, max_replays: u32) {
        self.total += 1;
        match state {
            State::Replayed { .. } => self.replayed += 1,
            State::Discarded { .. } => self.discarded += 1,
            State::Claimed { .. } => self.claimed += 1,
            State::Unresolved | State::Failed { .. } => {}
        }
        if state.is_resolved() {
            return;
        }
        self.unresolved += 1;
        self.parked += u64::from(facts.replay_count >= max_replays);
        *self.categories.entry(facts.category).or_default() += 1;
        self.oldest = Some(self.oldest.map_or(timestamp, |oldest| oldest.min(timestamp)));
        self.add_source(facts.topic);
    }

    fn add_source(&mut self, topic: Option<&str>) {
        let Some(topic) = topic else {
            self.other_sources += 1;
            return;
        };
        if let Some(count) = self.sources.get_mut(topic) {
            *count += 1;
        } else if self.sources.len() < Self::SOURCES {
            self.sources.insert(topic.into(), 1);
        } else {
            self.other_sources += 1;
        }
    }
}

struct Counter {
    stats: TopicStats,
    max_replays: u32,
}

impl Collect for Counter {
    fn take(&mut self, sight: Sight<'_>) -> ControlFlow<()> {
        self.stats.add(&sight.state(), sight.record.timestamp(), &sight.facts(), self.max_replays);
        ControlFlow::Continue(())
    }
}

impl DeadLetters {
    /// Numbers per dead-letter topic, in the order given.
    ///
    /// # Errors
    /// As for [`list`](Self::list).
    pub async fn stats(&self) -> Result<Vec<TopicStats>, ReplayError> {
        let max_replays = ReplayOptions::default().max_replays;
        let mut all = Vec::with_capacity(self.topics.len());
        for topic in &self.topics {
            let mut counter = Counter { stats: TopicStats::new(Arc::clone(topic)), max_replays };
            let gone = self.scan(topic, &Filter::all(), &mut counter).await?;
            all.push(TopicStats { unreadable: gone.unreadable, ..counter.stats });
        }
        Ok(all)
    }
}
