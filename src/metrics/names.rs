//! The names of all metrics, with their labels and what they mean; `docs/metrics.md`, the dashboard and the alert rules are
//! checked against them.
//!
//! Every value of a label comes from a set that does not grow with the records: topics, partitions, categories, groups and
//! fixed words. No key, offset or message is ever one.

use ::metrics::Unit;

/// What kind of metric it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// What is now.
    Gauge,
    /// How values are distributed.
    Histogram,
}

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name, as Prometheus has it.
    pub name: &'static str,
    /// What kind it is.
    pub kind: Kind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What is counted or measured; told to the recorder too.
    pub meaning: &'static str,
}

impl Metric {
    /// The unit, by the name: seconds where it says so, else a plain count.
    pub fn unit(&self) -> Unit {
        if self.name.ends_with("_seconds") { Unit::Seconds } else { Unit::Count }
    }
}

/// Whose consumer it is: several in one process are told apart by their groups.
pub const GROUP: &str = "group";
/// The source topic; the dead-letter topic where the metric is of one.
pub const TOPIC: &str = "topic";
/// The partition's number.
pub const PARTITION: &str = "partition";
/// One of the five categories of failures.
pub const CATEGORY: &str = "category";
/// Where dead letters go.
pub const DEAD_LETTER_TOPIC: &str = "dead_letter_topic";
/// Which of a few kinds; each metric says which there are.
pub const FAULT: &str = "fault";
/// Why, in a fixed word.
pub const CAUSE: &str = "cause";
/// Whether somebody is to be paged: `true` or `false`.
pub const PAGE: &str = "page";
/// What a partition does, as [`PartitionState`](crate::consumer::PartitionState) in lower case.
pub const STATE: &str = "state";

macro_rules! metrics {
    ($($(#[$doc:meta])* $id:ident = $name:literal, $kind:ident, [$($label:ident),*], $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $id: Metric =
                Metric { name: $name, kind: Kind::$kind, labels: &[$($label),*], meaning: $meaning };
        )*
        /// All of them.
        pub const ALL: &[Metric] = &[$($id),*];
    };
}

metrics! {
    HANDLED = "bezoar_handled_total", Counter, [GROUP, TOPIC],
        "Deliveries that succeeded";
    FAILED = "bezoar_failed_total", Counter, [GROUP, TOPIC, CATEGORY],
        "Deliveries that failed, each attempt counted, whatever followed";
    RETRIED = "bezoar_retried_total", Counter, [GROUP, TOPIC, CATEGORY],
        "Failed deliveries after which the same record is to be delivered again";
    DEAD_LETTERS = "bezoar_dead_letters_total", Counter, [GROUP, TOPIC, CATEGORY, DEAD_LETTER_TOPIC],
        "Dead letters that the broker acknowledged";
    QUARANTINED = "bezoar_quarantined_total", Counter, [GROUP, TOPIC],
        "Poison pills among the dead letters that the broker acknowledged";
    SKIPPED = "bezoar_skipped_total", Counter, [GROUP, TOPIC, CATEGORY],
        "Records skipped by policy, which are in no dead-letter topic";
    HANDLERS_LOST = "bezoar_handlers_lost_total", Counter, [GROUP, TOPIC, FAULT],
        "Handlers that were lost to a panic or to the poison timeout";
    RESTARTS = "bezoar_restarts_total", Counter, [GROUP, TOPIC, CAUSE],
        "Restarts of partition actors, after a lost handler (handler_lost) or because they could not start or go on (failure)";
    ALERTS = "bezoar_alerts_total", Counter, [GROUP, TOPIC, CATEGORY, PAGE],
        "Alerts that policies asked for";
    ASSIGNED = "bezoar_partitions_assigned_total", Counter, [GROUP, TOPIC],
        "Times that a partition was taken, or started anew elsewhere";
    REVOKED = "bezoar_partitions_revoked_total", Counter, [GROUP, TOPIC],
        "Partitions given up to the group in order";
    LOST = "bezoar_partitions_lost_total", Counter, [GROUP, TOPIC],
        "Partitions taken away: what was in flight was dropped";
    REBALANCES = "bezoar_rebalances_total", Counter, [GROUP],
        "Times that the consumer joined its group, or that what it has in it changed";
    OFFSET_RESETS = "bezoar_offset_resets_total", Counter, [GROUP, TOPIC],
        "Times that the offset to read was not in the log";
    COMMIT_FAILURES = "bezoar_commit_failures_total", Counter, [GROUP],
        "Commits of offsets that failed; each is made again";
    PUBLISH_FAILURES = "bezoar_dead_letter_publish_failures_total", Counter, [GROUP, DEAD_LETTER_TOPIC],
        "Attempts to publish a batch of dead letters that failed; each is made again";
    PARTITIONS = "bezoar_partitions", Gauge, [GROUP, TOPIC, STATE],
        "Partitions that the consumer has, by what they do";
    LAG = "bezoar_lag", Gauge, [GROUP, TOPIC, PARTITION],
        "Offsets between what is settled and the end of the log";
    IN_FLIGHT = "bezoar_in_flight", Gauge, [GROUP, TOPIC],
        "Deliveries that are being waited for";
    UNACKNOWLEDGED = "bezoar_dead_letters_unacknowledged", Gauge, [GROUP, TOPIC],
        "Dead letters that wait for the broker's acknowledgement";
    HELD = "bezoar_dead_letters_held", Gauge, [GROUP, DEAD_LETTER_TOPIC],
        "Source partitions whose dead letters cannot be published for now";
    DEPTH = "bezoar_dead_letter_depth", Gauge, [TOPIC, CATEGORY],
        "Dead letters in a topic that are not resolved, by category; in all where the category is all";
    OLDEST_AGE = "bezoar_dead_letter_oldest_age_seconds", Gauge, [TOPIC],
        "The age of the oldest dead letter in a topic that is not resolved; 0 where there is none";
    HANDLER_DURATION = "bezoar_handler_duration_seconds", Histogram, [GROUP, TOPIC],
        "How long a delivery takes: decoding, handling, and the acknowledgement of what it produced";
    COMMIT_DURATION = "bezoar_commit_duration_seconds", Histogram, [GROUP],
        "How long a commit of offsets takes, those that fail included";
    PUBLISH_DURATION = "bezoar_dead_letter_publish_duration_seconds", Histogram, [GROUP, DEAD_LETTER_TOPIC],
        "How long it takes until the broker acknowledges a batch of dead letters";
}

/// The [`DEAD_LETTER_TOPIC`] of those that are not told apart any more: a routing function can make up any number of names, of
/// which the first 1,000 have labels of their own.
pub const OTHER_TOPICS: &str = "(others)";

/// The category of [`DEPTH`] under which the depth of the whole topic stands.
pub const ALL_CATEGORIES: &str = "all";

/// The upper bounds of the histograms' buckets, in seconds: from a handler that only counts to one that waits for its limit.
pub const BUCKETS: [f64; 18] =
    [1e-6, 1e-5, 1e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions_of_prometheus() {
        for metric in ALL {
            assert!(metric.name.starts_with("bezoar_"), "{metric:?}");
            assert!(metric.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{metric:?}");
            assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{metric:?}");
            assert!(metric.kind != Kind::Histogram || metric.unit() == Unit::Seconds, "{metric:?}");
            assert_eq!(ALL.iter().filter(|other| other.name == metric.name).count(), 1, "{metric:?}");
        }
        assert!(BUCKETS.is_sorted());
    }
}
