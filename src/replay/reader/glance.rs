use std::borrow::Cow;

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
use crate::replay::{Convention, DeadLetter, Origin};

/// A look at a dead letter that takes nothing into its possession: what a filter or a group asks for costs no more than
/// finding it.
#[derive(Debug)]
pub(crate) struct Glance<'a> {
    scan: Scan<'a>,
    found: Option<Found<'a>>,
    /// Whose headers are no part of the original; `None` where the record is no dead letter.
    written: Option<Layouts>,
}

impl<'a> Glance<'a> {
    /// Looks at a record of a dead-letter topic.
    pub(crate) fn of(record: &'a Record) -> Self {
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
    pub(crate) fn convention(&self) -> Convention {
        self.found.as_ref().map_or(Convention::Unrecognized, |found| found.layout.convention)
    }

    /// See [`DeadLetter::category`].
    pub(crate) fn category(&self) -> Category {
        self.text(Field::Category).and_then(|category| category.parse().ok()).unwrap_or(Category::Unknown)
    }

    /// See [`DeadLetter::error_type`].
    pub(crate) fn error_type(&self) -> Cow<'a, str> {
        match (self.get(Field::ErrorType), self.get(Field::Error)) {
            (Some(error_type), _) => error_type.readable(),
            (None, Some(error)) => halves(error.readable()).0,
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// See [`DeadLetter::message`].
    pub(crate) fn message(&self) -> Cow<'a, str> {
        match (self.get(Field::Message), self.get(Field::Error)) {
            (Some(message), _) => message.readable(),
            (None, Some(error)) => halves(error.readable()).1,
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// See [`DeadLetter::fingerprint`]. Where it is not written it is made, which takes longer than all else here.
    pub(crate) fn fingerprint(&self) -> Cow<'a, str> {
        self.text(Field::Fingerprint)
            .unwrap_or_else(|| Cow::Owned(fingerprint(self.category(), &self.error_type(), &self.message(), None)))
    }

    /// See [`DeadLetter::origin`].
    pub(crate) fn origin(&self) -> Origin {
        self.found.as_ref().map(|found| found.origin(&mut Vec::new())).unwrap_or_default()
    }

    /// All of it. `record` is the one that was looked at.
    pub(crate) fn letter(&self, record: &Record) -> DeadLetter {
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
        let lineage = self.scan.lineage();
        let text = |field| self.text(field);
        let mut said = Said { glance: self, unreadable: &mut unreadable };
        let (attempts, first_failed_at, last_failed_at) =
            (said.attempts(), said.millis(Field::FirstFailedAt), said.millis(Field::LastFailedAt));
        let origin = self.found.as_ref().map(|found| found.origin(&mut unreadable)).unwrap_or_default();
        let lineage_text =
            |field| lineage.as_ref().and_then(|found| found.get(field)).and_then(Value::text).map(Cow::into_owned);
        let replay_count = lineage_text(Field::ReplayCount).and_then(|count| count.parse().ok());
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
            group: text(Field::Group).map(Into::into),
            consumer_id: text(Field::ConsumerId).map(Into::into),
            consumer_version: text(Field::ConsumerVersion).map(Into::into),
            fingerprint: self.fingerprint().into_owned(),
            replay_count: replay_count.or_else(in_envelope).unwrap_or(0),
            replay_of: lineage_text(Field::ReplayOf),
            replay_id: lineage_text(Field::ReplayId).and_then(|id| id.parse().ok()),
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
