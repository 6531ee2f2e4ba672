use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// Reads an optional duration from text such as "250ms", "30s" or "5m"; for `#[serde(deserialize_with)]`.
pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    parse(&text).map(Some)
}

/// Reads a duration from text such as "250ms", "30s" or "5m"; for `#[serde(deserialize_with)]`.
pub(crate) fn required<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse(&String::deserialize(deserializer)?)
}

/// Reads a duration, or `None` from `"off"`; for `#[serde(deserialize_with)]`.
pub(crate) fn or_off<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text == "off" {
        return Ok(None);
    }
    let invalid = |error| de::Error::custom(format!("{text:?} is not a duration ({error}): write \"30s\", or \"off\""));
    humantime::parse_duration(&text).map(Some).map_err(invalid)
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
