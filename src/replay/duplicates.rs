use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

use super::entry::Entry;
use super::facts::Facts;
use crate::record::RecordId;

/// Finds dead letters that were published twice: the same source coordinates, topic id and group. A consumer that dies after it
/// published one and before it committed publishes it again, so that the two lie close together: the last
/// [`KNOWN`](Self::KNOWN) are remembered. They are only marked, never hidden: the second failure can be another one.
#[derive(Default)]
pub(super) struct Duplicates {
    hasher: RandomState,
    known: HashMap<Key, RecordId>,
    order: VecDeque<Key>,
}

/// The source offset itself, and a hash, with a random key, of the rest.
type Key = (i64, u64);

impl Duplicates {
    /// How many dead letters are remembered.
    pub(super) const KNOWN: usize = 10_000;

    /// Says in the entry which earlier one it repeats, if any.
    pub(super) fn mark(&mut self, entry: &mut Entry) {
        let Some(key) = self.key(&entry.at, &Facts::of(&entry.letter)) else { return };
        if let Some(first) = self.known.get(&key) {
            entry.duplicate_of = Some(first.clone());
            return;
        }
        if self.order.len() >= Self::KNOWN
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.known.insert(key, entry.at.clone());
        self.order.push_back(key);
    }

    /// `None` where it is not known where the record came from.
    fn key(&self, at: &RecordId, facts: &Facts<'_>) -> Option<Key> {
        let (topic, partition, offset) = (facts.topic?, facts.partition?, facts.offset?);
        // Of one dead-letter topic: in another it is another failure, of another category.
        let rest = (at.partition.topic(), topic, partition, facts.topic_id, facts.group);
        Some((offset, self.hasher.hash_one(rest)))
    }
}
