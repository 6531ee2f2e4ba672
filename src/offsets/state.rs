use std::collections::BTreeMap;

use super::intervals::Intervals;
use super::message::PartitionOffsets;
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
    committed: i64,
}

impl Ledger {
    pub(crate) fn open(&mut self, partition: TopicPartition, epoch: u64, start: i64) {
        self.partitions.insert(partition, Entry { epoch, settled: Intervals::new(start), committed: start });
    }

    pub(crate) fn close(&mut self, partition: &TopicPartition, epoch: u64) {
        if self.partitions.get(partition).is_some_and(|entry| entry.epoch == epoch) {
            self.partitions.remove(partition);
        }
    }

    pub(crate) fn settle(&mut self, partition: &TopicPartition, epoch: u64, from: i64, to: i64) {
        if let Some(entry) = self.partitions.get_mut(partition)
            && entry.epoch == epoch
        {
            entry.settled.settle(from, to);
        }
    }

    /// The watermarks that are not committed yet.
    pub(crate) fn uncommitted(&self) -> Vec<(TopicPartition, i64)> {
        let behind = self.partitions.iter().filter(|(_, entry)| entry.settled.watermark() > entry.committed);
        behind.map(|(partition, entry)| (partition.clone(), entry.settled.watermark())).collect()
    }

    pub(crate) fn committed(&mut self, partition: &TopicPartition, offset: i64) {
        if let Some(entry) = self.partitions.get_mut(partition) {
            // A late answer of an earlier ownership, which started lower or elsewhere, changes nothing.
            if offset <= entry.settled.watermark() {
                entry.committed = entry.committed.max(offset);
            }
        }
    }

    pub(crate) fn snapshot(&self) -> Vec<PartitionOffsets> {
        let partitions = self.partitions.iter();
        partitions
            .map(|(partition, entry)| PartitionOffsets {
                partition: partition.clone(),
                watermark: entry.settled.watermark(),
                committed: entry.committed,
                gaps: entry.settled.gaps(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_watermark_is_ever_to_be_committed() {
        let orders = TopicPartition::new("orders", 0);
        let mut ledger = Ledger::default();
        ledger.open(orders.clone(), 1, 5);
        ledger.settle(&orders, 1, 6, 9);
        assert_eq!(ledger.uncommitted(), []);
        ledger.settle(&orders, 1, 5, 6);
        assert_eq!(ledger.uncommitted(), [(orders.clone(), 9)]);
        ledger.committed(&orders, 9);
        assert_eq!(ledger.uncommitted(), []);
    }

    #[test]
    fn settlements_of_another_epoch_are_ignored() {
        let orders = TopicPartition::new("orders", 0);
        let mut ledger = Ledger::default();
        ledger.open(orders.clone(), 2, 0);
        ledger.settle(&orders, 1, 0, 10);
        ledger.close(&orders, 1);
        assert_eq!(ledger.snapshot()[0].watermark, 0);
    }
}
