use std::time::Duration;

use super::duration;
use super::error::ConfigError;

/// How long to wait before each retry.
///
/// With jitter (the default, off for [`fixed`](Self::fixed) and [`none`](Self::none)) a wait is shortened by a random
/// part, down to half, so that partitions that failed together do not come back together. It is never lengthened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    shape: BackoffShape,
    jitter: bool,
}

/// How waits grow from retry to retry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BackoffShape {
    /// `base`, `base × multiplier`, `base × multiplier²` …, at most `cap`.
    Exponential {
        /// The first wait.
        base: Duration,
        /// What each wait is multiplied by for the next; at least 1.
        multiplier: f64,
        /// The longest wait.
        cap: Duration,
    },
    /// `base`, `2 × base`, `3 × base` …, at most `cap`.
    Linear {
        /// The first wait, and what is added for each next one.
        base: Duration,
        /// The longest wait.
        cap: Duration,
    },
    /// The same wait each time; zero redelivers at once.
    Fixed(Duration),
}

/// The first wait by default.
pub(super) const BASE: Duration = Duration::from_secs(1);
/// The factor of exponential backoff by default.
pub(super) const MULTIPLIER: f64 = 2.0;
/// The longest wait by default.
pub(super) const CAP: Duration = Duration::from_secs(300);

impl Backoff {
    /// Waits that grow by a factor, with jitter. The default for transient failures is 1 s, 2, 300 s.
    pub const fn exponential(base: Duration, multiplier: f64, cap: Duration) -> Self {
        Self { shape: BackoffShape::Exponential { base, multiplier, cap }, jitter: true }
    }

    /// Waits that grow by `base` each time, with jitter. The default for dependency failures is 1 s, 300 s.
    pub const fn linear(base: Duration, cap: Duration) -> Self {
        Self { shape: BackoffShape::Linear { base, cap }, jitter: true }
    }

    /// The same wait each time, without jitter.
    pub const fn fixed(delay: Duration) -> Self {
        Self { shape: BackoffShape::Fixed(delay), jitter: false }
    }

    /// No wait at all.
    pub const fn none() -> Self {
        Self::fixed(Duration::ZERO)
    }

    /// Switches jitter on or off; off makes waits exact, for tests.
    pub const fn jitter(mut self, jitter: bool) -> Self {
        self.jitter = jitter;
        self
    }

    /// How waits grow.
    pub const fn shape(&self) -> BackoffShape {
        self.shape
    }

    /// Whether waits are shortened by a random part.
    pub const fn has_jitter(&self) -> bool {
        self.jitter
    }

    /// The wait before retry number `retry` (1-based; 0 counts as 1). `random` lies in 0..=1 and is looked at only with
    /// jitter: 0 leaves the wait whole, 1 halves it. Never panics, whatever the values.
    pub fn delay(&self, retry: u32, random: f64) -> Duration {
        let retry = retry.max(1);
        let whole = match self.shape {
            BackoffShape::Exponential { base, multiplier, cap } => {
                let exponent = i32::try_from(retry - 1).unwrap_or(i32::MAX);
                // Past what a duration can hold (or NaN) this is an error, and the cap holds.
                Duration::try_from_secs_f64(base.as_secs_f64() * multiplier.powi(exponent)).unwrap_or(cap).min(cap)
            }
            BackoffShape::Linear { base, cap } => base.checked_mul(retry).unwrap_or(cap).min(cap),
            BackoffShape::Fixed(delay) => delay,
        };
        if !self.jitter {
            return whole;
        }
        let random = if random.is_nan() { 0.0 } else { random.clamp(0.0, 1.0) };
        let half = whole / 2;
        // Subtracting at most half avoids `mul_f64`, which panics near `Duration::MAX`.
        whole - Duration::try_from_secs_f64(half.as_secs_f64() * random).unwrap_or(half).min(half)
    }

    /// Checks the values; `path` is the setting they came from, such as `policies.transient.backoff`.
    pub(crate) fn check(&self, path: &str) -> Result<(), ConfigError> {
        let (base, cap) = match self.shape {
            BackoffShape::Exponential { base, multiplier, cap } => {
                if !(multiplier.is_finite() && multiplier >= 1.0) {
                    return Err(ConfigError::new(
                        format!("{path}.multiplier"),
                        multiplier,
                        "would make waits shrink or is no number",
                        "set it to 1 or more, such as 2",
                    ));
                }
                (base, cap)
            }
            BackoffShape::Linear { base, cap } => (base, cap),
            BackoffShape::Fixed(_) => return Ok(()),
        };
        if base.is_zero() {
            return Err(ConfigError::new(
                format!("{path}.base"),
                duration::text(base),
                "would retry without a pause",
                "set it above zero, such as 1s, or set the kind to none if that is what you want",
            ));
        }
        if cap < base {
            return Err(ConfigError::new(
                format!("{path}.cap"),
                duration::text(cap),
                format!("is below base ({base:?})"),
                format!("set it to {base:?} or more"),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn exponential_waits_are_exact_without_jitter() {
        let backoff = Backoff::exponential(BASE, MULTIPLIER, CAP).jitter(false);
        let waits: Vec<u64> = (1..=11).map(|retry| backoff.delay(retry, 0.7).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(backoff.delay(3, 0.7).subsec_nanos(), 0);
    }

    #[test]
    fn linear_waits_grow_by_base() {
        let backoff = Backoff::linear(BASE, Duration::from_secs(3)).jitter(false);
        let waits: Vec<u64> = (1..=5).map(|retry| backoff.delay(retry, 0.7).as_secs()).collect();
        assert_eq!(waits, [1, 2, 3, 3, 3]);
    }

    #[test]
    fn jitter_spans_half_to_whole() {
        let backoff = Backoff::exponential(BASE, MULTIPLIER, CAP);
        assert_eq!(backoff.delay(3, 0.0), Duration::from_secs(4));
        assert_eq!(backoff.delay(3, 0.5), Duration::from_secs(3));
        assert_eq!(backoff.delay(3, 1.0), Duration::from_secs(2));
    }

    fn durations() -> impl Strategy<Value = Duration> {
        prop_oneof![
            (any::<u64>(), 0..1_000_000_000u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
            (0..10_000u64).prop_map(Duration::from_millis),
            Just(Duration::MAX),
        ]
    }

    proptest! {
        #[test]
        fn never_panics_and_stays_between_half_and_whole_below_the_cap(
            base in durations(), cap in durations(), multiplier in any::<f64>(), retry in any::<u32>(), random in any::<f64>(), linear in any::<bool>(),
        ) {
            let backoff = if linear { Backoff::linear(base, cap) } else { Backoff::exponential(base, multiplier, cap) };
            let whole = backoff.jitter(false).delay(retry, random);
            let jittered = backoff.delay(retry, random);
            prop_assert!(whole <= cap);
            prop_assert!(jittered <= whole && jittered >= whole / 2);
        }

        #[test]
        fn waits_never_shrink_from_retry_to_retry(base in 1..5_000u64, multiplier in 1.0..10.0f64, retry in 1..200u32) {
            let backoff = Backoff::exponential(Duration::from_millis(base), multiplier, CAP).jitter(false);
            prop_assert!(backoff.delay(retry + 1, 0.0) >= backoff.delay(retry, 0.0));
        }
    }
}
