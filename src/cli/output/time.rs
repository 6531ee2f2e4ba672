use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Datelike, SecondsFormat};

/// Now, in milliseconds since the Unix epoch.
pub(in crate::cli) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Milliseconds since the Unix epoch as RFC 3339 in UTC; as a number, outside the years that the format knows.
pub(in crate::cli) fn rfc3339(millis: i64) -> String {
    match DateTime::from_timestamp_millis(millis) {
        Some(time) if (0..=9999).contains(&time.year()) => time.to_rfc3339_opts(SecondsFormat::Millis, true),
        _ => millis.to_string(),
    }
}

/// How long before `now` that was, in one unit: `5s`, `3m`, `2h`, `9d`.
pub(in crate::cli) fn age(now: i64, then: i64) -> String {
    let seconds = now.saturating_sub(then) / 1_000;
    match seconds {
        // A clock elsewhere may be ahead of this one.
        ..0 => "0s".to_owned(),
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A point in time as people write it: RFC 3339, a date for its midnight in UTC, or how long ago it is (`2h`, `30m`, `7days`). In
/// milliseconds since the Unix epoch.
pub(in crate::cli) fn parse(text: &str) -> Result<i64, String> {
    for whole in [text, &format!("{text}T00:00:00Z")] {
        if let Ok(time) = DateTime::parse_from_rfc3339(whole) {
            return Ok(time.timestamp_millis());
        }
    }
    let ago = humantime::parse_duration(text).map_err(|_| {
        "write a time such as 2026-01-31T08:00:00Z, a date such as 2026-01-31, or how long ago such as 30m, 2h or 7days".to_owned()
    })?;
    let ago = i64::try_from(ago.as_millis()).map_err(|_| "that is too long ago".to_owned())?;
    Ok(now().saturating_sub(ago))
}

/// A duration as people write it, such as `30s` or `5m`, that is not zero.
pub(in crate::cli) fn parse_duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("it must be longer than nothing".to_owned()),
        Ok(duration) => Ok(duration),
        Err(_) => Err("write a number with a unit, such as 30s or 5m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(parse("2024-01-15T10:30:00Z"), Ok(1_705_314_600_000));
        assert_eq!(parse("2024-01-15T11:30:00+01:00"), Ok(1_705_314_600_000));
        assert_eq!(parse("2024-01-15"), Ok(1_705_276_800_000));
        let hour_ago = now() - 3_600_000;
        assert!((hour_ago..hour_ago + 60_000).contains(&parse("1h").unwrap()));
        for wrong in ["", "yesterday", "10", "2024-01", "2024-01-32"] {
            assert!(parse(wrong).unwrap_err().contains("2h"), "{wrong}");
        }
        assert_eq!(parse_duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert!(parse_duration("0s").is_err() && parse_duration("5").is_err());
    }

    #[test]
    fn times_are_shown_in_utc_and_ages_in_one_unit() {
        assert_eq!(rfc3339(1_705_314_600_007), "2024-01-15T10:30:00.007Z");
        assert_eq!(rfc3339(i64::MIN), i64::MIN.to_string());
        let ages = [-5, 0, 59, 60, 3_599, 3_600, 172_799, 172_800].map(|seconds| age(seconds * 1_000, 0));
        assert_eq!(ages, ["0s", "0s", "59s", "1m", "59m", "1h", "47h", "2d"]);
        assert_eq!(age(i64::MAX, i64::MIN), format!("{}d", i64::MAX / 1_000 / 86_400));
    }
}
