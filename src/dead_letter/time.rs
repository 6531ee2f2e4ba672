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
        Some(time) if (0..=9999).contains(&time.year()) => {
            // Digit by digit: this is written several times per dead letter, and formatting takes ten times as long.
            let mut text = *b"0000-00-00T00:00:00.000Z";
            digits(&mut text[0..4], time.year().unsigned_abs());
            digits(&mut text[5..7], time.month());
            digits(&mut text[8..10], time.day());
            digits(&mut text[11..13], time.hour());
            digits(&mut text[14..16], time.minute());
            digits(&mut text[17..19], time.second());
            digits(&mut text[20..23], time.timestamp_subsec_millis());
            to.write_str(str::from_utf8(&text).unwrap_or_default())
        }
        _ => write!(to, "{millis}"),
    }
}

/// Puts a number's last digits into all of `place`.
fn digits(place: &mut [u8], mut number: u32) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Reads what [`text`] writes, and RFC 3339 in general.
pub(crate) fn parse(text: &str) -> Option<i64> {
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
