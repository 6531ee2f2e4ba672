use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use super::counts::Counts;
use super::export::Export;
use super::labels::DeadLetterLabels;
use super::names;
use super::topic::TopicMeter;
use crate::event::Event;
use crate::policy::{Category, DeadLetterTopics};
use crate::record::TopicPartition;

/// Counts what one consumer does: for its handle, and for the recorder of the `metrics` facade where one is installed.
///
/// Most is counted where it is told, by [`observe`](Self::observe): an event is told once, so it is counted once. What there is no
/// event for has a method of its own.
#[derive(Default)]
pub(crate) struct Meter {
    topics: RwLock<HashMap<Arc<str>, Arc<TopicMeter>>>,
    group: OnceLock<(String, Export)>,
    labels: Arc<DeadLetterLabels>,
}

impl Meter {
    /// The consumer of this group starts. The recorder that is installed now is the one that is told.
    pub(crate) fn begin(&self, group: &str, dead_letter_topics: &DeadLetterTopics) {
        self.group.get_or_init(|| {
            let export = Export::new(group, dead_letter_topics.clone());
            // Prometheus counts an increase only from a value that it has seen.
            for metric in [&names::REBALANCES, &names::COMMIT_FAILURES] {
                export.counter(metric, &[]).increment(0);
            }
            (group.to_owned(), export)
        });
    }

    /// The consumer's group; empty before [`begin`](Self::begin).
    #[cfg(feature = "web")]
    pub(crate) fn group(&self) -> &str {
        self.group.get().map_or("", |(group, _)| group)
    }

    pub(super) fn export(&self) -> Export {
        self.group.get().map(|(_, export)| export.clone()).unwrap_or_default()
    }

    /// Whether a recorder is told. If not, nothing needs to be measured.
    pub(crate) fn is_exporting(&self) -> bool {
        self.group.get().is_some_and(|(_, export)| export.is_on())
    }

    /// The counts of a topic, kept by whoever counts often.
    pub(crate) fn topic(&self, partition: &TopicPartition) -> Arc<TopicMeter> {
        let topics = self.topics.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(topic) = topics.get(partition.topic()) {
            return Arc::clone(topic);
        }
        drop(topics);
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        let name = partition.shared_topic();
        let new = |name: &Arc<str>| TopicMeter::new(Arc::clone(name), self.export(), Arc::clone(&self.labels));
        let topic = topics.entry(name).or_insert_with_key(|name| Arc::new(new(name)));
        Arc::clone(topic)
    }

    /// What was counted so far.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (name, topic) in &*self.topics.read().unwrap_or_else(PoisonError::into_inner) {
            counts.add(name, topic.counts());
        }
        counts
    }

    /// Counts what an event tells.
    pub(crate) fn observe(&self, event: &Event) {
        match event {
            Event::Retrying { record, category, .. } => {
                self.topic(&record.partition).retried[*category as usize].add(1);
            }
            Event::DeadLettered { record, category, dead_letter, .. } => {
                self.topic(&record.partition).dead_lettered(*category, dead_letter.topic());
            }
            Event::Skipped { record, category, .. } => {
                self.topic(&record.partition).skipped[*category as usize].add(1);
            }
            Event::Alert { record, category, page, .. } => {
                self.topic(&record.partition).alerts[*category as usize][usize::from(*page)].add(1);
            }
            Event::HandlerLost { record, fault, .. } => {
                let topic = self.topic(&record.partition);
                if fault == "timeout" { topic.timeouts.add(1) } else { topic.panics.add(1) }
            }
            Event::Assigned { partition, .. } => self.topic(partition).assigned.add(1),
            Event::Revoked { partition, .. } => self.topic(partition).revoked.add(1),
            Event::Lost { partition, .. } => self.topic(partition).lost.add(1),
            Event::OffsetReset { partition, .. } => self.topic(partition).offset_resets.add(1),
            Event::Joined { .. } => self.export().counter(&names::REBALANCES, &[]).increment(1),
            _ => {}
        }
    }

    /// A delivery failed, and was classified.
    pub(crate) fn failed(&self, partition: &TopicPartition, category: Category) {
        self.topic(partition).failed[category as usize].add(1);
    }

    /// A partition actor is started again: after its handler was lost, or because it could not start or go on.
    pub(crate) fn restarted(&self, partition: &TopicPartition, handler_lost: bool) {
        let topic = self.topic(partition);
        if handler_lost { topic.restarts_after_faults.add(1) } else { topic.restarts_after_failures.add(1) }
    }

    /// A commit took so long. `failed` unless it was made, or refused because the group has gone on.
    pub(crate) fn committed(&self, took: Duration, failed: bool) {
        let export = self.export();
        if let Some(durations) = export.histogram(&names::COMMIT_DURATION, &[]) {
            durations.record(took);
        }
        if failed {
            export.counter(&names::COMMIT_FAILURES, &[]).increment(1);
        }
    }

    /// A batch of dead letters was acknowledged after so long.
    pub(crate) fn published(&self, dead_letter_topic: &str, took: Duration) {
        let labels = [(names::DEAD_LETTER_TOPIC, self.labels.of(dead_letter_topic))];
        if let Some(durations) = self.export().histogram(&names::PUBLISH_DURATION, &labels) {
            durations.record(took);
        }
    }

    /// An attempt to publish a batch of dead letters failed.
    pub(crate) fn publish_failed(&self, dead_letter_topic: &str) {
        let labels = [(names::DEAD_LETTER_TOPIC, self.labels.of(dead_letter_topic))];
        self.export().counter(&names::PUBLISH_FAILURES, &labels).increment(1);
    }

    /// So many source partitions' dead letters cannot be published to a topic for now.
    pub(crate) fn held(&self, dead_letter_topic: &str, partitions: usize) {
        let labels = [(names::DEAD_LETTER_TOPIC, self.labels.of(dead_letter_topic))];
        self.export().gauge(&names::HELD, &labels).set(partitions as f64);
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordId;

    fn of(topic: &str) -> TopicPartition {
        TopicPartition::new(topic, 0)
    }

    fn record() -> RecordId {
        RecordId { topic_id: None, partition: of("orders"), offset: 3 }
    }

    #[test]
    fn each_event_is_counted_once_and_by_its_category() {
        let meter = Meter::default();
        let dead_lettered = |category| Event::DeadLettered {
            record: record(),
            category,
            error_type: String::new(),
            message: String::new(),
            attempts: 1,
            dead_letter: TopicPartition::new(format!("orders.dlq.{category}"), 0),
            dead_letter_offset: 0,
            left_out: String::new(),
        };
        let lost = |fault: &str| Event::HandlerLost {
            record: record(),
            fault: fault.to_owned(),
            message: String::new(),
            location: None,
        };
        let alert = |page| Event::Alert { record: record(), category: Category::Poison, page, message: String::new() };
        for event in [
            dead_lettered(Category::Poison),
            dead_lettered(Category::Validation),
            dead_lettered(Category::Validation),
            Event::Skipped { record: record(), category: Category::Unknown, message: String::new() },
            lost("panic"),
            lost("timeout"),
            alert(true),
            alert(false),
            Event::Assigned { partition: of("orders"), offset: 0, reset: false },
            Event::Revoked { partition: of("orders"), committed: 0 },
            Event::Lost { partition: of("bills"), reason: String::new() },
            Event::Stopped,
        ] {
            meter.observe(&event);
        }
        meter.failed(&of("orders"), Category::Poison);
        meter.restarted(&of("orders"), true);
        meter.restarted(&of("orders"), false);
        let counts = meter.counts();
        let orders = counts.topic("orders");
        assert_eq!((orders.dead_lettered, orders.poison, orders.skipped), (3, 1, 1));
        assert_eq!((orders.handlers_lost, orders.alerts, orders.failed, orders.restarts), (2, 2, 1, 2));
        assert_eq!((orders.partitions_assigned, orders.partitions_revoked, orders.partitions_lost), (1, 1, 0));
        assert_eq!(orders.category(Category::Validation).dead_lettered, 2);
        assert_eq!((counts.topic("bills").partitions_lost, counts.topic("parcels")), (1, Default::default()));
        assert_eq!((counts.total.dead_lettered, counts.total.partitions_lost), (3, 1));
        assert!(!meter.is_exporting(), "nothing is installed");
    }
}
