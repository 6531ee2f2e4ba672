use std::collections::BTreeMap;
use std::sync::Arc;

/// Consumer groups: so far, those that have committed offsets.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    by_id: BTreeMap<String, Group>,
    /// What open transactions are to commit, by producer id.
    pending: BTreeMap<i64, Vec<Pending>>,
}

/// An offset that is committed with a transaction.
#[derive(Debug)]
struct Pending {
    group: String,
    topic: Arc<str>,
    partition: i32,
    committed: Committed,
}

/// One group's committed offsets.
#[derive(Debug, Default)]
pub(crate) struct Group {
    offsets: BTreeMap<Arc<str>, BTreeMap<i32, Committed>>,
}

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) offset: i64,
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: String,
}

impl Groups {
    pub(crate) fn get(&self, id: &str) -> Option<&Group> {
        self.by_id.get(id)
    }

    /// The ids of all groups, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.by_id.keys().map(String::as_str)
    }

    /// Commits an offset; the group comes into being with its first.
    pub(crate) fn commit(&mut self, id: &str, topic: &Arc<str>, partition: i32, committed: Committed) {
        if !self.by_id.contains_key(id) {
            self.by_id.insert(id.to_owned(), Group::default());
        }
        if let Some(group) = self.by_id.get_mut(id) {
            group.offsets.entry(Arc::clone(topic)).or_default().insert(partition, committed);
        }
    }

    /// Commits an offset once the transaction of a producer is committed.
    pub(crate) fn commit_later(
        &mut self,
        producer_id: i64,
        group: &str,
        topic: &Arc<str>,
        partition: i32,
        committed: Committed,
    ) {
        let pending = Pending { group: group.to_owned(), topic: Arc::clone(topic), partition, committed };
        self.pending.entry(producer_id).or_default().push(pending);
    }

    /// Commits what waited for a producer's transaction, or forgets it.
    pub(crate) fn end_transaction(&mut self, producer_id: i64, committed: bool) {
        for one in self.pending.remove(&producer_id).unwrap_or_default() {
            if committed {
                self.commit(&one.group, &one.topic, one.partition, one.committed);
            }
        }
    }

    /// Whether an open transaction is to commit an offset of this group and partition.
    pub(crate) fn is_pending(&self, group: &str, topic: &str, partition: i32) -> bool {
        let mut all = self.pending.values().flatten();
        all.any(|one| one.group == group && &*one.topic == topic && one.partition == partition)
    }

    /// Deletes a group; false where there is none.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        self.by_id.remove(id).is_some()
    }

    /// Forgets the offsets of a topic that is being deleted.
    pub(crate) fn forget_topic(&mut self, topic: &str) {
        for group in self.by_id.values_mut() {
            group.offsets.remove(topic);
        }
        for pending in self.pending.values_mut() {
            pending.retain(|one| &*one.topic != topic);
        }
    }
}

impl Group {
    pub(crate) fn committed(&self, topic: &str, partition: i32) -> Option<&Committed> {
        self.offsets.get(topic)?.get(&partition)
    }

    /// All that is committed, by topic.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Arc<str>, &BTreeMap<i32, Committed>)> {
        self.offsets.iter()
    }
}
