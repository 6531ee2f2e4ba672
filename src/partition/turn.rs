use std::time::Duration;

use tokio::time::Instant;

/// A partition's turn on its lane: over after a while, so that the lane's other partitions and timers get theirs even
/// if no handler ever waits.
///
/// Yielding costs the lane a look at its timers and sockets, which is a system call and as much as several fast
/// records. So a slow handler yields whenever the clock is read, and a fast one rarely.
#[derive(Debug)]
pub(super) struct Turn {
    began: Instant,
    records: u32,
}

/// The clock is read after so many records.
const LOOK: u32 = 32;
/// A turn is over when it has lasted so long.
const LENGTH: Duration = Duration::from_micros(200);
/// A turn is over after so many records in any case: in paused time the clock stands still.
const MOST: u32 = 1024;

impl Turn {
    pub(super) fn begin() -> Self {
        Self { began: Instant::now(), records: 0 }
    }

    /// Counts a record; true if others should run before it.
    pub(super) fn is_over(&mut self) -> bool {
        self.records += 1;
        self.records.is_multiple_of(LOOK) && (self.records >= MOST || self.began.elapsed() >= LENGTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_over_by_time_or_by_count() {
        let mut slow = Turn::begin();
        tokio::time::advance(LENGTH).await;
        assert_eq!((1..=MOST).find(|_| slow.is_over()), Some(LOOK));
        let mut fast = Turn::begin();
        assert_eq!((1..=MOST).find(|_| fast.is_over()), Some(MOST));
    }
}
