use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::health::category_of;
use crate::policy::{Action, Category, DeadLetterTopics, Policies};
use crate::record::TopicPartition;

/// Which dead-letter topics a consumer's monitor speaks of. Of several instances of a group that is the one that has partition 0
/// of the source: one of them always does, and all know which without asking.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The categories whose records are dead-lettered.
    categories: Vec<Category>,
    topics: DeadLetterTopics,
    /// The sources where partitions are assigned by hand: nobody knows of other instances then.
    by_hand: Option<Vec<String>>,
}

/// A dead-letter topic to be read, and its category where it has only one.
pub(super) type Asked = BTreeMap<Arc<str>, Option<Category>>;

impl Plan {
    pub(crate) fn new(policies: &Policies, topics: &DeadLetterTopics, by_hand: Option<Vec<String>>) -> Self {
        let dead_lettered = |category: &Category| policies.policy(*category).action == Action::DeadLetter;
        let categories = Category::ALL.into_iter().filter(dead_lettered).collect();
        Self { categories, topics: topics.clone(), by_hand }
    }

    /// The topics to speak of: those of the sources of which this instance has partition 0, or all where they are assigned by
    /// hand; and those that a routing function chose here, of which no other instance need know.
    pub(super) fn topics<'a>(&'a self, owned: impl Iterator<Item = &'a TopicPartition>, routed: &[String]) -> Asked {
        let sources: BTreeSet<&str> = match &self.by_hand {
            Some(all) => all.iter().map(String::as_str).collect(),
            None => owned.filter(|partition| partition.partition() == 0).map(TopicPartition::topic).collect(),
        };
        let mut asked = Asked::new();
        for source in &sources {
            for category in &self.categories {
                let topic = self.topics.topic_for(source, *category).into();
                let seen = asked.entry(topic).or_insert(Some(*category));
                if *seen != Some(*category) {
                    *seen = None;
                }
            }
        }
        for topic in routed {
            asked.entry(topic.as_str().into()).or_insert_with(|| category_of(topic));
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(asked: &Asked) -> Vec<&str> {
        asked.keys().map(|topic| &**topic).collect()
    }

    fn owned(partitions: &[(&str, i32)]) -> Vec<TopicPartition> {
        partitions.iter().map(|(topic, partition)| TopicPartition::new(*topic, *partition)).collect()
    }

    #[test]
    fn the_instance_with_partition_0_speaks() {
        let plan = Plan::new(&Policies::default(), &DeadLetterTopics::single(), None);
        let both = owned(&[("orders", 0), ("orders", 1), ("refunds", 1)]);
        assert_eq!(names(&plan.topics(both.iter(), &[])), ["orders.dlq"]);
        let other = owned(&[("orders", 2), ("refunds", 0)]);
        assert_eq!(names(&plan.topics(other.iter(), &[])), ["refunds.dlq"]);
        let chosen = ["graveyard".to_owned(), "lost-dlq-poison".to_owned()];
        let asked = plan.topics(other.iter(), &chosen);
        assert_eq!(names(&asked), ["graveyard", "lost-dlq-poison", "refunds.dlq"]);
        assert_eq!(asked["lost-dlq-poison"], Some(Category::Poison));
    }

    #[test]
    fn categories_are_told_where_a_topic_has_only_one_and_skipped_ones_have_none() {
        let policies = Policies::default().with(Category::Transient, |policy| policy.action(Action::Skip));
        let plan = Plan::new(&policies, &DeadLetterTopics::per_category(), Some(vec!["orders".to_owned()]));
        let asked = plan.topics([].iter(), &[]);
        assert_eq!(asked.len(), 4);
        assert_eq!(asked["orders.dlq.poison"], Some(Category::Poison));
        let three = Plan::new(&policies, &DeadLetterTopics::three(), Some(vec!["orders".to_owned()]));
        let asked = three.topics([].iter(), &[]);
        assert_eq!(asked["orders.dlq"], None);
        assert_eq!(asked["orders.dlq.validation"], Some(Category::Validation));
    }
}
