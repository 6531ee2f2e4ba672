use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::names::OTHER_TOPICS;

/// The most dead-letter topics of a consumer that are told apart.
const MOST: usize = 1_000;

/// The values of labels for dead-letter topics. A routing function can make up a topic for each record; labels stay in memory for
/// ever, here and at whoever collects them.
#[derive(Default)]
pub(super) struct DeadLetterLabels(Mutex<HashSet<String>>);

impl DeadLetterLabels {
    /// What a topic is called: by its name, or the same as all that come after the first [`MOST`].
    pub(super) fn of<'a>(&self, topic: &'a str) -> &'a str {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(topic) {
            return topic;
        }
        if known.len() >= MOST {
            return OTHER_TOPICS;
        }
        known.insert(topic.to_owned());
        topic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_topics_take_no_more_labels_than_that() {
        let labels = DeadLetterLabels::default();
        let names: Vec<String> = (0..2 * MOST).map(|index| format!("topic-{index}")).collect();
        let called: HashSet<&str> = names.iter().map(|name| labels.of(name)).collect();
        assert_eq!(called.len(), MOST + 1);
        assert_eq!((labels.of("topic-0"), labels.of("topic-1999")), ("topic-0", OTHER_TOPICS));
    }
}
