use std::time::Duration;

use tokio::time::Instant;

/// A partition's turn on its lane: over after a while, so that the lane's other partitions and timers get theirs even
/// if no handler ever waits.
///
/// Yielding costs the lane a look at its timers and sockets, which is a system call and as much as several fast
/// records; a look at the clock costs half a fast record. So the clock is read after each slow record and rarely among
/// fast ones.
#[derive(Debug)]
pub(super) struct Turn {
    began: Instant,
    records: u32,
    /// When the clock was read last, and after how many records it is read again.
    looked: Instant,
    stride: u32,
    left: u32,
    /// Whether others have run since the clock was read last.
    rested: bool,
}

/// The clock is read after at most so many records.
const STRIDE: u32 = 32;
/// The stride is halved when it took longer than this, and doubled when it did not.
const GLANCE: Duration = Duration::from_micros(50);
/// A turn is over when it has lasted so long.
const LENGTH: Duration = Duration::from_micros(200);
/// A turn is over after so many records in any case: in paused time the clock stands still.
const MOST: u32 = 1024;

impl Turn {
    pub(super) fn begin() -> Self {
        let now = Instant::now();
        Self { began: now, records: 0, looked: now, stride: STRIDE, left: STRIDE, rested: false }
    }

    /// Counts a record. The time, if it was read.
    pub(super) fn look(&mut self) -> Option<Instant> {
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        let now = Instant::now();
        self.records += self.stride;
        let slow = now.duration_since(self.looked) > GLANCE;
        self.stride = if slow { self.stride / 2 } else { self.stride * 2 }.clamp(1, STRIDE);
        self.left = self.stride;
        self.looked = now;
        if std::mem::take(&mut self.rested) {
            (self.began, self.records) = (now, 0);
        }
        Some(now)
    }

    /// Whether others should run now.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.records >= MOST || now.duration_since(self.began) >= LENGTH
    }

    /// Others have run until now.
    pub(super) fn begin_again(&mut self) {
        self.began = Instant::now();
        self.looked = self.began;
        self.records = 0;
    }

    /// Others have run while a delivery waited: the turn begins anew when the clock is read next.
    pub(super) fn rested(&mut self) {
        self.rested = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many records the next turn has if each takes so long.
    async fn records(turn: &mut Turn, each: Duration) -> u32 {
        for records in 1.. {
            tokio::time::advance(each).await;
            if turn.look().is_some_and(|now| turn.is_over(now)) {
                turn.begin_again();
                return records;
            }
        }
        unreachable!("a turn ends")
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_over_by_time_or_by_count() {
        let mut turn = Turn::begin();
        assert_eq!(records(&mut turn, Duration::ZERO).await, MOST);
        // The clock of a partition whose records become slow is read more and more often.
        for expected in [32, 16, 8, 4, 2, 1, 1] {
            assert_eq!(records(&mut turn, LENGTH).await, expected);
        }
    }
}
