use std::collections::BTreeSet;
use std::sync::Arc;

use regex::Regex;

use super::machine::{TopicInfo, Topics};
use crate::broker::{Admin, BrokerError, TopicMetadata};

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
        let mut names = self.topics.clone();
        if !self.patterns.is_empty() {
            names.extend(admin.list_topics().await?.into_iter().filter(|topic| self.matches(topic)));
        }
        let others: Vec<String> = also.difference(&names).cloned().collect();
        let mut found = Vec::new();
        if !names.is_empty() {
            found = admin.topics(names.into_iter().collect()).await?;
        }
        found.extend(of_others(admin, others).await?);
        let known = found.into_iter().flatten().map(|topic| {
            let subscribed = self.topics.contains(&topic.name) || self.matches(&topic.name);
            (topic.name, TopicInfo { id: topic.id, partitions: topic.partitions, subscribed })
        });
        Ok(known.collect())
    }

    /// The patterns that no topic matches.
    pub(crate) fn unmatched(&self, topics: &Topics) -> Vec<String> {
        let matched = |pattern: &&Regex| topics.keys().any(|topic| pattern.is_match(topic) && self.matches(topic));
        self.patterns.iter().filter(|pattern| !matched(pattern)).map(|pattern| pattern.as_str().to_owned()).collect()
    }

    /// The topics asked for by name that do not exist.
    pub(crate) fn missing(&self, topics: &Topics) -> Vec<String> {
        self.topics.iter().filter(|topic| !topics.contains_key(*topic)).cloned().collect()
    }
}

/// Reads topics that only other members subscribe to. One that this member may not read, or whose name is none, must not keep
/// it from reading its own.
async fn of_others(admin: &dyn Admin, names: Vec<String>) -> Result<Vec<Option<TopicMetadata>>, BrokerError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    match admin.topics(names.clone()).await {
        Err(error) if !error.is_retriable() => {}
        result => return result,
    }
    let mut found = Vec::new();
    for name in names {
        match admin.topics(vec![name.clone()]).await {
            Ok(one) => found.extend(one),
            Err(error) if error.is_retriable() => return Err(error),
            Err(error) => tracing::warn!(topic = name, "a topic of other members cannot be read: {error}"),
        }
    }
    Ok(found)
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
    use crate::broker::{BoxFuture, ErrorCode, NewTopic, OffsetSpec};
    use crate::record::TopicPartition;

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
        // What only matches topics that are never consumed by a pattern matches nothing.
        assert_eq!(anchored.unmatched(&topics(&["orders.dlq", "bills"])), ["^orders"]);
    }

    /// Tells of all topics but `secret`; nothing at all to who asks for that.
    struct Secretive;

    impl Admin for Secretive {
        fn topics(&self, names: Vec<String>) -> BoxFuture<Result<Vec<Option<TopicMetadata>>, BrokerError>> {
            let found = names.into_iter().map(|name| match name.as_str() {
                "secret" => {
                    let code = ErrorCode(29);
                    Err(BrokerError::Response { doing: "reading metadata".to_owned(), code, message: None })
                }
                _ => Ok(Some(TopicMetadata { name, id: None, partitions: 1, operations: None })),
            });
            Box::pin(std::future::ready(found.collect()))
        }

        fn create_topic(&self, _: NewTopic) -> BoxFuture<Result<(), BrokerError>> {
            unreachable!("it is only read")
        }

        fn delete_topics(&self, _: Vec<String>) -> BoxFuture<Result<(), BrokerError>> {
            unreachable!("it is only read")
        }

        fn topic_config(&self, _: String, _: String) -> BoxFuture<Result<Option<String>, BrokerError>> {
            unreachable!("it is only read")
        }

        fn offset(&self, _: TopicPartition, _: OffsetSpec) -> BoxFuture<Result<i64, BrokerError>> {
            unreachable!("it is only read")
        }
    }

    #[tokio::test]
    async fn a_topic_of_other_members_that_may_not_be_read_hides_no_other() {
        let also = ["others", "secret"].map(str::to_owned).into();
        let found = subscription(&["orders"], &[]).look(&Secretive, &also).await.unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["orders", "others"]);
        assert_eq!(found.values().map(|info| info.subscribed).collect::<Vec<_>>(), [true, false]);
        // Of its own it tells.
        subscription(&["orders", "secret"], &[]).look(&Secretive, &BTreeSet::new()).await.unwrap_err();
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
