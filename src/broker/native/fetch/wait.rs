use std::time::Duration;

/// The wait of the first request that leaves partitions out.
const FIRST: Duration = Duration::from_millis(10);

/// How long the broker may wait for data, request by request.
///
/// What is not in a request waits as long as the request does: so one with newcomers, whose data may be there, does not wait
/// at all, and while partitions are left out for lack of credit the wait is short and grows, since they
/// may get credit back at any time.
#[derive(Debug)]
pub(super) struct Wait {
    longest: Duration,
    left_out: Vec<u64>,
    pause: Duration,
}

impl Wait {
    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, left_out: Vec::new(), pause: FIRST }
    }

    /// The wait of the next request; `left_out` names the partitions that are not in it.
    pub(super) fn next(&mut self, newcomers: bool, mut left_out: Vec<u64>) -> Duration {
        left_out.sort_unstable();
        if left_out != self.left_out {
            self.left_out = left_out;
            self.pause = FIRST;
        } else if !newcomers {
            self.pause = (self.pause * 2).min(self.longest);
        }
        if newcomers {
            Duration::ZERO
        } else if self.left_out.is_empty() {
            self.longest
        } else {
            self.pause.min(self.longest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_while_the_same_partitions_are_left_out() {
        let mut wait = Wait::new(Duration::from_millis(500));
        let mut next = |newcomers, left_out: &[u64]| wait.next(newcomers, left_out.to_vec()).as_millis();
        assert_eq!(next(true, &[]), 0);
        assert_eq!(next(false, &[]), 500);
        assert_eq!([next(false, &[1, 2]), next(false, &[2, 1]), next(false, &[1, 2])], [10, 20, 40]);
        assert_eq!(next(false, &[1]), 10);
        assert_eq!([(); 8].map(|()| next(false, &[1])).last(), Some(&500));
        assert_eq!(next(false, &[]), 500);
        assert_eq!(next(false, &[1]), 10);
    }

    #[test]
    fn no_wait_is_longer_than_the_setting() {
        let mut wait = Wait::new(Duration::from_millis(3));
        for left_out in [vec![], vec![1], vec![1], vec![]] {
            assert!(wait.next(false, left_out) <= Duration::from_millis(3));
        }
    }
}
