use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::policy::{Category, DeadLetterTopics};
use crate::record::{RecordId, TopicPartition};

/// What the monitor learns of a consumer's dead letters as they happen. In a storm a letter costs a lock and a look into a map,
/// and wakes nobody: who listens is woken for the first one of a group, and takes the others when the group's time is over.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    listening: AtomicBool,
    gathered: Mutex<Gathered>,
    wake: Notify,
}

/// The most topics that are told apart: routing functions can make up any number of names.
const MOST_TOPICS: usize = 1_000;
/// What all others are called together: their letters are told of too.
const OTHER_TOPICS: &str = "(others)";

#[derive(Debug, Default)]
struct Gathered {
    /// By category, then by topic. A group without letters is one whose next letter wakes nobody.
    letters: [HashMap<String, Option<Letters>>; Category::ALL.len()],
    /// Where dead letters were published, and whether a routing function chose it.
    published: BTreeMap<String, bool>,
    topics: DeadLetterTopics,
}

/// Letters that are told of together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LetterGroup {
    /// The dead-letter topic; the source where the policy is to skip or to stop.
    pub(crate) topic: String,
    pub(crate) category: Category,
}

/// Records of a group that were given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Letters {
    pub(crate) count: u64,
    /// Whether a policy asks to wake somebody for one of them.
    pub(crate) page: bool,
    /// The first.
    pub(crate) example: GivenUp,
}

/// A record that was given up, as its policy wants to be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GivenUp {
    pub(crate) record: RecordId,
    pub(crate) category: Category,
    pub(crate) page: bool,
    pub(crate) message: String,
    /// Where its dead letter is; `None` where the policy is to skip or to stop.
    pub(crate) dead_letter: Option<(TopicPartition, i64)>,
}

impl Tap {
    /// From now on somebody listens. `topics` are where dead letters go by themselves.
    pub(crate) fn listen(&self, topics: DeadLetterTopics) {
        self.lock().topics = topics;
        self.listening.store(true, Ordering::Release);
    }

    /// Waits until there is something to take.
    pub(crate) async fn changed(&self) {
        self.wake.notified().await;
    }

    /// A record was given up.
    pub(crate) fn given_up(&self, record: &GivenUp) {
        let Some(mut gathered) = self.gathered() else { return };
        let source = record.record.partition.topic();
        let topic = record.dead_letter.as_ref().map_or(source, |(partition, _)| partition.topic());
        let groups = &mut gathered.letters[record.category as usize];
        let topic = if groups.len() < MOST_TOPICS || groups.contains_key(topic) { topic } else { OTHER_TOPICS };
        let new = || Letters { count: 1, page: record.page, example: record.clone() };
        match groups.get_mut(topic) {
            Some(Some(letters)) => {
                letters.count += 1;
                letters.page |= record.page;
            }
            Some(none) => *none = Some(new()),
            None => {
                groups.insert(topic.to_owned(), Some(new()));
                drop(gathered);
                self.wake.notify_one();
            }
        }
    }

    /// Dead letters of a source were acknowledged in a topic.
    pub(crate) fn published(&self, source: &str, topic: &str) {
        let Some(mut gathered) = self.gathered() else { return };
        if !gathered.published.contains_key(topic) && gathered.published.len() < MOST_TOPICS {
            let routed = gathered.topics.all_for(source).iter().all(|own| own != topic);
            gathered.published.insert(topic.to_owned(), routed);
        }
    }

    /// Takes the letters of all groups. Their next ones wake nobody, until the group is [closed](Self::close).
    pub(crate) fn take_letters(&self) -> Vec<(LetterGroup, Letters)> {
        let mut gathered = self.lock();
        let mut taken = Vec::new();
        for (category, groups) in Category::ALL.into_iter().zip(&mut gathered.letters) {
            for (topic, letters) in groups {
                let group = || LetterGroup { topic: topic.clone(), category };
                taken.extend(letters.take().map(|letters| (group(), letters)));
            }
        }
        taken
    }

    /// The next letter of the group wakes whoever listens; at once, where there is one already.
    pub(crate) fn close(&self, group: &LetterGroup) {
        let mut gathered = self.lock();
        let groups = &mut gathered.letters[group.category as usize];
        if groups.get(&group.topic).is_some_and(Option::is_none) {
            groups.remove(&group.topic);
        } else {
            drop(gathered);
            self.wake.notify_one();
        }
    }

    /// The topics that a routing function chose for dead letters that were published.
    pub(crate) fn routed(&self) -> Vec<String> {
        let gathered = self.lock();
        gathered.published.iter().filter(|(_, routed)| **routed).map(|(topic, _)| topic.clone()).collect()
    }

    /// `None` where nobody listens.
    fn gathered(&self) -> Option<MutexGuard<'_, Gathered>> {
        self.listening.load(Ordering::Acquire).then(|| self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn letter(topic: &str, offset: i64, page: bool) -> GivenUp {
        GivenUp {
            record: RecordId { partition: TopicPartition::new("orders", 0), topic_id: None, offset },
            category: Category::Poison,
            page,
            message: "bad".to_owned(),
            dead_letter: Some((TopicPartition::new(topic, 0), offset)),
        }
    }

    #[tokio::test]
    async fn the_first_letter_of_a_group_wakes_and_those_after_it_do_not() {
        let tap = Tap::default();
        tap.given_up(&letter("a", 0, false));
        assert!(tap.take_letters().is_empty(), "nobody listens");
        tap.listen(DeadLetterTopics::single());
        tap.given_up(&letter("a", 1, false));
        tap.changed().await;
        let taken = tap.take_letters();
        assert_eq!((taken.len(), taken[0].1.count), (1, 1));
        for offset in 2..10 {
            tap.given_up(&letter("a", offset, offset == 5));
        }
        assert!(tap.changed().now_or_never().is_none());
        let (group, letters) = tap.take_letters().remove(0);
        assert_eq!((letters.count, letters.page, letters.example.record.offset), (8, true, 2));
        // Nothing came since: the group is over, and its next letter wakes.
        tap.close(&group);
        assert!(tap.changed().now_or_never().is_none());
        tap.given_up(&letter("a", 10, false));
        tap.changed().await;
        // One came since: it is not forgotten.
        tap.close(&group);
        tap.changed().await;
        assert_eq!(tap.take_letters().len(), 1);
    }

    #[test]
    fn made_up_topics_take_no_more_memory_than_that() {
        let tap = Tap::default();
        tap.listen(DeadLetterTopics::single());
        for index in 0..2 * MOST_TOPICS {
            tap.given_up(&letter(&format!("topic-{index}"), 0, false));
            tap.published("orders", &format!("topic-{index}"));
        }
        let taken = tap.take_letters();
        assert_eq!((taken.len(), tap.routed().len()), (MOST_TOPICS + 1, MOST_TOPICS));
        // Nor is one of them forgotten.
        assert_eq!(taken.iter().map(|(_, letters)| letters.count).sum::<u64>(), 2 * MOST_TOPICS as u64);
    }

    #[test]
    fn a_topic_that_the_settings_do_not_make_was_chosen_by_a_routing_function() {
        let tap = Tap::default();
        tap.listen(DeadLetterTopics::single());
        tap.published("orders", "orders.dlq");
        tap.published("orders", "payments.dlq");
        assert_eq!(tap.routed(), ["payments.dlq"]);
    }
}
