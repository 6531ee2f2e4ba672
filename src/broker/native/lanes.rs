use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which of several connections for one purpose are in use.
#[derive(Debug, Clone, Default)]
pub(super) struct Lanes {
    taken: Arc<Mutex<BTreeSet<usize>>>,
}

/// A connection that is in use until this is dropped.
#[derive(Debug)]
pub(super) struct Lane {
    lanes: Lanes,
    number: usize,
}

impl Lanes {
    /// Takes the first that is free.
    pub(super) fn take(&self) -> Lane {
        let mut taken = self.lock();
        let number = (0..).find(|number| !taken.contains(number)).unwrap_or_default();
        taken.insert(number);
        Lane { lanes: self.clone(), number }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        // Held for single, consistent changes only.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    pub(super) fn number(&self) -> usize {
        self.number
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.lanes.lock().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_shares_a_lane_and_those_given_back_are_used_again() {
        let lanes = Lanes::default();
        let (first, second) = (lanes.take(), lanes.take());
        assert_eq!([first.number(), second.number()], [0, 1]);
        drop(first);
        let (again, third) = (lanes.take(), lanes.take());
        assert_eq!([again.number(), third.number()], [0, 2]);
    }
}
