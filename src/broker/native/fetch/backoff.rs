use std::time::Duration;

/// The longest pause after the first failure, and after any.
const FIRST: Duration = Duration::from_millis(100);
pub(super) const LONGEST: Duration = Duration::from_secs(5);

/// The pause after so many failures in a row, counted from 1: it doubles each time up to a limit. `jitter`, in 0 to 1, takes up
/// to half of it away, so that those who failed together do not all come back together.
pub(super) fn pause(failures: u32, jitter: f64) -> Duration {
    let whole = FIRST.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST);
    whole.mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses: Vec<_> = (1..9).map(|failures| pause(failures, 0.0).as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    }

    proptest! {
        #[test]
        fn a_pause_is_never_none_and_never_too_long(failures: u32, jitter in 0.0..=1.0) {
            let pause = pause(failures, jitter);
            prop_assert!((Duration::from_millis(50)..=LONGEST).contains(&pause));
        }
    }
}
