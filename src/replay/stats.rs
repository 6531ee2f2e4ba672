use std::collections::BTreeMap;
use std::sync::Arc;

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
    /// How many have been replayed as often as is allowed, and failed again.
    pub parked: u64,
    /// Unresolved ones by category.
    pub categories: BTreeMap<Category, u64>,
    /// Unresolved ones by source topic.
    pub sources: BTreeMap<Arc<str>, u64>,
    /// When the oldest unresolved one was published, in milliseconds since the Unix epoch.
    pub oldest: Option<i64>,
}
