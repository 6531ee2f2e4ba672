use std::ops::Range;

use bytes::Bytes;
use uuid::Uuid;

use super::text::put_number;
use super::time;
use crate::record::Header;

/// Collects headers whose values share one buffer: a dead letter has some twenty, and an allocation for each would be half
/// of what writing it costs.
pub(super) struct Values {
    texts: String,
    /// Numbers that are no text.
    numbers: Vec<u8>,
    /// Name, and where the value lies.
    entries: Vec<(&'static str, Place)>,
    /// The time that was written last, and where.
    time: Option<(i64, Place)>,
}

/// Where a value lies.
#[derive(Debug, Clone)]
pub(super) enum Place {
    Text(Range<usize>),
    Number(Range<usize>),
    Constant(&'static str),
}

impl Values {
    pub(super) fn new() -> Self {
        let (texts, entries) = (String::with_capacity(1024), Vec::with_capacity(20));
        Self { texts, numbers: Vec::new(), entries, time: None }
    }

    /// Adds a text that `put` appends, and returns where it lies.
    pub(super) fn put(&mut self, name: &'static str, put: impl FnOnce(&mut String)) -> Place {
        let start = self.texts.len();
        put(&mut self.texts);
        let place = Place::Text(start..self.texts.len());
        self.again(name, Some(&place));
        place
    }

    pub(super) fn text(&mut self, name: &'static str, value: Option<&str>) -> Option<Place> {
        value.map(|value| self.put(name, |texts| texts.push_str(value)))
    }

    pub(super) fn decimal(&mut self, name: &'static str, value: Option<i64>) -> Option<Place> {
        value.map(|value| self.put(name, |texts| put_number(texts, value)))
    }

    pub(super) fn uuid(&mut self, name: &'static str, value: Option<Uuid>) {
        if let Some(value) = value {
            self.text(name, Some(value.hyphenated().encode_lower(&mut Uuid::encode_buffer())));
        }
    }

    pub(super) fn time(&mut self, name: &'static str, millis: Option<i64>) {
        let Some(millis) = millis else { return };
        match self.time.take() {
            // The first attempt is the last one as a rule.
            Some((known, place)) if known == millis => {
                self.again(name, Some(&place));
                self.time = Some((known, place));
            }
            _ => {
                let place = self.put(name, |texts| {
                    // Writing to a string cannot fail.
                    let _ = time::put(texts, millis);
                });
                self.time = Some((millis, place));
            }
        }
    }

    /// Adds a number as it lies in memory, big-endian.
    pub(super) fn number(&mut self, name: &'static str, bytes: &[u8]) {
        let start = self.numbers.len();
        self.numbers.extend_from_slice(bytes);
        self.entries.push((name, Place::Number(start..self.numbers.len())));
    }

    /// Adds a text that is always the same.
    pub(super) fn constant(&mut self, name: &'static str, value: &'static str) {
        self.entries.push((name, Place::Constant(value)));
    }

    /// Adds a value that is there already under another name.
    pub(super) fn again(&mut self, name: &'static str, place: Option<&Place>) {
        self.entries.extend(place.map(|place| (name, place.clone())));
    }

    pub(super) fn into_headers(self, headers: &mut Vec<Header>) {
        let (texts, numbers) = (Bytes::from(self.texts), Bytes::from(self.numbers));
        headers.reserve(self.entries.len());
        headers.extend(self.entries.into_iter().map(|(name, place)| {
            let value = match place {
                Place::Text(place) => texts.slice(place),
                Place::Number(place) => numbers.slice(place),
                Place::Constant(value) => Bytes::from_static(value.as_bytes()),
            };
            Header::new(name.as_bytes(), value)
        }));
    }
}
