use bytes::Bytes;

use super::found::Found;
use super::json;
use super::layout::Field;
use super::scan::is_lineage;
use super::value::Value;
use crate::dead_letter::{Parts, Rung, names, read_exact};
use crate::record::Header;
use crate::replay::{Convention, Fidelity};

/// The original record, as far as the dead letter has it.
pub(super) struct Content {
    pub(super) key: Option<Bytes>,
    pub(super) value: Option<Bytes>,
    pub(super) headers: Vec<Header>,
    pub(super) fidelity: Fidelity,
}

impl Content {
    /// `parts` are those of the dead letter's record, headers without those that its convention added.
    pub(super) fn of(found: Option<&Found<'_>>, parts: Parts, unreadable: &mut Vec<String>) -> Self {
        let Some(found) = found else { return Self::with(parts, Fidelity::Exact) };
        match found.layout.convention {
            Convention::Envelope | Convention::SimpleEnvelope => Self::in_envelope(found, parts, unreadable),
            Convention::Bezoar if found.get(Field::Envelope).is_some() => {
                let (key, value, headers) = parts;
                match value.as_deref().and_then(json::envelope) {
                    Some(inner) => Self::in_envelope(&inner, (key, None, headers), unreadable),
                    None => {
                        let envelope = names::ENVELOPE;
                        unreadable.push(format!("value: it is no envelope, though the header {envelope} says so"));
                        Self::with((key, value, headers), Fidelity::Lossy)
                    }
                }
            }
            Convention::Kip1191 if parts.0.is_none() || parts.1.is_none() => Self::with(parts, Fidelity::Uncertain),
            _ => Self::with(parts, reduced(found)),
        }
    }

    fn with((key, value, headers): Parts, fidelity: Fidelity) -> Self {
        Self { key, value, headers, fidelity }
    }

    fn in_envelope(found: &Found<'_>, (key, _, headers): Parts, unreadable: &mut Vec<String>) -> Self {
        if let Some(exact) = found.get(Field::OriginalBytes) {
            match read_exact(exact.bytes) {
                Ok((key, value, mut headers)) => {
                    headers.retain(|header| !is_lineage(&header.name));
                    return Self::with((key, value, headers), reduced(found));
                }
                Err(problem) => unreadable.push(format!("original_bytes: {problem}")),
            }
        }
        let json = found.get(Field::OriginalValue).map(|value| value.bytes);
        let (value, fidelity) = match json.and_then(json::raw_text) {
            Some(text) => (Some(text.into()), Fidelity::Lossy),
            None => (json.map(Bytes::copy_from_slice), Fidelity::Rebuilt),
        };
        // The dead letter has the original's key as a rule; what it was as a text tells whether this one does.
        let told = found.get(Field::OriginalKey).and_then(Value::text);
        let key = match told {
            Some(told) if key.as_deref().is_none_or(|key| String::from_utf8_lossy(key) != told) => {
                Some(Bytes::from(told.into_owned()))
            }
            _ => key,
        };
        let headers = match found.get(Field::OriginalHeaders) {
            None => headers,
            Some(told) => json::texts(told.bytes).map(texts).unwrap_or_else(|| {
                unreadable.push(format!("original_headers: {} are no texts by name", told.shown()));
                headers
            }),
        };
        Self { key, value, headers, fidelity }
    }
}

/// How far the bytes are the original's, by what was left out.
fn reduced(found: &Found<'_>) -> Fidelity {
    match found.get(Field::Truncated) {
        None => Fidelity::Exact,
        Some(truncated) => Fidelity::Reduced(Rung::flagged_by(&truncated.readable())),
    }
}

fn texts(members: Vec<(String, Option<String>)>) -> Vec<Header> {
    let header = |(name, value): (String, Option<String>)| Header { name: name.into(), value: value.map(Into::into) };
    members.into_iter().map(header).filter(|header| !is_lineage(&header.name)).collect()
}
