use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// When each address may be connected to again.
#[derive(Debug)]
pub(super) struct Backoffs {
    first: Duration,
    most: Duration,
    failing: HashMap<String, Failing>,
}

#[derive(Debug)]
struct Failing {
    /// How often in a row.
    times: u32,
    not_before: Instant,
    /// Why, the last time.
    cause: String,
}

impl Backoffs {
    /// Waits that begin with `first`, double, and end at `most`.
    pub(super) fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, failing: HashMap::new() }
    }

    /// When an attempt to connect to `address` may begin; `None` for at once.
    pub(super) fn not_before(&self, address: &str) -> Option<Instant> {
        self.failing.get(address).map(|failing| failing.not_before)
    }

    /// Why the last attempt to connect to `address` failed, if it did.
    pub(super) fn cause(&self, address: &str) -> Option<&str> {
        self.failing.get(address).map(|failing| failing.cause.as_str())
    }

    /// Notes an attempt that succeeded.
    pub(super) fn succeeded(&mut self, address: &str) {
        self.failing.remove(address);
    }

    /// Notes an attempt that failed at `now`. `random` is even in 0.0 to 1.0.
    pub(super) fn failed(&mut self, address: &str, cause: String, now: Instant, random: f64) {
        let times = self.failing.get(address).map_or(0, |failing| failing.times);
        let wait = wait(self.first, self.most, times, random);
        let failing = Failing { times: times.saturating_add(1), not_before: now + wait, cause };
        self.failing.insert(address.to_owned(), failing);
    }

    /// Forgets addresses.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.failing.retain(|address, _| keep(address));
    }
}

/// The wait after the failure that `before` others came before, in a row: a fifth more or less, so that many clients that
/// lost a broker at the same time don't come back at the same time.
fn wait(first: Duration, most: Duration, before: u32, random: f64) -> Duration {
    let doubled = first.saturating_mul(2u32.saturating_pow(before)).min(most);
    doubled.mul_f64(0.8 + 0.4 * random)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FIRST: Duration = Duration::from_millis(50);
    const MOST: Duration = Duration::from_secs(1);

    #[test]
    fn waits_double_up_to_the_most_and_end_with_a_success() {
        let mut backoffs = Backoffs::new(FIRST, MOST);
        let now = Instant::now();
        assert_eq!(backoffs.not_before("a"), None);
        for millis in [50, 100, 200, 400, 800, 1_000, 1_000] {
            backoffs.failed("a", "refused".to_owned(), now, 0.5);
            assert_eq!(backoffs.not_before("a"), Some(now + Duration::from_millis(millis)));
        }
        assert_eq!(backoffs.not_before("b"), None);
        assert_eq!(backoffs.cause("a"), Some("refused"));
        backoffs.succeeded("a");
        assert_eq!((backoffs.not_before("a"), backoffs.cause("a")), (None, None));
        backoffs.failed("a", "refused".to_owned(), now, 0.5);
        assert_eq!(backoffs.not_before("a"), Some(now + FIRST));
    }

    proptest! {
        #[test]
        fn waits_stay_within_a_fifth_of_their_limits(before in any::<u32>(), random in 0.0..1.0f64) {
            let wait = wait(FIRST, MOST, before, random);
            prop_assert!(wait >= FIRST.mul_f64(0.8) && wait <= MOST.mul_f64(1.2));
        }
    }
}
