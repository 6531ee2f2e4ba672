//! How the leader of a classic group divides partitions. All are pure and deterministic: the same members and topics give the
//! same division, on any machine.

mod balance;
mod range;
mod round_robin;
mod sticky;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::settings::Assignor;
use crate::record::TopicPartition;

/// A member, as the leader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subscriber {
    pub(crate) member_id: String,
    /// The instance id of a static member.
    pub(crate) instance_id: Option<String>,
    pub(crate) topics: BTreeSet<String>,
    /// What it says to own.
    pub(crate) owned: Vec<TopicPartition>,
    /// The generation that it was in when it last owned that; -1 where it does not say.
    pub(crate) generation: i32,
}

/// How many partitions topics have, by name.
pub(crate) type Counts = BTreeMap<String, i32>;

/// Each member's partitions, in order, by member id. Every member has an entry.
pub(crate) type Assignment = BTreeMap<String, Vec<TopicPartition>>;

/// Divides the partitions of the topics in `counts` among those that subscribe to them.
pub(crate) fn assign(assignor: Assignor, members: &[Subscriber], counts: &Counts) -> Assignment {
    let mut members: Vec<&Subscriber> = members.iter().collect();
    members.sort_by(|a, b| in_order(a, b));
    let subscribed = subscribed(&members, counts);
    let divided = match assignor {
        Assignor::Range => range::divide(members.len(), &subscribed),
        Assignor::RoundRobin => round_robin::divide(members.len(), &subscribed),
        Assignor::CooperativeSticky => sticky::divide(&members, &subscribed),
    };
    members.iter().map(|member| member.member_id.clone()).zip(divided).collect()
}

/// A topic that somebody subscribes to.
#[derive(Debug)]
struct Subscribed {
    name: Arc<str>,
    partitions: i32,
    /// Who subscribes to it: places in the list of members, ascending, never none.
    by: Vec<usize>,
}

impl Subscribed {
    fn partition(&self, number: i32) -> TopicPartition {
        TopicPartition::new(Arc::clone(&self.name), number)
    }
}

/// The topics that somebody subscribes to, by name.
fn subscribed(members: &[&Subscriber], counts: &Counts) -> Vec<Subscribed> {
    let mut by: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        for topic in &member.topics {
            by.entry(topic).or_default().push(index);
        }
    }
    let counted = by.into_iter().filter_map(|(name, by)| Some((name, *counts.get(name)?, by)));
    counted.map(|(name, partitions, by)| Subscribed { name: name.into(), partitions, by }).collect()
}

/// The order in which all clients take members: static ones first, by instance id, so that a restart under another member
/// id moves nothing.
fn in_order(a: &Subscriber, b: &Subscriber) -> Ordering {
    match (&a.instance_id, &b.instance_id) {
        (Some(a), Some(b)) => a.cmp(b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.member_id.cmp(&b.member_id),
    }
}
