/// Which leader epoch began at which offset of a log.
#[derive(Debug)]
pub(super) struct Epochs {
    current: i32,
    /// Epochs and where they began, both ascending; those of which no record is left are not among them.
    begun: Vec<(i32, i64)>,
}

impl Default for Epochs {
    fn default() -> Self {
        Self { current: 0, begun: vec![(0, 0)] }
    }
}

impl Epochs {
    /// The epoch that the leader has now.
    pub(super) fn current(&self) -> i32 {
        self.current
    }

    /// Begins the next epoch at the end of the log.
    pub(super) fn begin_next(&mut self, end: i64) {
        self.current += 1;
        self.cut_off(end);
        self.begun.push((self.current, end));
    }

    /// Forgets where epochs began at or after `end`, the new end of the log.
    fn cut_off(&mut self, end: i64) {
        self.begun.retain(|(_, start)| *start < end);
    }

    /// Forgets epochs that ended before `start`, the new start of the log.
    pub(super) fn cut_before(&mut self, start: i64) {
        let before = self.begun.partition_point(|(_, begun)| *begun <= start);
        if before > 0 {
            self.begun.drain(..before - 1);
            self.begun[0].1 = start;
        }
    }

    /// The epoch in which the record at `offset` was written.
    pub(super) fn at(&self, offset: i64) -> i32 {
        let after = self.begun.partition_point(|(_, start)| *start <= offset);
        after.checked_sub(1).map_or(self.current, |last| self.begun[last].0)
    }

    /// The largest epoch up to `epoch` that the log knows, and where it ended; `end` is the end of the log. `None`
    /// where the epoch lies in the future.
    pub(super) fn end_of(&self, epoch: i32, end: i64) -> Option<(i32, i64)> {
        if epoch == self.current {
            return Some((epoch, end));
        }
        if epoch < 0 {
            return None;
        }
        let after = self.begun.partition_point(|(begun, _)| *begun <= epoch);
        let (_, ended) = *self.begun.get(after)?;
        // An epoch before all that are known ended where they begin.
        let floor = after.checked_sub(1).map_or(epoch, |floor| self.begun[floor].0);
        Some((floor, ended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Epoch 0 from offset 0, 1 from 10, 3 from 20 (2 wrote nothing).
    fn epochs() -> Epochs {
        let mut epochs = Epochs::default();
        for end in [10, 20, 20] {
            epochs.begin_next(end);
        }
        epochs
    }

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let epochs = epochs();
        let ends: Vec<_> = (-1..5).map(|epoch| epochs.end_of(epoch, 30)).collect();
        assert_eq!(ends, [None, Some((0, 10)), Some((1, 20)), Some((1, 20)), Some((3, 30)), None]);
        assert_eq!([0, 9, 10, 19, 20, 40].map(|offset| epochs.at(offset)), [0, 0, 1, 1, 3, 3]);
    }

    #[test]
    fn a_log_that_goes_back_forgets_the_epochs_it_loses() {
        let mut epochs = epochs();
        epochs.begin_next(15);
        assert_eq!(epochs.current(), 4);
        assert_eq!(epochs.end_of(3, 18), Some((1, 15)));
        epochs.begin_next(0);
        assert_eq!(epochs.end_of(1, 0), Some((1, 0)), "nothing of it is left");
    }

    #[test]
    fn a_log_that_loses_its_start_forgets_epochs_that_ended_there() {
        let mut epochs = epochs();
        epochs.cut_before(12);
        assert_eq!(epochs.end_of(0, 30), Some((0, 12)));
        assert_eq!(epochs.end_of(1, 30), Some((1, 20)));
    }
}
