use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::conventions::{ENVELOPE, SIMPLE_ENVELOPE};
use super::found::Found;
use super::layout::{Field, Layout};
use super::value::{Value, not_null};

/// The members of a JSON object in their order, their values as they stand.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfObject;

        impl<'de> Visitor<'de> for OfObject {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::with_capacity(32);
                while let Some((MemberName(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(OfObject)
    }
}

/// What an envelope tells; `None` where `value` is something else.
pub(super) fn envelope(value: &[u8]) -> Option<Found<'_>> {
    // Most values are no envelopes: don't parse megabytes to find that out.
    if value.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') || !has(value, b"\"original_") {
        return None;
    }
    let Members(members) = serde_json::from_slice(value).ok()?;
    [&ENVELOPE, &SIMPLE_ENVELOPE].into_iter().find_map(|layout| of(layout, &members))
}

fn of<'a>(layout: &'static Layout, members: &[(Cow<'a, str>, &'a RawValue)]) -> Option<Found<'a>> {
    let known = |name: &str| layout.names.iter().find(|known| known.name == name);
    let of_layout = |(member, value): &(Cow<'a, str>, &'a RawValue)| Some((known(member)?, *value));
    let mut seen = 0;
    for (name, value) in members.iter().filter_map(of_layout) {
        // A value of null is the original's, or was left out; everywhere else it tells nothing.
        if not_null(value).is_some() || name.field == Field::OriginalValue {
            seen |= name.field.bit();
        }
    }
    let complete = layout.needs.iter().all(|any| any.iter().any(|field| seen & field.bit() != 0));
    let values = members.iter().filter_map(of_layout);
    let values = values.filter_map(|(name, value)| Some(Value { name, bytes: not_null(value)? }));
    complete.then(|| Found::of(layout, values))
}

fn has(value: &[u8], part: &[u8]) -> bool {
    value.windows(part.len()).any(|window| window == part)
}

/// The members of an object whose values are texts or null, in their order.
pub(super) fn texts(json: &[u8]) -> Option<Vec<(String, Option<String>)>> {
    let Members(members) = serde_json::from_slice(json).ok()?;
    let text = |(name, value): (Cow<'_, str>, &RawValue)| match not_null(value) {
        None => Some((name.into_owned(), None)),
        Some(json) => Some((name.into_owned(), Some(serde_json::from_slice(json).ok()?))),
    };
    members.into_iter().map(text).collect()
}

/// The text in `{"raw": text}`, which stands for bytes that are no JSON.
pub(super) fn raw_text(json: &[u8]) -> Option<String> {
    let Members(members) = serde_json::from_slice(json).ok()?;
    match &members[..] {
        [(name, value)] if name == "raw" => serde_json::from_str(value.get()).ok(),
        _ => None,
    }
}
