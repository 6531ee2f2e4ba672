use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::alert::Severity;
use super::condition::{Condition, Now, Word};
use super::settings::Limits;
use super::text::{brief, lasting};

/// The longest part of a broker's answer in an alert, in characters.
const REASON: usize = 300;

/// Watches dead letters that cannot be published.
#[derive(Debug, Default)]
pub(super) struct Holds {
    topics: BTreeMap<String, Held>,
}

#[derive(Debug)]
struct Held {
    since: Now,
    condition: Condition,
}

/// Dead letters of a source partition that cannot be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hold {
    /// The dead-letter topic.
    pub(super) topic: String,
    pub(super) source_partition: i32,
    pub(super) reason: String,
}

/// What is to be told of a dead-letter topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) topic: String,
    pub(super) word: Word,
    pub(super) title: String,
    pub(super) message: String,
}

impl Holds {
    /// Takes in all that is held now.
    pub(super) fn look(&mut self, now: Now, holds: &[Hold], limits: &Limits) -> Vec<Told> {
        let mut by_topic = BTreeMap::<&str, Vec<&Hold>>::new();
        holds.iter().for_each(|hold| by_topic.entry(&hold.topic).or_default().push(hold));
        for topic in by_topic.keys() {
            let new = || Held { since: now, condition: Condition::default() };
            self.topics.entry((*topic).to_owned()).or_insert_with(new);
        }
        let mut told = Vec::new();
        self.topics.retain(|topic, held| {
            let holds = by_topic.get(topic.as_str());
            let long = now.elapsed.saturating_sub(held.since.elapsed) >= limits.held_after;
            let severity = holds.filter(|_| long || held.condition.severity().is_some()).map(|_| Severity::Critical);
            if let Some(word) = held.condition.update(now, severity, limits.repeat) {
                let (title, message) = words(topic, &word, holds.map_or(&[], Vec::as_slice), held.since, now);
                told.push(Told { topic: topic.clone(), word, title, message });
            }
            holds.is_some()
        });
        told
    }

    /// When it is to be looked at again.
    pub(super) fn next(&self, limits: &Limits) -> Option<Duration> {
        let young = self.topics.values().filter(|held| held.condition.severity().is_none());
        young.map(|held| held.since.elapsed + limits.held_after).min()
    }
}

fn words(topic: &str, word: &Word, holds: &[&Hold], since: Now, now: Now) -> (String, String) {
    let lasted = lasting(now.elapsed.saturating_sub(since.elapsed));
    if let Word::Over { .. } = word {
        let message =
            format!("dead letters are published again after {lasted}, or were given up with their partitions");
        return (format!("Resolved: dead letters are published to {topic} again"), message);
    }
    let partitions: BTreeSet<String> = holds.iter().map(|hold| hold.source_partition.to_string()).collect();
    let partitions: Vec<String> = partitions.into_iter().collect();
    let reason = holds.first().map_or("", |hold| hold.reason.as_str());
    let message = format!(
        "for {lasted} dead letters of the source's partitions {} wait; nothing is lost or committed past them, and these partitions stop once they have their share of waiting ones: {}",
        partitions.join(", "),
        brief(reason, REASON)
    );
    (format!("Critical: dead letters cannot be published to {topic}"), message)
}

#[cfg(test)]
mod tests {
    use super::super::condition::at;
    use super::*;

    fn hold(topic: &str, source_partition: i32) -> Hold {
        Hold { topic: topic.to_owned(), source_partition, reason: "broker answered NO".to_owned() }
    }

    #[test]
    fn a_short_hold_is_not_told_and_a_long_one_is_once_with_its_end() {
        let (limits, mut holds) = (Limits::default(), Holds::default());
        assert_eq!(holds.look(at(0), &[hold("a", 0)], &limits), []);
        assert_eq!(holds.next(&limits), Some(Duration::from_secs(30)));
        assert_eq!(holds.look(at(20), &[], &limits), []);
        assert_eq!(holds.next(&limits), None);
        assert_eq!(holds.look(at(100), &[hold("a", 0), hold("a", 2)], &limits), []);
        let told = holds.look(at(130), &[hold("a", 0), hold("a", 2)], &limits);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].title, "Critical: dead letters cannot be published to a");
        assert!(told[0].message.contains("for 30s dead letters of the source's partitions 0, 2 wait"), "{told:?}");
        assert!(told[0].message.ends_with("broker answered NO"), "{told:?}");
        assert_eq!(holds.look(at(140), &[hold("a", 2)], &limits), []);
        let over = holds.look(at(190), &[], &limits);
        assert!(matches!(over[0].word, Word::Over { .. }));
        assert!(over[0].message.contains("again after 1m 30s"), "{over:?}");
        assert_eq!(holds.look(at(200), &[], &limits), []);
    }

    #[test]
    fn topics_are_told_of_by_themselves() {
        let (limits, mut holds) = (Limits { held_after: Duration::ZERO, ..Limits::default() }, Holds::default());
        assert_eq!(holds.look(at(0), &[hold("a", 0), hold("b", 0)], &limits).len(), 2);
        let over = holds.look(at(1), &[hold("b", 0)], &limits);
        assert_eq!(over.iter().map(|told| told.topic.as_str()).collect::<Vec<_>>(), ["a"]);
    }
}
