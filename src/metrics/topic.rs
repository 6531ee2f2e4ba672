use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ::metrics::{Counter, Histogram};

use super::counts::{CategoryCounts, TopicCounts};
use super::export::Export;
use super::labels::DeadLetterLabels;
use super::names;
use crate::policy::Category;

/// How many categories there are.
const CATEGORIES: usize = Category::ALL.len();

/// One count, kept here and told to the recorder.
pub(crate) struct Count {
    value: AtomicU64,
    exported: Counter,
}

impl Count {
    fn new(exported: Counter) -> Self {
        Self { value: AtomicU64::new(0), exported }
    }

    pub(crate) fn add(&self, more: u64) {
        self.value.fetch_add(more, Ordering::Relaxed);
        self.exported.increment(more);
    }

    fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

/// The counts of one source topic.
pub(crate) struct TopicMeter {
    pub(crate) handled: Count,
    pub(super) failed: [Count; CATEGORIES],
    pub(super) retried: [Count; CATEGORIES],
    pub(super) skipped: [Count; CATEGORIES],
    /// Without and with a page.
    pub(super) alerts: [[Count; 2]; CATEGORIES],
    /// By category, and by the topic that they went to.
    dead_lettered: [Mutex<HashMap<String, Count>>; CATEGORIES],
    quarantined: Count,
    pub(super) panics: Count,
    pub(super) timeouts: Count,
    pub(super) restarts_after_faults: Count,
    pub(super) restarts_after_failures: Count,
    pub(super) assigned: Count,
    pub(super) revoked: Count,
    pub(super) lost: Count,
    pub(super) offset_resets: Count,
    /// How long deliveries take; `None` where nobody wants to know.
    pub(crate) durations: Option<Histogram>,
    topic: Arc<str>,
    export: Export,
    labels: Arc<DeadLetterLabels>,
}

impl TopicMeter {
    pub(super) fn new(topic: Arc<str>, export: Export, labels: Arc<DeadLetterLabels>) -> Self {
        let plain = |metric| Count::new(export.counter(metric, &[(names::TOPIC, &topic)]));
        let with =
            |metric, label, value: &str| Count::new(export.counter(metric, &[(names::TOPIC, &topic), (label, value)]));
        let by_category = |metric| Category::ALL.map(|category| with(metric, names::CATEGORY, category.as_str()));
        let alerts = |category: Category| {
            ["false", "true"].map(|page| {
                let labels = [(names::TOPIC, &*topic), (names::CATEGORY, category.as_str()), (names::PAGE, page)];
                Count::new(export.counter(&names::ALERTS, &labels))
            })
        };
        let meter = Self {
            handled: plain(&names::HANDLED),
            failed: by_category(&names::FAILED),
            retried: by_category(&names::RETRIED),
            skipped: by_category(&names::SKIPPED),
            alerts: Category::ALL.map(alerts),
            dead_lettered: Default::default(),
            quarantined: plain(&names::QUARANTINED),
            panics: with(&names::HANDLERS_LOST, names::FAULT, "panic"),
            timeouts: with(&names::HANDLERS_LOST, names::FAULT, "timeout"),
            restarts_after_faults: with(&names::RESTARTS, names::CAUSE, "handler_lost"),
            restarts_after_failures: with(&names::RESTARTS, names::CAUSE, "failure"),
            assigned: plain(&names::ASSIGNED),
            revoked: plain(&names::REVOKED),
            lost: plain(&names::LOST),
            offset_resets: plain(&names::OFFSET_RESETS),
            durations: export.histogram(&names::HANDLER_DURATION, &[(names::TOPIC, &topic)]),
            topic,
            export,
            labels,
        };
        // Known before the first dead letter: Prometheus counts an increase only from a value that it has seen.
        for (category, dead_letter_topic) in meter.export.dead_letter_topics(&meter.topic) {
            let labels = [(names::DEAD_LETTER_TOPIC, meter.labels.of(&dead_letter_topic))];
            meter.export.counter(&names::PUBLISH_FAILURES, &labels).increment(0);
            meter.add_dead_letters(category, &dead_letter_topic, 0);
        }
        meter
    }

    /// The counts of a topic whose deliveries are timed by this, for tests.
    #[cfg(test)]
    pub(crate) fn timed(topic: &str, durations: Option<Histogram>) -> Self {
        Self { durations, ..Self::new(topic.into(), Export::default(), Arc::default()) }
    }

    /// Counts a dead letter that was acknowledged.
    pub(super) fn dead_lettered(&self, category: Category, dead_letter_topic: &str) {
        self.add_dead_letters(category, dead_letter_topic, 1);
        if category == Category::Poison {
            self.quarantined.add(1);
        }
    }

    fn add_dead_letters(&self, category: Category, dead_letter_topic: &str, more: u64) {
        let mut counts = self.dead_lettered[category as usize].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get(dead_letter_topic) {
            return count.add(more);
        }
        let dead_letter_topic = self.labels.of(dead_letter_topic);
        if let Some(count) = counts.get(dead_letter_topic) {
            return count.add(more);
        }
        let labels = [
            (names::TOPIC, &*self.topic),
            (names::CATEGORY, category.as_str()),
            (names::DEAD_LETTER_TOPIC, dead_letter_topic),
        ];
        let count = Count::new(self.export.counter(&names::DEAD_LETTERS, &labels));
        count.add(more);
        counts.insert(dead_letter_topic.to_owned(), count);
    }

    pub(crate) fn counts(&self) -> TopicCounts {
        let sum = |counts: &[Count]| counts.iter().map(Count::get).sum::<u64>();
        let categories = Category::ALL.map(|category| {
            let index = category as usize;
            let letters = self.dead_lettered[index].lock().unwrap_or_else(PoisonError::into_inner);
            CategoryCounts {
                failed: self.failed[index].get(),
                retried: self.retried[index].get(),
                dead_lettered: letters.values().map(Count::get).sum(),
                skipped: self.skipped[index].get(),
                alerts: sum(&self.alerts[index]),
            }
        });
        let all = |of: fn(&CategoryCounts) -> u64| categories.iter().map(of).sum();
        TopicCounts {
            handled: self.handled.get(),
            failed: all(|counts| counts.failed),
            retried: all(|counts| counts.retried),
            dead_lettered: all(|counts| counts.dead_lettered),
            poison: self.quarantined.get(),
            skipped: all(|counts| counts.skipped),
            alerts: all(|counts| counts.alerts),
            handlers_lost: self.panics.get() + self.timeouts.get(),
            restarts: self.restarts_after_faults.get() + self.restarts_after_failures.get(),
            partitions_assigned: self.assigned.get(),
            partitions_revoked: self.revoked.get(),
            partitions_lost: self.lost.get(),
            categories,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A routing function may choose another topic for each record.
    #[test]
    fn letters_to_made_up_topics_are_all_counted_in_bounded_memory() {
        let meter = TopicMeter::timed("orders", None);
        for index in 0..5_000 {
            meter.dead_lettered(Category::Poison, &format!("made-up-{index}"));
        }
        assert_eq!((meter.counts().dead_lettered, meter.counts().poison), (5_000, 5_000));
        let kept: usize = meter.dead_lettered.iter().map(|counts| counts.lock().unwrap().len()).sum();
        assert!(kept <= 1_001, "{kept}");
    }
}
