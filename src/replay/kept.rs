use std::cmp::Ordering;

use super::entry::State;
use crate::record::Record;

/// A record that is kept while others are looked at, in the order of its rank.
pub(super) struct Kept<R> {
    pub(super) rank: R,
    pub(super) record: Record,
    pub(super) state: State,
}

impl<R: Ord> PartialEq for Kept<R> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<R: Ord> Eq for Kept<R> {}

impl<R: Ord> PartialOrd for Kept<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Ord> Ord for Kept<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}
