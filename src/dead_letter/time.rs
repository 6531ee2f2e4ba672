use std::fmt::{self, Write};

use chrono::{DateTime, Datelike, Timelike};

/// Milliseconds since the Unix epoch as RFC 3339 in UTC. A record's timestamp can be any number: outside the years that
/// the format knows it stays a decimal number.
pub(super) fn text(millis: i64) -> String {
    let mut text = String::with_capacity(24);
    // Writing to a string cannot fail.
    let _ = put(&mut text, millis);
    text
}

/// Writes what [`text`] returns.
pub(super) fn put(to: &mut impl Write, millis: i64) -> fmt::Result {
    match DateTime::from_timestamp_millis(millis) {
        Some(time) if (0..=9999).contains(&time.year()) => write!(
            to,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            time.year(),
            time.month(),
            time.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.timestamp_subsec_millis()
        ),
        _ => write!(to, "{millis}"),
    }
}

/// Reads what [`text`] writes, and RFC 3339 in general.
pub(super) fn parse(text: &str) -> Option<i64> {
    match text.parse() {
        Ok(millis) => Some(millis),
        Err(_) => DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_millis()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_utc_with_millis() {
        assert_eq!(text(1_705_314_600_007), "2024-01-15T10:30:00.007Z");
        assert_eq!(text(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(text(i64::MAX), i64::MAX.to_string());
        assert_eq!(parse("2024-01-15T11:30:00+01:00"), Some(1_705_314_600_000));
        assert_eq!(parse("yesterday"), None);
    }

    proptest! {
        #[test]
        fn times_round_trip(millis in prop_oneof![any::<i64>(), -70_000_000_000_000..300_000_000_000_000i64]) {
            prop_assert_eq!(parse(&text(millis)), Some(millis));
        }

        #[test]
        fn garbage_never_panics(text in "\\PC{0,30}") {
            let _ = parse(&text);
        }
    }
}
