use std::collections::BTreeMap;

use crate::policy::Category;

/// What a consumer has done since it started: kept whether or not there is an exporter. What handlers do is added up a few
/// records at a time, so the last of them may come some milliseconds late; by the time that a record counts as settled
/// ([`caught_up`](crate::ConsumerHandle::caught_up)) it is in here.
///
/// A record that is delivered again, after a crash, a seek or in another member's hands, is counted again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// All topics together.
    pub total: TopicCounts,
    /// Each source topic of which the consumer has, or had, a partition.
    pub topics: BTreeMap<String, TopicCounts>,
}

impl Counts {
    /// The counts of one source topic; all 0 for one that the consumer never had a partition of.
    pub fn topic(&self, topic: &str) -> TopicCounts {
        self.topics.get(topic).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, topic: &str, counts: TopicCounts) {
        self.total.add(&counts);
        self.topics.insert(topic.to_owned(), counts);
    }
}

/// The counts of a source topic, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicCounts {
    /// Deliveries that succeeded.
    pub handled: u64,
    /// Deliveries that failed, each attempt counted, whatever followed.
    pub failed: u64,
    /// Failed deliveries after which the same record was to be delivered again.
    pub retried: u64,
    /// Dead letters that the broker acknowledged.
    pub dead_lettered: u64,
    /// Poison pills among them: records that were quarantined.
    pub poison: u64,
    /// Records skipped by policy.
    pub skipped: u64,
    /// Alerts that policies asked for.
    pub alerts: u64,
    /// Handlers that were lost to a panic or the poison timeout.
    pub handlers_lost: u64,
    /// Restarts of partition actors, for whatever cause.
    pub restarts: u64,
    /// Partitions taken, those that started anew at another offset included.
    pub partitions_assigned: u64,
    /// Partitions given up to the group in order.
    pub partitions_revoked: u64,
    /// Partitions taken away.
    pub partitions_lost: u64,
    /// By category, in the order of [`Category::ALL`].
    pub(super) categories: [CategoryCounts; Category::ALL.len()],
}

impl TopicCounts {
    /// What of it is of one category.
    pub fn category(&self, category: Category) -> CategoryCounts {
        self.categories[category as usize]
    }

    fn add(&mut self, other: &Self) {
        self.handled += other.handled;
        self.failed += other.failed;
        self.retried += other.retried;
        self.dead_lettered += other.dead_lettered;
        self.poison += other.poison;
        self.skipped += other.skipped;
        self.alerts += other.alerts;
        self.handlers_lost += other.handlers_lost;
        self.restarts += other.restarts;
        self.partitions_assigned += other.partitions_assigned;
        self.partitions_revoked += other.partitions_revoked;
        self.partitions_lost += other.partitions_lost;
        for (sum, counts) in self.categories.iter_mut().zip(other.categories) {
            sum.failed += counts.failed;
            sum.retried += counts.retried;
            sum.dead_lettered += counts.dead_lettered;
            sum.skipped += counts.skipped;
            sum.alerts += counts.alerts;
        }
    }
}

/// What of the counts is of one category of failures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CategoryCounts {
    /// Deliveries that failed.
    pub failed: u64,
    /// Those after which the record was to be delivered again.
    pub retried: u64,
    /// Dead letters that the broker acknowledged.
    pub dead_lettered: u64,
    /// Records skipped by policy.
    pub skipped: u64,
    /// Alerts that policies asked for.
    pub alerts: u64,
}
