use std::fmt::{self, Write};
use std::ops::Range;

use chrono::{DateTime, Datelike, NaiveDate, Timelike};

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
    // As a rule it is what we wrote; a parser of all forms takes several times as long.
    written(text.as_bytes()).or_else(|| match text.parse() {
        Ok(millis) => Some(millis),
        Err(_) => DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_millis()),
    })
}

/// Reads `0000-00-00T00:00:00.000Z`.
fn written(text: &[u8]) -> Option<i64> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if marks.iter().any(|(place, mark)| text[*place] != *mark) {
        return None;
    }
    let number = |place: Range<usize>| {
        text[place]
            .iter()
            .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0')))
    };
    let date = NaiveDate::from_ymd_opt(number(0..4)?.try_into().ok()?, number(5..7)?, number(8..10)?)?;
    let time = date.and_hms_milli_opt(number(11..13)?, number(14..16)?, number(17..19)?, number(20..23)?)?;
    Some(time.and_utc().timestamp_millis())
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
        assert_eq!(parse("2024-02-29T00:00:00.000Z"), Some(1_709_164_800_000));
        for none in ["2023-02-29T00:00:00.000Z", "2024-01-15T24:00:00.000Z", "2024-01-15T10:30:00.0-0Z"] {
            assert_eq!(parse(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn times_round_trip(millis in prop_oneof![any::<i64>(), -70_000_000_000_000..300_000_000_000_000i64]) {
            prop_assert_eq!(parse(&text(millis)), Some(millis));
        }

        #[test]
        fn garbage_never_panics(text in "(\\PC{0,30}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9+]{3}Z)") {
            let _ = parse(&text);
        }
    }
}
