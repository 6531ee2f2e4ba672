use std::collections::BTreeMap;

use super::intervals::Intervals;
use super::message::{Beginning, PartitionOffsets};
use crate::broker::CommittedOffset;
use crate::record::TopicPartition;

/// The watermarks of all open ownerships, and what of them is committed. Plain data.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    partitions: BTreeMap<TopicPartition, Entry>,
}

#[derive(Debug)]
struct Entry {
    epoch: u64,
    settled: Intervals,
    /// `None` while not even the start is committed.
    committed: Option<i64>,
    /// Whether it is to be committed again though nothing changed.
    again: bool,
    start: i64,
    /// The leader epoch committed beside the start.
    start_leader_epoch: Option<i32>,
    /// From which offset on records are of which leader epoch, ascending.
    leader_epochs: Vec<(i64, Option<i32>)>,
    /// Carried along: it may be another tool's.
    metadata: String,
}

/// A watermark to be committed, of the ownership with this epoch.
pub(crate) type Watermark = (u64, CommittedOffset);

impl Entry {
    fn is_committed(&self) -> bool {
        self.committed == Some(self.settled.watermark())
    }

    /// The leader epoch of the record below `offset`. Nothing where it is not known for sure: with a lower one the broker
    /// would take the log for cut back.
    fn leader_epoch(&self, offset: i64) -> Option<i32> {
        if offset == self.start {
            return self.start_leader_epoch;
        }
        self.leader_epochs.iter().rev().find(|(from, _)| *from < offset).and_then(|(_, leader_epoch)| *leader_epoch)
    }
}

impl Ledger {
    pub(crate) fn open(&mut self, partition: TopicPartition, epoch: u64, beginning: Beginning) {
        let Beginning { start, committed, leader_epoch, metadata } = beginning;
        let entry = Entry {
            epoch,
            settled: Intervals::new(start),
            committed: committed.then_some(start),
            again: false,
            start,
            start_leader_epoch: leader_epoch,
            leader_epochs: Vec::new(),
            metadata,
        };
        self.partitions.insert(partition, entry);
    }

    pub(crate) fn close(&mut self, partition: &TopicPartition, epoch: u64) {
        if self.entry(partition, epoch).is_some() {
            self.partitions.remove(partition);
        }
    }

    fn entry(&mut self, partition: &TopicPartition, epoch: u64) -> Option<&mut Entry> {
        self.partitions.get_mut(partition).filter(|entry| entry.epoch == epoch)
    }

    pub(crate) fn settle(&mut self, partition: &TopicPartition, epoch: u64, from: i64, to: i64) {
        if let Some(entry) = self.entry(partition, epoch) {
            entry.settled.settle(from, to);
        }
    }

    /// Notes that records from `from` on are of this leader epoch.
    pub(crate) fn leader_epoch(
        &mut self,
        partition: &TopicPartition,
        epoch: u64,
        from: i64,
        leader_epoch: Option<i32>,
    ) {
        let Some(entry) = self.entry(partition, epoch) else { return };
        let watermark = entry.settled.watermark();
        // What lies below the one that holds the watermark is not asked for any more.
        let past = entry.leader_epochs.iter().rposition(|(from, _)| *from < watermark).unwrap_or_default();
        entry.leader_epochs.drain(..past);
        // A new incarnation tells again what the last one did.
        if entry.leader_epochs.last().is_none_or(|(last, known)| *last < from && *known != leader_epoch) {
            entry.leader_epochs.push((from, leader_epoch));
        }
    }

    /// The watermarks that are not committed yet.
    pub(crate) fn uncommitted(&self) -> Vec<Watermark> {
        let behind = self.partitions.iter().filter(|(_, entry)| entry.again || !entry.is_committed());
        let watermark = |(partition, entry): (&TopicPartition, &Entry)| {
            let offset = entry.settled.watermark();
            let committed = CommittedOffset {
                partition: partition.clone(),
                offset,
                metadata: entry.metadata.clone(),
                leader_epoch: entry.leader_epoch(offset),
            };
            (entry.epoch, committed)
        };
        behind.map(watermark).collect()
    }

    pub(crate) fn committed(&mut self, partition: &TopicPartition, epoch: u64, offset: i64) {
        if let Some(entry) = self.entry(partition, epoch) {
            entry.committed = Some(entry.committed.map_or(offset, |committed| committed.max(offset)));
            entry.again = false;
        }
    }

    /// Has everything committed again.
    pub(crate) fn again(&mut self) {
        self.partitions.values_mut().for_each(|entry| entry.again = true);
    }

    /// Whether records of an ownership are settled that are not committed.
    pub(crate) fn is_behind(&self, partition: &TopicPartition, epoch: u64) -> bool {
        let entry = self.partitions.get(partition).filter(|entry| entry.epoch == epoch);
        entry.is_some_and(|entry| entry.settled.watermark() > entry.committed.unwrap_or(entry.start))
    }

    /// Whether all that is settled is committed: of one ownership, or of all. One that is closed has nothing left.
    pub(crate) fn is_committed(&self, ownership: Option<&(TopicPartition, u64)>) -> bool {
        match ownership {
            None => self.partitions.values().all(Entry::is_committed),
            Some((partition, epoch)) => {
                self.partitions.get(partition).is_none_or(|entry| entry.epoch != *epoch || entry.is_committed())
            }
        }
    }

    pub(crate) fn snapshot(&self) -> Vec<PartitionOffsets> {
        let partitions = self.partitions.iter();
        partitions
            .map(|(partition, entry)| PartitionOffsets {
                partition: partition.clone(),
                watermark: entry.settled.watermark(),
                committed: entry.committed.unwrap_or(entry.start),
                gaps: entry.settled.gaps(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders() -> TopicPartition {
        TopicPartition::new("orders", 0)
    }

    fn ledger(epoch: u64, start: i64) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.open(orders(), epoch, Beginning::committed(start));
        ledger
    }

    fn uncommitted(ledger: &Ledger) -> Vec<(i64, Option<i32>)> {
        ledger.uncommitted().into_iter().map(|(_, offset)| (offset.offset, offset.leader_epoch)).collect()
    }

    #[test]
    fn only_the_watermark_is_ever_to_be_committed() {
        let mut ledger = ledger(1, 5);
        ledger.settle(&orders(), 1, 6, 9);
        assert_eq!(uncommitted(&ledger), []);
        ledger.settle(&orders(), 1, 5, 6);
        assert_eq!(uncommitted(&ledger), [(9, None)]);
        ledger.committed(&orders(), 1, 9);
        assert_eq!(uncommitted(&ledger), []);
        ledger.again();
        assert_eq!(uncommitted(&ledger), [(9, None)]);
        ledger.committed(&orders(), 1, 9);
        assert_eq!(uncommitted(&ledger), []);
    }

    #[test]
    fn settlements_and_commits_of_another_epoch_are_ignored() {
        let mut ledger = ledger(2, 0);
        ledger.settle(&orders(), 1, 0, 10);
        ledger.committed(&orders(), 1, 10);
        ledger.close(&orders(), 1);
        let snapshot = ledger.snapshot();
        assert_eq!((snapshot[0].watermark, snapshot[0].committed), (0, 0));
    }

    #[test]
    fn a_start_is_committed_before_anything_is_settled_and_carries_its_metadata_along() {
        let mut ledger = Ledger::default();
        let beginning =
            Beginning { start: 7, committed: false, leader_epoch: Some(3), metadata: "by a tool".to_owned() };
        ledger.open(orders(), 1, beginning);
        assert!(!ledger.is_committed(Some(&(orders(), 1))) && !ledger.is_committed(None));
        let [(1, start)] = &ledger.uncommitted()[..] else { panic!("the start") };
        assert_eq!((start.offset, start.leader_epoch, start.metadata.as_str()), (7, Some(3), "by a tool"));
        ledger.committed(&orders(), 1, 7);
        assert!(ledger.is_committed(Some(&(orders(), 1))) && ledger.is_committed(None));
        ledger.settle(&orders(), 1, 7, 8);
        // The leader epoch of the start says nothing of the record after it.
        assert_eq!((uncommitted(&ledger), ledger.uncommitted()[0].1.metadata.as_str()), (vec![(8, None)], "by a tool"));
        // Another ownership has nothing left.
        assert!(ledger.is_committed(Some(&(orders(), 2))));
    }

    #[test]
    fn a_watermark_has_the_leader_epoch_of_the_record_below_it() {
        let mut ledger = ledger(1, 0);
        ledger.leader_epoch(&orders(), 1, 0, Some(4));
        ledger.leader_epoch(&orders(), 1, 10, Some(6));
        ledger.leader_epoch(&orders(), 1, 15, Some(6));
        ledger.leader_epoch(&orders(), 1, 20, None);
        let mut at = |to| {
            ledger.settle(&orders(), 1, 0, to);
            // As a new incarnation does.
            ledger.leader_epoch(&orders(), 1, 20, None);
            uncommitted(&ledger)
        };
        for (to, leader_epoch) in [(1, Some(4)), (10, Some(4)), (11, Some(6)), (20, Some(6)), (21, None)] {
            assert_eq!(at(to), [(to, leader_epoch)]);
        }
    }
}
