use std::collections::HashMap;

use crate::broker::batch::{BatchHeader, raw_records};

/// What a partition knows of transactions: which are open, and which were aborted.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    /// The first offset of each open transaction, by producer id.
    open: HashMap<i64, i64>,
    aborted: Vec<Aborted>,
}

/// An aborted transaction; readers of committed records leave its records out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aborted {
    pub(crate) producer_id: i64,
    pub(crate) first_offset: i64,
    /// The offset of its marker.
    last_offset: i64,
}

impl Transactions {
    /// The first offset of the oldest open transaction.
    pub(super) fn first_open(&self) -> Option<i64> {
        self.open.values().min().copied()
    }

    /// Takes note of a batch that is being appended.
    pub(super) fn note(&mut self, header: &BatchHeader, bytes: &[u8]) {
        if !header.is_transactional() {
            return;
        }
        if !header.is_control() {
            self.open.entry(header.producer_id).or_insert(header.base_offset);
            return;
        }
        let Some(first_offset) = self.open.remove(&header.producer_id) else { return };
        // A marker's key is a version and a type, two bytes each; type 0 is an abort.
        let key = raw_records(bytes, header).and_then(|records| records.first().and_then(|record| record.key));
        if matches!(key, Some([_, _, 0, 0])) {
            let last_offset = header.base_offset + i64::from(header.last_offset_delta);
            self.aborted.push(Aborted { producer_id: header.producer_id, first_offset, last_offset });
        }
    }

    /// Forgets what came at or after `end`, the new end of the log; which transactions are open is to be told anew.
    pub(super) fn cut_off(&mut self, end: i64) {
        self.open.clear();
        self.aborted.retain(|aborted| aborted.last_offset < end);
    }

    /// Takes note of a batch for the second time, after [`cut_off`](Self::cut_off).
    pub(super) fn note_again(&mut self, header: &BatchHeader) {
        if header.is_transactional() && header.is_control() {
            self.open.remove(&header.producer_id);
        } else if header.is_transactional() {
            self.open.entry(header.producer_id).or_insert(header.base_offset);
        }
    }

    /// Whether the record at `offset` belongs to an aborted transaction of this producer.
    pub(super) fn is_aborted(&self, producer_id: i64, offset: i64, is_transactional: bool) -> bool {
        is_transactional
            && self.aborted.iter().any(|aborted| {
                aborted.producer_id == producer_id && (aborted.first_offset..aborted.last_offset).contains(&offset)
            })
    }

    /// The aborted transactions that overlap `[offset, end)`, by first offset.
    pub(super) fn aborted(&self, offset: i64, end: i64) -> Vec<Aborted> {
        let overlaps = |aborted: &&Aborted| aborted.first_offset < end && aborted.last_offset >= offset;
        let mut found: Vec<Aborted> = self.aborted.iter().filter(overlaps).copied().collect();
        found.sort_by_key(|aborted| aborted.first_offset);
        found
    }
}
