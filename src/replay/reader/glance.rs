use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use super::content::Content;
use super::found::Found;
use super::json;
use super::layout::Field;
use super::scan::{Layouts, Scan};
use super::value::Value;
use crate::dead_letter::fingerprint;
use crate::policy::Category;
use crate::record::{Header, HeaderRef, Record};
use crate::replay::{Convention, DeadLetter};

/// What a record tells as a dead letter, borrowed from it and decoded as it is asked for.
#[derive(Debug)]
pub(super) struct Glance<'a> {
    scan: Scan<'a>,
    found: Option<Found<'a>>,
    /// Whose headers are no part of the original; `None` where the record is no dead letter.
    written: Option<Layouts>,
}

impl<'a> Glance<'a> {
    /// Looks at a record of a dead-letter topic.
    pub(super) fn of(record: &'a Record) -> Self {
        Self::at(record.headers().iter(), record.value())
    }

    /// Looks at headers and value.
    pub(super) fn at(headers: impl Iterator<Item = HeaderRef<'a>>, value: Option<&'a [u8]>) -> Self {
        let scan = Scan::of(headers);
        let envelope = || value.and_then(json::envelope).map(|found| (found, 0));
        let (found, written) = scan.latest().or_else(envelope).or_else(|| scan.likely()).unzip();
        Self { scan, found, written }
    }

    /// By which convention it was written.
    fn convention(&self) -> Convention {
        self.found.as_ref().map_or(Convention::Unrecognized, |found| found.layout.convention)
    }

    /// See [`DeadLetter::category`].
    fn category(&self) -> Category {
        self.text(Field::Category).and_then(|category| category.parse().ok()).unwrap_or(Category::Unknown)
    }

    /// See [`DeadLetter::error_type`].
    fn error_type(&self) -> Cow<'a, str> {
        match (self.get(Field::ErrorType), self.get(Field::Error)) {
            (Some(error_type), _) => error_type.readable(),
            (None, Some(error)) => halves(error.readable()).0,
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// See [`DeadLetter::message`].
    fn message(&self) -> Cow<'a, str> {
        match (self.get(Field::Message), self.get(Field::Error)) {
            (Some(message), _) => message.readable(),
            (None, Some(error)) => halves(error.readable()).1,
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// See [`DeadLetter::fingerprint`]. Where it is not written it is made, which takes longer than all else here.
    fn fingerprint(&self) -> Cow<'a, str> {
        self.text(Field::Fingerprint)
            .unwrap_or_else(|| Cow::Owned(fingerprint(self.category(), &self.error_type(), &self.message(), None)))
    }

    /// All of it. `record` is the one that was looked at.
    pub(super) fn letter(&self, record: &Record) -> DeadLetter {
        self.whole(record.key_bytes(), record.value_bytes(), record.owned_headers())
    }

    /// All of it, from the parts of the record that was looked at.
    pub(super) fn whole(
        &self,
        key: Option<Bytes>,
        value: Option<Bytes>,
        headers: impl Iterator<Item = Header>,
    ) -> DeadLetter {
        let mut unreadable = Vec::new();
        let headers = match self.written {
            Some(layouts) => self.scan.others(layouts, headers).collect(),
            None => headers.collect(),
        };
        let content = Content::of(self.found.as_ref(), (key, value, headers), &mut unreadable);
        let mut said = Said { glance: self, unreadable: &mut unreadable };
        let attempts = said.attempts();
        let [first_failed_at, last_failed_at] = [Field::FirstFailedAt, Field::LastFailedAt].map(|it| said.millis(it));
        let [group, consumer_id, consumer_version] =
            [Field::Group, Field::ConsumerId, Field::ConsumerVersion].map(|it| said.text(it));
        said.category();
        let origin = self.found.as_ref().map(|found| found.origin(&mut unreadable)).unwrap_or_default();
        let lineage = |field| self.scan.lineage(field);
        let replay_count = lineage(Field::ReplayCount).and_then(|count| count.parse().ok());
        let in_envelope =
            || self.get(Field::ReplayCount).and_then(Value::integer).and_then(|count| count.try_into().ok());
        DeadLetter {
            convention: self.convention(),
            last_hop: self.found.as_ref().and_then(Found::last_hop),
            origin,
            key: content.key,
            value: content.value,
            headers: content.headers,
            fidelity: content.fidelity,
            category: self.category(),
            error_type: self.error_type().into_owned(),
            message: self.message().into_owned(),
            backtrace: self.get(Field::Backtrace).map(|backtrace| backtrace.readable().into_owned()),
            attempts,
            first_failed_at,
            last_failed_at,
            group,
            consumer_id,
            consumer_version,
            fingerprint: self.fingerprint().into_owned(),
            replay_count: replay_count.or_else(in_envelope).unwrap_or(0),
            replay_of: lineage(Field::ReplayOf).map(Cow::into_owned),
            replay_id: lineage(Field::ReplayId).and_then(|id| id.parse().ok()),
            unreadable,
        }
    }

    fn get(&self, field: Field) -> Option<Value<'a>> {
        self.found.as_ref().and_then(|found| found.get(field))
    }

    fn text(&self, field: Field) -> Option<Cow<'a, str>> {
        self.get(field).and_then(Value::text)
    }
}

/// Reads what may be unreadable, and notes it.
struct Said<'g, 'a> {
    glance: &'g Glance<'a>,
    unreadable: &'g mut Vec<String>,
}

impl Said<'_, '_> {
    fn text(&mut self, field: Field) -> Option<Arc<str>> {
        let value = self.glance.get(field)?;
        self.read(value, value.text(), "text").map(Into::into)
    }

    /// An unknown category reads as one that is not known.
    fn category(&mut self) {
        if let Some(value) = self.glance.get(Field::Category) {
            self.read(value, value.text().and_then(|text| text.parse::<Category>().ok()), "category");
        }
    }

    fn millis(&mut self, field: Field) -> Option<i64> {
        let value = self.glance.get(field)?;
        self.read(value, value.millis(), "time")
    }

    fn attempts(&mut self) -> Option<u32> {
        let (value, more) = match (self.glance.get(Field::Attempts), self.glance.get(Field::Retries)) {
            (Some(attempts), _) => (attempts, 0),
            (None, Some(retries)) => (retries, 1),
            (None, None) => return None,
        };
        let number = value.integer().and_then(|number| u32::try_from(number).ok());
        self.read(value, number, "number of attempts").map(|number| number.saturating_add(more))
    }

    fn read<T>(&mut self, value: Value<'_>, read: Option<T>, what: &str) -> Option<T> {
        if read.is_none() {
            self.unreadable.push(format!("{}: {} is no {what}", value.name.name, value.shown()));
        }
        read
    }
}

/// Type and message of an error in one text.
fn halves(error: Cow<'_, str>) -> (Cow<'_, str>, Cow<'_, str>) {
    // Without a type it is all message.
    let is_type = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    match error {
        Cow::Borrowed(error) => match error.split_once(": ") {
            Some((error_type, message)) if is_type(error_type) => (error_type.into(), message.into()),
            _ => ("".into(), error.into()),
        },
        Cow::Owned(error) => match error.split_once(": ") {
            Some((error_type, message)) if is_type(error_type) => {
                (error_type.to_owned().into(), message.to_owned().into())
            }
            _ => ("".into(), error.into()),
        },
    }
}
