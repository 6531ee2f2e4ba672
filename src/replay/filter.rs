use std::ops::Range;

use bytes::Bytes;

use super::entry::Entry;
use super::facts::Facts;
use crate::policy::Category;

/// Which dead letters are meant: all that every given condition fits. The default is all that are not resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Filter {
    /// Of one of these categories; empty: of any.
    pub categories: Vec<Category>,
    /// With this error type.
    pub error_type: Option<String>,
    /// With this fingerprint, or one that begins so.
    pub fingerprint: Option<String>,
    /// From this source topic: where the record came from first.
    pub source_topic: Option<String>,
    /// From this source partition.
    pub source_partition: Option<i32>,
    /// From source offsets in this range.
    pub source_offsets: Option<Range<i64>>,
    /// With this key.
    pub key: Option<Bytes>,
    /// Published at or after this time, in milliseconds since the Unix epoch. What was published before is not read, where the
    /// log's times ascend.
    pub since: Option<i64>,
    /// Published before this time, in milliseconds since the Unix epoch.
    pub until: Option<i64>,
    /// With a header of this name among the original ones, and of this value where one is given.
    pub header: Option<(String, Option<Bytes>)>,
    /// With this text in the error's message; small and capital ASCII letters count as the same.
    pub text: Option<String>,
    /// Which of them by what became of them.
    pub states: States,
}

/// Which dead letters are meant, by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum States {
    /// Those that are neither replayed nor discarded.
    #[default]
    Unresolved,
    /// Those that are replayed or discarded.
    Resolved,
    /// All.
    All,
}

impl States {
    /// Whether dead letters that are resolved, or those that are not, are meant.
    pub fn include(self, resolved: bool) -> bool {
        match self {
            Self::Unresolved => !resolved,
            Self::Resolved => resolved,
            Self::All => true,
        }
    }
}

impl Filter {
    /// All that are not resolved.
    pub fn new() -> Self {
        Self::default()
    }

    /// All, resolved or not.
    pub fn all() -> Self {
        Self::new().states(States::All)
    }

    /// Of this category, or of one that was named before.
    pub fn category(mut self, category: Category) -> Self {
        if !self.categories.contains(&category) {
            self.categories.push(category);
        }
        self
    }

    /// With this error type.
    pub fn error_type(mut self, error_type: impl Into<String>) -> Self {
        self.error_type = Some(error_type.into());
        self
    }

    /// With this fingerprint, or one that begins so.
    pub fn fingerprint(mut self, fingerprint: impl Into<String>) -> Self {
        self.fingerprint = Some(fingerprint.into());
        self
    }

    /// From this source topic.
    pub fn source_topic(mut self, topic: impl Into<String>) -> Self {
        self.source_topic = Some(topic.into());
        self
    }

    /// From this source partition.
    pub fn source_partition(mut self, partition: i32) -> Self {
        self.source_partition = Some(partition);
        self
    }

    /// From source offsets in this range.
    pub fn source_offsets(mut self, offsets: Range<i64>) -> Self {
        self.source_offsets = Some(offsets);
        self
    }

    /// With this key.
    pub fn key(mut self, key: impl Into<Bytes>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Published at or after this time, in milliseconds since the Unix epoch.
    pub fn since(mut self, millis: i64) -> Self {
        self.since = Some(millis);
        self
    }

    /// Published before this time, in milliseconds since the Unix epoch.
    pub fn until(mut self, millis: i64) -> Self {
        self.until = Some(millis);
        self
    }

    /// With a header of this name, whatever its value.
    pub fn header(mut self, name: impl Into<String>) -> Self {
        self.header = Some((name.into(), None));
        self
    }

    /// With a header of this name and value.
    pub fn header_value(mut self, name: impl Into<String>, value: impl Into<Bytes>) -> Self {
        self.header = Some((name.into(), Some(value.into())));
        self
    }

    /// With this text in the error's message.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Which of them by what became of them.
    pub fn states(mut self, states: States) -> Self {
        self.states = states;
        self
    }

    /// Whether the filter means this dead letter.
    pub fn matches(&self, entry: &Entry) -> bool {
        self.fits_time(entry.timestamp)
            && self.states.include(entry.state.is_resolved())
            && self.fits(&Facts::of(&entry.letter))
            && self.fits_headers(entry.letter.headers.iter().map(|header| (&*header.name, header.value.as_deref())))
    }

    /// Whether something published at `timestamp` may be meant.
    pub(super) fn fits_time(&self, timestamp: i64) -> bool {
        self.since.is_none_or(|since| timestamp >= since) && self.until.is_none_or(|until| timestamp < until)
    }

    /// Whether any condition is on what is in the record, so that it must be looked at.
    pub(super) fn looks_inside(&self) -> bool {
        self.looks_at_facts() || self.header.is_some()
    }

    fn looks_at_facts(&self) -> bool {
        !self.categories.is_empty()
            || self.error_type.is_some()
            || self.fingerprint.is_some()
            || self.source_topic.is_some()
            || self.source_partition.is_some()
            || self.source_offsets.is_some()
            || self.key.is_some()
            || self.text.is_some()
    }

    /// Whether all conditions fit but those on time, state and headers.
    pub(super) fn fits(&self, facts: &Facts<'_>) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        (self.categories.is_empty() || self.categories.contains(&facts.category))
            && is(&self.error_type, facts.error_type)
            && self.fingerprint.as_deref().is_none_or(|start| facts.fingerprint.starts_with(start))
            && (self.source_topic.is_none() || self.source_topic.as_deref() == facts.topic)
            && (self.source_partition.is_none() || self.source_partition == facts.partition)
            && self.source_offsets.as_ref().is_none_or(|wanted| facts.offset.is_some_and(|it| wanted.contains(&it)))
            && (self.key.is_none() || self.key.as_deref() == facts.key)
            && self.text.as_deref().is_none_or(|text| contains(facts.message, text))
    }

    /// Whether one of the headers is the one asked for, if one is.
    pub(super) fn fits_headers<'a>(&self, mut headers: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>) -> bool {
        let Some((wanted, value)) = &self.header else { return true };
        headers.any(|(name, found)| name == wanted.as_bytes() && (value.is_none() || value.as_deref() == found))
    }
}

/// Whether `text` is in `message`, small and capital ASCII letters the same.
fn contains(message: &str, text: &str) -> bool {
    let (message, text) = (message.as_bytes(), text.as_bytes());
    // Of bytes, so that a window may begin within a character: it is equal only where the whole text is.
    text.is_empty() || message.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text))
}
