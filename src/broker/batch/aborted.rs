use std::collections::HashSet;

use super::header::{BatchHeader, HEADER_LENGTH};
use super::walk::walk;

/// An aborted transaction, as a broker lists it beside the records that it answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AbortedTransaction {
    pub(crate) producer_id: i64,
    pub(crate) first_offset: i64,
}

/// Tells the batches of aborted transactions from others, as they are read in the order of the log.
#[derive(Debug)]
pub(super) struct AbortedRanges {
    /// Those not yet reached, the next one last.
    pending: Vec<AbortedTransaction>,
    /// The producers within an aborted transaction.
    producers: HashSet<i64>,
}

impl AbortedRanges {
    pub(super) fn new(mut transactions: Vec<AbortedTransaction>) -> Self {
        transactions.sort_by_key(|transaction| std::cmp::Reverse(transaction.first_offset));
        Self { pending: transactions, producers: HashSet::new() }
    }

    /// Takes note of the next batch, and says whether its records belong to an aborted transaction.
    pub(super) fn note(&mut self, header: &BatchHeader, last_offset: i64, batch: &[u8]) -> bool {
        if header.producer_id < 0 {
            return false;
        }
        while let Some(begun) = self.pending.pop_if(|next| next.first_offset <= last_offset) {
            self.producers.insert(begun.producer_id);
        }
        if header.is_control() {
            if ends_abort(header, batch) {
                self.producers.remove(&header.producer_id);
            }
            return false;
        }
        header.is_transactional() && self.producers.contains(&header.producer_id)
    }
}

/// Whether a control batch ends an aborted transaction. One that can't be read does: showing records of the transaction that
/// was aborted is better than losing those of the producer's next one.
fn ends_abort(header: &BatchHeader, batch: &[u8]) -> bool {
    // A marker's key is a version and a type, two bytes each; type 0 is an abort.
    marker_key(header, batch).is_none_or(|key| matches!(key, [_, _, 0, 0, ..]))
}

fn marker_key<'a>(header: &BatchHeader, batch: &'a [u8]) -> Option<&'a [u8]> {
    let body = Some(&batch[HEADER_LENGTH..]).filter(|_| !header.is_compressed())?;
    let mut spans = Vec::new();
    walk(body, header, 0, i64::MIN, &mut spans).ok()?;
    spans.first()?.key.of(body).filter(|key| key.len() >= 4)
}
