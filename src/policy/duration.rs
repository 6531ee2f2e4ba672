use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// Reads an optional duration from text such as "250ms", "30s" or "5m"; for `#[serde(deserialize_with)]`.
pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let Some(Written(text)) = Option::deserialize(deserializer)? else { return Ok(None) };
    parse(&text).map(Some)
}

/// Reads a duration from text such as "250ms", "30s" or "5m"; for `#[serde(deserialize_with)]`.
pub(crate) fn required<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let Written(text) = Written::deserialize(deserializer)?;
    parse(&text)
}

/// Reads a duration, or `None` from `"off"`; for `#[serde(deserialize_with)]`.
pub(crate) fn or_off<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let Written(text) = Written::deserialize(deserializer)?;
    if text == "off" {
        return Ok(None);
    }
    let invalid = |error| de::Error::custom(format!("{text:?} is not a duration ({error}): write \"30s\", or \"off\""));
    humantime::parse_duration(&text).map(Some).map_err(invalid)
}

/// The text of a duration. Of a bare number, which has no unit, the error says how to write it.
struct Written(String);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(AsText)
    }
}

struct AsText;

impl de::Visitor<'_> for AsText {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration with its unit, as text, such as \"10s\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Written, E> {
        Ok(Written(text.to_owned()))
    }
}

fn parse<E: de::Error>(text: &str) -> Result<Duration, E> {
    humantime::parse_duration(text).map_err(|error| {
        de::Error::custom(format!(
            "{text:?} is not a duration ({error}): write a number with a unit, like \"250ms\", \"30s\" or \"5m\""
        ))
    })
}

/// A duration as settings write it, quoted by `Debug`: in one unit, so "300s" rather than "5m".
pub(crate) fn text(duration: Duration) -> String {
    format!("{duration:?}")
}

/// As [`text`], rounded down to what a person would write: for "or less".
pub(crate) fn at_most(duration: Duration) -> String {
    let step = step(duration);
    text(duration - Duration::from_nanos((duration.as_nanos() % step.as_nanos()) as u64))
}

/// As [`text`], rounded up to what a person would write: for "or more".
pub(crate) fn at_least(duration: Duration) -> String {
    let step = step(duration);
    let over = Duration::from_nanos((duration.as_nanos() % step.as_nanos()) as u64);
    text(if over.is_zero() { duration } else { duration - over + step })
}

/// How finely a person would give such a duration.
fn step(duration: Duration) -> Duration {
    match duration.as_millis() {
        10_000.. => Duration::from_secs(1),
        1_000.. => Duration::from_millis(100),
        100.. => Duration::from_millis(10),
        10.. => Duration::from_millis(1),
        _ => Duration::from_micros(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_what_a_person_would_write() {
        let third = |millis| Duration::from_millis(millis) / 3;
        assert_eq!((at_most(third(1_000)), at_least(third(1_000))), ("330ms".into(), "340ms".into()));
        assert_eq!((at_most(third(20_000)), at_least(third(20_000))), ("6.6s".into(), "6.7s".into()));
        assert_eq!((at_most(third(100_000)), at_least(third(100_000))), ("33s".into(), "34s".into()));
        for exact in [1, 45, 330, 1_500, 40_000] {
            let exact = Duration::from_millis(exact);
            assert_eq!((at_most(exact), at_least(exact)), (text(exact), text(exact)));
        }
    }

    #[test]
    fn a_number_without_a_unit_is_answered_by_an_example() {
        #[derive(Debug, Deserialize)]
        struct Settings {
            #[serde(default, deserialize_with = "optional")]
            lease: Option<Duration>,
        }
        let read = |text| toml::from_str::<Settings>(text).map(|settings| settings.lease);
        assert_eq!(read("lease = \"10s\"").unwrap(), Some(Duration::from_secs(10)));
        assert_eq!(read("").unwrap(), None);
        let error = read("lease = 10").unwrap_err().to_string();
        assert!(error.contains("`10`") && error.contains("such as \"10s\""), "{error}");
    }
}
