use std::collections::BTreeSet;
use std::sync::Arc;

use regex::Regex;

use super::machine::{TopicInfo, Topics};
use crate::broker::{Admin, BrokerError};

/// What a consumer subscribes to: topics by name, and all topics that patterns match, those that come later included.
#[derive(Clone)]
pub(crate) struct Subscription {
    topics: BTreeSet<String>,
    patterns: Vec<Regex>,
    excluded: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Subscription {
    /// Topics by name and patterns. A pattern matches a name that it is found in, as [`Regex::is_match`] has it; never an
    /// internal topic, one of Bezoar's own (see [`is_own`]), or one that `excluded` names. A topic asked for by name is
    /// consumed whatever it is.
    pub(crate) fn new(
        topics: Vec<String>,
        patterns: Vec<Regex>,
        excluded: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    ) -> Self {
        Self { topics: topics.into_iter().collect(), patterns, excluded }
    }

    /// Whether a topic that was not asked for by name is consumed.
    pub(crate) fn matches(&self, topic: &str) -> bool {
        let matched = self.patterns.iter().any(|pattern| pattern.is_match(topic));
        matched && !topic.starts_with("__") && !is_own(topic) && !(self.excluded)(topic)
    }

    /// What the subscription comes to now, and what metadata says of the topics `also`. Topics that do not exist are left out.
    pub(crate) async fn look(&self, admin: &dyn Admin, also: &BTreeSet<String>) -> Result<Topics, BrokerError> {
        let mut names = self.topics.union(also).cloned().collect::<BTreeSet<_>>();
        if !self.patterns.is_empty() {
            names.extend(admin.list_topics().await?.into_iter().filter(|topic| self.matches(topic)));
        }
        if names.is_empty() {
            return Ok(Topics::new());
        }
        let found = admin.topics(names.into_iter().collect()).await?;
        let known = found.into_iter().flatten().map(|topic| {
            let subscribed = self.topics.contains(&topic.name) || self.matches(&topic.name);
            (topic.name, TopicInfo { id: topic.id, partitions: topic.partitions, subscribed })
        });
        Ok(known.collect())
    }

    /// The topics asked for by name that do not exist.
    pub(crate) fn missing(&self, topics: &Topics) -> Vec<String> {
        self.topics.iter().filter(|topic| !topics.contains_key(*topic)).cloned().collect()
    }
}

/// Whether a topic is by its name one that Bezoar makes: of dead letters (`orders.dlq`, `orders.dlq.poison`), of delayed
/// retries (`orders.retry.30s`) or of marks (`orders.replays`). Consuming them with the topics that they stem from would send
/// records round and round.
fn is_own(topic: &str) -> bool {
    let delayed = topic.rsplit_once(".retry.").is_some_and(|(_, delay)| humantime::parse_duration(delay).is_ok());
    delayed || topic.ends_with(".dlq") || topic.contains(".dlq.") || topic.ends_with(".replays")
}

/// What was read last of the topics.
#[derive(Debug, Default)]
pub(crate) struct Known {
    topics: Topics,
    /// Those that were gone when last looked at.
    doubted: BTreeSet<String>,
}

impl Known {
    /// Takes over what was just read. A topic is gone only when two readings in a row say so: a broker that lags behind must
    /// not cost its partitions. Whether it is worth looking again soon.
    pub(crate) fn update(&mut self, mut read: Topics) -> bool {
        let gone: Vec<String> = self.topics.keys().filter(|topic| !read.contains_key(*topic)).cloned().collect();
        let before = std::mem::take(&mut self.doubted);
        for topic in gone.into_iter().filter(|topic| !before.contains(topic)) {
            if let Some((topic, info)) = self.topics.remove_entry(&topic) {
                read.insert(topic.clone(), info);
                self.doubted.insert(topic);
            }
        }
        self.topics = read;
        !self.doubted.is_empty()
    }

    /// The topics.
    pub(crate) fn topics(&self) -> &Topics {
        &self.topics
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn subscription(topics: &[&str], patterns: &[&str]) -> Subscription {
        let patterns = patterns.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
        let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
        Subscription::new(topics, patterns, Arc::new(|topic| topic == "orders-graveyard"))
    }

    #[test]
    fn patterns_match_neither_internal_topics_nor_bezoars_own_nor_excluded_ones() {
        let all = subscription(&[], &["."]);
        for topic in ["orders", "orders.dlqx", "dlq", "orders.retry.soon", "retry.5s", "replays", "_orders"] {
            assert!(all.matches(topic), "{topic}");
        }
        for topic in [
            "__consumer_offsets",
            "orders.dlq",
            "orders.dlq.poison",
            "a.dlq.b.c",
            "orders.retry.5s",
            "orders.retry.1h30m",
            "orders.replays",
            "orders-graveyard",
        ] {
            assert!(!all.matches(topic), "{topic}");
        }
        let anchored = subscription(&["orders.dlq"], &["^orders", "^bills$"]);
        assert!(anchored.matches("orders-2") && anchored.matches("bills"));
        assert!(!anchored.matches("my-orders") && !anchored.matches("bills-2"));
        assert_eq!(anchored.missing(&Topics::new()), ["orders.dlq"]);
    }

    fn topics(names: &[&str]) -> Topics {
        names.iter().map(|name| ((*name).to_owned(), TopicInfo { id: None, partitions: 1, subscribed: true })).collect()
    }

    #[test]
    fn a_topic_is_gone_when_two_readings_say_so() {
        let mut known = Known::default();
        assert!(!known.update(topics(&["a", "b"])));
        assert!(known.update(topics(&["b", "c"])));
        assert_eq!(*known.topics(), topics(&["a", "b", "c"]));
        assert!(known.update(topics(&["a"])));
        assert_eq!(*known.topics(), topics(&["a", "b", "c"]));
        assert!(!known.update(topics(&["a"])));
        assert_eq!(*known.topics(), topics(&["a"]));
        // Created anew: the new one counts at once.
        let anew = Topics::from([(
            "a".to_owned(),
            TopicInfo { id: Some(Uuid::from_u128(1)), partitions: 3, subscribed: true },
        )]);
        assert!(!known.update(anew.clone()));
        assert_eq!(*known.topics(), anew);
    }

    proptest! {
        #[test]
        fn what_was_read_last_is_known_and_what_is_gone_is_forgotten(readings in prop::collection::vec(prop::collection::btree_set("[a-d]", 0..4), 1..12)) {
            let mut known = Known::default();
            let mut before = BTreeSet::new();
            for reading in &readings {
                let names: Vec<&str> = reading.iter().map(String::as_str).collect();
                known.update(topics(&names));
                for topic in known.topics().keys() {
                    prop_assert!(reading.contains(topic) || before.contains(topic), "{topic} stayed for too long");
                }
                for topic in reading {
                    prop_assert!(known.topics().contains_key(topic));
                }
                before = reading.clone();
            }
        }
    }
}
