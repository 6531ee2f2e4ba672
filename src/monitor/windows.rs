use std::collections::BTreeMap;
use std::time::Duration;

use super::alert::Severity;
use super::condition::Now;
use super::text::{brief, grouped, lasting};
use crate::event::{LetterGroup, Letters};
use crate::policy::Category;

/// The longest part of a record's failure in an alert, in characters. The dead letter has all of it.
const MESSAGE: usize = 300;

/// Gathers records that were given up, by group. What pages, poison above all, is told of at once, and what follows in the same
/// interval together at its end; the rest only then.
#[derive(Debug, Default)]
pub(super) struct Windows {
    open: BTreeMap<LetterGroup, Window>,
}

#[derive(Debug)]
struct Window {
    since: Now,
    until: Duration,
    gathered: Option<Letters>,
    /// Whether something was told in it.
    told: bool,
}

/// What is to be told of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) group: LetterGroup,
    pub(super) severity: Severity,
    pub(super) page: bool,
    pub(super) since: i64,
    pub(super) title: String,
    pub(super) message: String,
}

impl Windows {
    /// Takes letters in.
    pub(super) fn add(&mut self, now: Now, letters: Vec<(LetterGroup, Letters)>, interval: Duration) -> Vec<Told> {
        let mut told = Vec::new();
        for (group, letters) in letters {
            let urgent = letters.page || group.category == Category::Poison;
            let new = || Window { since: now, until: now.elapsed + interval, gathered: None, told: false };
            let window = self.open.entry(group.clone()).or_insert_with(new);
            match &mut window.gathered {
                Some(before) => {
                    before.count += letters.count;
                    before.page |= letters.page;
                }
                none => *none = Some(letters),
            }
            if urgent && !window.told {
                told.extend(window.tell(&group, now, false));
            }
        }
        told
    }

    /// What is due; and the groups that are over, since nothing more came.
    pub(super) fn due(&mut self, now: Now, interval: Duration) -> (Vec<Told>, Vec<LetterGroup>) {
        let (mut told, mut over) = (Vec::new(), Vec::new());
        for (group, window) in self.open.iter_mut().filter(|(_, window)| window.until <= now.elapsed) {
            match window.tell(group, now, true) {
                // As long again: what comes meanwhile is told of together.
                Some(word) => {
                    told.push(word);
                    (window.since, window.until) = (now, now.elapsed + interval);
                }
                None => over.push(group.clone()),
            }
        }
        over.iter().for_each(|group| drop(self.open.remove(group)));
        (told, over)
    }

    /// All that is left.
    pub(super) fn flush(&mut self, now: Now) -> Vec<Told> {
        self.open.iter_mut().filter_map(|(group, window)| window.tell(group, now, true)).collect()
    }

    /// When something is due.
    pub(super) fn next(&self) -> Option<Duration> {
        self.open.values().map(|window| window.until).min()
    }
}

impl Window {
    fn tell(&mut self, group: &LetterGroup, now: Now, whole: bool) -> Option<Told> {
        let letters = self.gathered.take()?;
        self.told = true;
        let LetterGroup { topic, category } = group;
        let urgent = letters.page || *category == Category::Poison;
        let severity = if urgent { Severity::Critical } else { Severity::Warning };
        let example = &letters.example;
        let records = match letters.count {
            1 => "1 record".to_owned(),
            count => format!("{} records", grouped(count)),
        };
        let (title, what) = match &example.dead_letter {
            Some(_) => (format!("{}: {category} dead letters in {topic}", severity.title()), "dead-lettered"),
            None => (format!("{}: {category} records given up in {topic}", severity.title()), "given up by policy"),
        };
        let mut message = format!("{records} {what}");
        if whole && letters.count > 1 {
            let since = now.elapsed.saturating_sub(self.since.elapsed);
            message.push_str(&format!(" within {}", lasting(since)));
        }
        let lead = if letters.count > 1 { ", such as " } else { ": " };
        message.push_str(&format!("{lead}{}", example.record));
        if let Some((partition, offset)) = &example.dead_letter {
            message.push_str(&format!(" (its dead letter is {partition}/{offset})"));
        }
        message.push_str(&format!(": {}", brief(&example.message, MESSAGE)));
        let (group, page, since) = (group.clone(), letters.page, self.since.wall);
        Some(Told { group, severity, page, since, title, message })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::condition::at;
    use super::*;
    use crate::event::GivenUp;
    use crate::record::{RecordId, TopicPartition};

    const INTERVAL: Duration = Duration::from_secs(60);

    fn letters(category: Category, count: u64, page: bool) -> Vec<(LetterGroup, Letters)> {
        let topic = format!("orders.dlq.{category}");
        let example = GivenUp {
            record: RecordId { partition: TopicPartition::new("orders", 3), topic_id: None, offset: 41 },
            category,
            page,
            message: "no such\ncustomer".to_owned(),
            dead_letter: Some((TopicPartition::new(topic.as_str(), 3), 7)),
        };
        vec![(LetterGroup { topic, category }, Letters { count, page, example })]
    }

    #[test]
    fn poison_is_told_at_once_and_what_follows_together() {
        let mut windows = Windows::default();
        let first = windows.add(at(0), letters(Category::Poison, 1, true), INTERVAL).remove(0);
        assert_eq!((first.severity, first.page), (Severity::Critical, true));
        assert_eq!(first.title, "Critical: poison dead letters in orders.dlq.poison");
        let message =
            "1 record dead-lettered: orders/3/41 (its dead letter is orders.dlq.poison/3/7): no such customer";
        assert_eq!(first.message, message);
        assert_eq!(windows.add(at(5), letters(Category::Poison, 900, true), INTERVAL), []);
        assert_eq!(windows.add(at(6), letters(Category::Poison, 334, true), INTERVAL), []);
        assert_eq!(windows.due(at(59), INTERVAL), (vec![], vec![]));
        let (told, over) = windows.due(at(60), INTERVAL);
        assert!(over.is_empty());
        assert!(told[0].message.starts_with("1,234 records dead-lettered within 1m, such as orders/3/41 "), "{told:?}");
        let (told, over) = windows.due(at(120), INTERVAL);
        assert_eq!((told.len(), over.len(), windows.next()), (0, 1, None));
        assert_eq!(windows.add(at(130), letters(Category::Poison, 1, true), INTERVAL).len(), 1);
    }

    #[test]
    fn others_wait_for_the_end_of_the_interval_or_of_the_consumer() {
        let mut windows = Windows::default();
        assert_eq!(windows.add(at(0), letters(Category::Transient, 1, false), INTERVAL), []);
        assert_eq!(windows.next(), Some(INTERVAL));
        let (told, _) = windows.due(at(60), INTERVAL);
        assert_eq!((told[0].severity, told[0].page), (Severity::Warning, false));
        windows.add(at(70), letters(Category::Unknown, 2, false), INTERVAL);
        let told = windows.flush(at(75));
        assert_eq!(told.len(), 1);
        assert!(told[0].message.starts_with("2 records dead-lettered within 5s, such as "), "{told:?}");
        assert_eq!(windows.flush(at(75)), []);
    }

    #[test]
    fn a_page_is_told_at_once_whatever_the_category() {
        let mut windows = Windows::default();
        assert_eq!(windows.add(at(0), letters(Category::Validation, 1, false), INTERVAL), []);
        let told = windows.add(at(1), letters(Category::Validation, 1, true), INTERVAL);
        assert!(told[0].page && told[0].message.starts_with("2 records"), "{told:?}");
    }

    proptest! {
        /// Every letter is counted in exactly one alert.
        #[test]
        fn none_is_lost_and_none_told_twice(steps in prop::collection::vec((0u64..50, 0usize..5, 1u64..9, any::<bool>()), 1..60)) {
            let (mut windows, mut second, mut given, mut told) = (Windows::default(), 0, 0, 0);
            let count = |words: Vec<Told>| -> u64 {
                let number = |word: &Told| word.message.split(' ').next().unwrap().parse::<u64>().unwrap();
                words.iter().map(number).sum()
            };
            for (wait, category, number, page) in steps {
                second += wait;
                given += number;
                told += count(windows.due(at(second), INTERVAL).0);
                told += count(windows.add(at(second), letters(Category::ALL[category], number, page), INTERVAL));
                prop_assert!(windows.next().is_some_and(|next| next > at(second).elapsed));
            }
            told += count(windows.flush(at(second)));
            prop_assert_eq!(told, given);
        }
    }
}
