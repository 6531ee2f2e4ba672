use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::policy::Category;

/// How a dead-letter topic is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TopicHealth {
    /// The dead-letter topic.
    pub topic: Arc<str>,
    /// The category of its dead letters, where the topic's name tells: `orders.dlq.poison`.
    pub category: Option<Category>,
    /// How many dead letters are unresolved: end less start of the log, less those that are marked as replayed or discarded. Where
    /// a transaction wrote to the topic, or it is compacted, the gaps count too.
    pub depth: u64,
    /// By how many records per minute the depth grew over [`window`](Self::window), less than 0 where it shrank; `None` before the
    /// second look.
    pub growth: Option<f64>,
    /// Over which time the growth is taken: as long as the settings say, or since the first look.
    pub window: Duration,
    /// When the oldest unresolved dead letter was published, in milliseconds since the Unix epoch (by its timestamp, which is the
    /// original record's where its writer kept that). `None` where there is none, or it could not be read in time.
    pub oldest: Option<i64>,
    /// How old that is.
    pub age: Option<Duration>,
    /// What that comes to.
    pub status: Status,
}

/// What the depth of a dead-letter topic comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// Below the threshold for warnings.
    Healthy,
    /// At or above the threshold for warnings, 100 by default.
    Warning,
    /// At or above the critical threshold, 1,000 by default.
    Critical,
    /// There is no such topic.
    Missing,
}

impl Status {
    /// `healthy`, `warning`, `critical` or `missing`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Warning => "warning",
            Self::Critical => "critical",
            Self::Missing => "missing",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The category that a topic's name ends with, behind `dlq` or the like: `orders.dlq.poison`, `orders-dlt-poison`.
pub(super) fn category_of(topic: &str) -> Option<Category> {
    let (before, last) = topic.rsplit_once(['.', '-', '_'])?;
    let says_dead = before.rsplit(['.', '-', '_']).any(|word| {
        ["dlq", "dlt", "deadletter", "deadletters", "dead", "letter", "letters"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    });
    last.to_ascii_lowercase().parse().ok().filter(|_| says_dead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_category_only_behind_a_word_for_dead_letters() {
        assert_eq!(category_of("orders.dlq.poison"), Some(Category::Poison));
        assert_eq!(category_of("orders-DLT-Validation"), Some(Category::Validation));
        assert_eq!(category_of("orders_dead_letters_unknown"), Some(Category::Unknown));
        for topic in ["orders.dlq", "orders.poison", "poison", "orders.dlq.poisonous", "dlq.", ""] {
            assert_eq!(category_of(topic), None, "{topic}");
        }
    }
}
