use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::group::machine::Topics;
use crate::record::TopicPartition;

/// A partition as the coordinator names it.
type Named = (Uuid, i32);

/// What the member has, and what it is to have.
#[derive(Debug, Default)]
pub(super) struct Holding {
    /// What was taken and is not given up yet.
    held: BTreeMap<Named, TopicPartition>,
    /// Those of them that are being given up.
    revoking: BTreeSet<Named>,
    /// What the coordinator assigns; `None` before it has said so.
    target: Option<BTreeSet<Named>>,
}

/// What is to be done next to have what the coordinator assigns.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing, or partitions are being given up.
    Rest,
    /// Give these up; only then are others taken.
    GiveUp(Vec<TopicPartition>),
    /// Take these. Some topics may be unknown still: metadata is to be read again.
    Take { partitions: Vec<(TopicPartition, Option<Uuid>)>, unknown: bool },
}

impl Holding {
    /// Takes note of what the coordinator assigns, and says whether that is news. What is being given up goes on being so.
    pub(super) fn aim(&mut self, target: Vec<(Uuid, Vec<i32>)>) -> bool {
        let named = target.into_iter().flat_map(|(id, partitions)| partitions.into_iter().map(move |p| (id, p)));
        let target: BTreeSet<Named> = named.collect();
        let before = self.target.replace(target).unwrap_or_default();
        self.target.as_ref() != Some(&before)
    }

    /// Plans the next step, and takes it as begun.
    pub(super) fn step(&mut self, topics: &Topics) -> Step {
        let Some(target) = &self.target else { return Step::Rest };
        if !self.revoking.is_empty() {
            return Step::Rest;
        }
        self.revoking = self.held.keys().filter(|named| !target.contains(named)).copied().collect();
        if !self.revoking.is_empty() {
            return Step::GiveUp(self.revoking.iter().filter_map(|named| self.held.get(named)).cloned().collect());
        }
        let names: BTreeMap<Uuid, &String> =
            topics.iter().filter_map(|(name, topic)| topic.id.map(|id| (id, name))).collect();
        let (mut partitions, mut unknown) = (Vec::new(), false);
        for named in target.iter().filter(|named| !self.held.contains_key(named)) {
            let Some(name) = names.get(&named.0) else {
                unknown = true;
                continue;
            };
            partitions.push((TopicPartition::new(name.as_str(), named.1), Some(named.0)));
        }
        for (partition, id) in &partitions {
            self.held.extend(id.map(|id| ((id, partition.partition()), partition.clone())));
        }
        if partitions.is_empty() && !unknown { Step::Rest } else { Step::Take { partitions, unknown } }
    }

    /// Takes note that partitions are given up. Whether those that were to be are with this.
    pub(super) fn released(&mut self, partitions: &[TopicPartition]) -> bool {
        if self.revoking.is_empty() {
            return false;
        }
        let gone = |named: &Named| self.held.get(named).is_none_or(|held| partitions.contains(held));
        let gone: Vec<Named> = self.revoking.iter().filter(|named| gone(named)).copied().collect();
        for named in gone {
            self.revoking.remove(&named);
            self.held.remove(&named);
        }
        self.revoking.is_empty()
    }

    /// Forgets everything, and says what was held.
    pub(super) fn lose(&mut self) -> Vec<TopicPartition> {
        std::mem::take(self).held.into_values().collect()
    }

    /// Whether partitions are being given up.
    pub(super) fn is_giving_up(&self) -> bool {
        !self.revoking.is_empty()
    }

    /// How many partitions are held, those being given up included.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// What is held, as heartbeats tell it: by topic id, in order.
    pub(super) fn owned(&self) -> Vec<(Uuid, Vec<i32>)> {
        let mut owned: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
        for (id, partition) in self.held.keys() {
            owned.entry(*id).or_default().push(*partition);
        }
        owned.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::machine::TopicInfo;

    const ORDERS: Uuid = Uuid::from_u128(1);
    const BILLS: Uuid = Uuid::from_u128(2);

    fn topics(known: &[(&str, Uuid)]) -> Topics {
        let info = |id| TopicInfo { id: Some(id), partitions: 4, subscribed: true };
        known.iter().map(|(name, id)| ((*name).to_owned(), info(*id))).collect()
    }

    fn partitions(topic: &str, numbers: &[i32]) -> Vec<TopicPartition> {
        numbers.iter().map(|number| TopicPartition::new(topic, *number)).collect()
    }

    fn take(topic: &str, id: Uuid, numbers: &[i32], unknown: bool) -> Step {
        let partitions = partitions(topic, numbers).into_iter().map(|partition| (partition, Some(id))).collect();
        Step::Take { partitions, unknown }
    }

    #[test]
    fn what_is_not_assigned_any_more_is_given_up_before_anything_is_taken() {
        let topics = topics(&[("orders", ORDERS)]);
        let mut holding = Holding::default();
        assert_eq!(holding.step(&topics), Step::Rest);
        holding.aim(vec![(ORDERS, vec![0, 1])]);
        assert_eq!(holding.step(&topics), take("orders", ORDERS, &[0, 1], false));
        assert_eq!(holding.step(&topics), Step::Rest);
        holding.aim(vec![(ORDERS, vec![1, 2])]);
        assert_eq!(holding.step(&topics), Step::GiveUp(partitions("orders", &[0])));
        // Another plan meanwhile waits; what is being given up is still owned.
        holding.aim(vec![(ORDERS, vec![0, 3])]);
        assert_eq!(holding.step(&topics), Step::Rest);
        assert_eq!(holding.owned(), [(ORDERS, vec![0, 1])]);
        assert!(!holding.released(&partitions("orders", &[1])));
        assert!(holding.released(&partitions("orders", &[0])));
        assert_eq!(holding.step(&topics), Step::GiveUp(partitions("orders", &[1])));
        assert!(holding.released(&partitions("orders", &[0, 1])));
        assert_eq!(holding.step(&topics), take("orders", ORDERS, &[0, 3], false));
        assert_eq!(holding.lose(), partitions("orders", &[0, 3]));
        assert_eq!((holding.len(), holding.step(&topics)), (0, Step::Rest));
    }

    #[test]
    fn what_is_known_is_taken_and_the_rest_once_it_is_known() {
        let mut holding = Holding::default();
        holding.aim(vec![(ORDERS, vec![0]), (BILLS, vec![7])]);
        assert_eq!(holding.step(&topics(&[("orders", ORDERS)])), take("orders", ORDERS, &[0], true));
        assert_eq!(holding.step(&topics(&[])), Step::Take { partitions: Vec::new(), unknown: true });
        let known = topics(&[("orders", ORDERS), ("bills", BILLS)]);
        assert_eq!(holding.step(&known), take("bills", BILLS, &[7], false));
        assert_eq!(holding.owned(), [(ORDERS, vec![0]), (BILLS, vec![7])]);
    }

    #[test]
    fn a_topic_created_anew_is_taken_only_when_the_old_one_is_given_up() {
        let mut holding = Holding::default();
        holding.aim(vec![(ORDERS, vec![0])]);
        holding.step(&topics(&[("orders", ORDERS)]));
        holding.aim(vec![(BILLS, vec![0])]);
        let anew = topics(&[("orders", BILLS)]);
        assert_eq!(holding.step(&anew), Step::GiveUp(partitions("orders", &[0])));
        assert!(holding.released(&partitions("orders", &[0])));
        assert_eq!(holding.step(&anew), take("orders", BILLS, &[0], false));
    }
}
