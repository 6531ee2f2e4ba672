use std::collections::BTreeMap;
use std::sync::Arc;

/// A group's committed offsets.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    by_topic: BTreeMap<Arc<str>, BTreeMap<i32, Committed>>,
}

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) offset: i64,
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: String,
}

/// An offset that is committed with a transaction.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) group: String,
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
    pub(super) committed: Committed,
}

impl Offsets {
    pub(crate) fn get(&self, topic: &str, partition: i32) -> Option<&Committed> {
        self.by_topic.get(topic)?.get(&partition)
    }

    /// All that is committed, by topic.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Arc<str>, &BTreeMap<i32, Committed>)> {
        self.by_topic.iter()
    }

    pub(super) fn commit(&mut self, topic: &Arc<str>, partition: i32, committed: Committed) {
        self.by_topic.entry(Arc::clone(topic)).or_default().insert(partition, committed);
    }

    /// Forgets what is committed for a partition, if anything is.
    pub(crate) fn forget(&mut self, topic: &str, partition: i32) {
        if let Some(partitions) = self.by_topic.get_mut(topic) {
            partitions.remove(&partition);
            if partitions.is_empty() {
                self.by_topic.remove(topic);
            }
        }
    }

    pub(super) fn forget_topic(&mut self, topic: &str) {
        self.by_topic.remove(topic);
    }
}
