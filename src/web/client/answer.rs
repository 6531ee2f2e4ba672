use std::fmt;
use std::time::{Duration, SystemTime};

use chrono::DateTime;

/// Why something was not posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It did not come to an answer in time, or at all.
    Unanswered(String),
    /// The connection cannot be encrypted as the settings want it.
    Tls(String),
    /// The answer was no success.
    Refused {
        /// The status.
        status: u16,
        /// How long the receiver wants to be left alone.
        after: Option<Duration>,
        /// The beginning of its text.
        said: String,
    },
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Try again after a while.
    Again,
    /// Try again, but not before this.
    After(Duration),
    /// Leave it: another attempt would be answered in the same way.
    Leave,
}

impl Problem {
    /// What to do about it. Of the receivers' refusals only those may pass that say so: too slow, too early, too many, and their
    /// own failures.
    pub(crate) fn advice(&self) -> Advice {
        match self {
            // A certificate can be renewed.
            Self::Unanswered(_) | Self::Tls(_) => Advice::Again,
            Self::Refused { status: 408 | 425 | 429 | 500..=599, after, .. } => {
                after.map_or(Advice::Again, Advice::After)
            }
            Self::Refused { .. } => Advice::Leave,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered(why) | Self::Tls(why) => f.write_str(why),
            Self::Refused { status, said, .. } => {
                write!(f, "it answered {status}")?;
                if (300..400).contains(status) {
                    write!(f, " (redirects are not followed: give the address that it leads to)")?;
                }
                if said.is_empty() { Ok(()) } else { write!(f, ": {said}") }
            }
        }
    }
}

/// The value of the header `Retry-After`: seconds, or a date.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTime::parse_from_rfc2822(value).ok()?;
    // A date that is past: now.
    Some(SystemTime::from(date).duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn seconds_and_dates_are_understood() {
        let now = UNIX_EPOCH + Duration::from_secs(1_445_412_420);
        assert_eq!(retry_after("120", now), Some(Duration::from_secs(120)));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:00 GMT", now), Some(Duration::from_secs(60)));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:26:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("soon", now), None);
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let advice = |status, after| Problem::Refused { status, after, said: String::new() }.advice();
        assert_eq!(advice(429, Some(Duration::from_secs(3))), Advice::After(Duration::from_secs(3)));
        for status in [408, 429, 500, 502, 503, 504] {
            assert_eq!(advice(status, None), Advice::Again, "{status}");
        }
        for status in [301, 400, 401, 403, 404, 410, 413] {
            assert_eq!(advice(status, Some(Duration::from_secs(3))), Advice::Leave, "{status}");
        }
        let moved = Problem::Refused { status: 301, after: None, said: "moved".to_owned() }.to_string();
        assert!(
            moved.starts_with("it answered 301 (redirects are not followed") && moved.ends_with(": moved"),
            "{moved}"
        );
    }

    proptest! {
        #[test]
        fn garbage_never_panics(value in "\\PC{0,40}") {
            let _ = retry_after(&value, SystemTime::now());
        }
    }
}
