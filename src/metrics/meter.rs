use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use super::counts::Counts;
use super::export::Export;
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
}

impl Meter {
    /// The consumer of this group starts. The recorder that is installed now is the one that is told.
    pub(crate) fn begin(&self, group: &str, dead_letter_topics: &DeadLetterTopics) {
        self.group.get_or_init(|| (group.to_owned(), Export::new(group, dead_letter_topics.clone())));
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
        let topic =
            topics.entry(name).or_insert_with_key(|name| Arc::new(TopicMeter::new(Arc::clone(name), self.export())));
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
        let labels = [(names::DEAD_LETTER_TOPIC, dead_letter_topic)];
        if let Some(durations) = self.export().histogram(&names::PUBLISH_DURATION, &labels) {
            durations.record(took);
        }
    }

    /// An attempt to publish a batch of dead letters failed.
    pub(crate) fn publish_failed(&self, dead_letter_topic: &str) {
        let labels = [(names::DEAD_LETTER_TOPIC, dead_letter_topic)];
        self.export().counter(&names::PUBLISH_FAILURES, &labels).increment(1);
    }

    /// So many source partitions' dead letters cannot be published to a topic for now.
    pub(crate) fn held(&self, dead_letter_topic: &str, partitions: usize) {
        let labels = [(names::DEAD_LETTER_TOPIC, dead_letter_topic)];
        self.export().gauge(&names::HELD, &labels).set(partitions as f64);
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meter")
    }
}
