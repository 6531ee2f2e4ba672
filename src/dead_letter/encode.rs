use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::context::{DeadLetter, DeadLetterContext};
use super::envelope::Envelope;
use super::format::{DeadLetterFormat, Profile};
use super::names::*;
use super::rung::Rung;
use super::text::{cut, put_number};
use super::time;
use crate::record::{Header, ProducerRecord};

impl DeadLetter {
    /// The record to publish to `topic`, at most as much of it as `rung` keeps. Its partition is left open.
    pub fn encode(&self, format: &DeadLetterFormat, rung: Rung, topic: impl Into<Arc<str>>) -> ProducerRecord {
        let original = Original { key: self.key.clone(), value: self.value.clone(), headers: self.headers.clone() };
        // A letter that was read back may have lost parts already.
        original.encode(&self.context, format, rung.and(self.rung), topic.into())
    }
}

/// What a dead letter carries on of its record, moved to where it is published: its counts of references are shared by
/// all records that were fetched with it, and by several threads.
pub(super) struct Original {
    pub(super) key: Option<Bytes>,
    pub(super) value: Option<Bytes>,
    pub(super) headers: Vec<Header>,
}

impl Original {
    /// The record to publish to `topic`, as much of it as `rung` keeps.
    pub(super) fn encode(
        mut self,
        context: &DeadLetterContext,
        format: &DeadLetterFormat,
        rung: Rung,
        topic: Arc<str>,
    ) -> ProducerRecord {
        let plain = format.has(Profile::Plain);
        self.reduce(rung, plain);
        let envelope = format.has(Profile::Envelope) && rung != Rung::ContextOnly;
        let envelope = envelope.then(|| Envelope::of(&self, context, format, rung).to_json());
        let Self { key, value, mut headers } = self;
        put_context(&mut headers, context, format, rung);
        if plain {
            headers.push(text(PLAIN_ERROR, cut(&context.error_type, format.message_limit)));
            headers.push(text(PLAIN_SOURCE, &context.source.to_string()));
        }
        if envelope.is_some() {
            headers.push(text(ENVELOPE, Envelope::VERSION));
        }
        ProducerRecord {
            topic,
            partition: None,
            key,
            value: envelope.or(value),
            headers,
            timestamp: context.source_timestamp.filter(|_| format.keep_timestamp),
        }
    }

    /// Drops what `rung` leaves out, and headers whose names are ours.
    fn reduce(&mut self, rung: Rung, plain: bool) {
        if !rung.keeps_key() {
            self.key = None;
        }
        if !rung.keeps_value() {
            self.value = None;
        }
        self.headers.retain(|header| rung.keeps_headers() && !is_ours(&header.name, plain));
    }
}

fn put_context(headers: &mut Vec<Header>, context: &DeadLetterContext, format: &DeadLetterFormat, rung: Rung) {
    let source = &context.source;
    let backtrace = context.backtrace.as_deref().filter(|_| rung.keeps_backtrace() && format.backtrace_limit > 0);
    let mut values = Values::new();
    values.text(TOPIC, Some(source.partition.topic()));
    values.number(PARTITION, Some(source.partition.partition().into()));
    values.number(OFFSET, Some(source.offset));
    values.text(GROUP, context.group.as_deref());
    values.number(DELIVERY_COUNT, context.attempts.map(Into::into));
    values.text(MESSAGE, Some(cut(&context.message, format.message_limit)));
    values.put(ID, |buffer| context.put_id(buffer));
    values.text(CATEGORY, Some(context.category.as_str()));
    values.text(ERROR_TYPE, Some(cut(&context.error_type, format.message_limit)));
    values.text(BACKTRACE, backtrace.map(|backtrace| cut(backtrace, format.backtrace_limit)));
    values.time(SOURCE_TIMESTAMP, context.source_timestamp);
    values.uuid(SOURCE_TOPIC_ID, source.topic_id);
    values.time(FIRST_FAILED_AT, context.first_failed_at);
    values.time(LAST_FAILED_AT, context.last_failed_at);
    values.text(CONSUMER_ID, context.consumer_id.as_deref());
    values.text(CONSUMER_VERSION, context.consumer_version.as_deref());
    values.text(FINGERPRINT, Some(&context.fingerprint));
    values.number(REPLAY_COUNT, Some(context.replay_count.into()));
    values.text(TRUNCATED, rung.truncated());
    values.into_headers(headers);
}

/// Collects headers whose values share one buffer: a dead letter has some twenty, and an allocation for each would be half
/// of what writing it costs.
struct Values {
    buffer: String,
    /// Name, and where the value lies.
    entries: Vec<(&'static str, Range<usize>)>,
    /// The time that was written last, and where.
    time: Option<(i64, Range<usize>)>,
}

impl Values {
    fn new() -> Self {
        Self { buffer: String::with_capacity(1024), entries: Vec::with_capacity(20), time: None }
    }

    /// Adds a value that `put` appends, and returns where it lies.
    fn put(&mut self, name: &'static str, put: impl FnOnce(&mut String)) -> Range<usize> {
        let start = self.buffer.len();
        put(&mut self.buffer);
        let place = start..self.buffer.len();
        self.entries.push((name, place.clone()));
        place
    }

    fn text(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.put(name, |buffer| buffer.push_str(value));
        }
    }

    fn number(&mut self, name: &'static str, value: Option<i64>) {
        if let Some(value) = value {
            self.put(name, |buffer| put_number(buffer, value));
        }
    }

    fn uuid(&mut self, name: &'static str, value: Option<Uuid>) {
        if let Some(value) = value {
            self.text(name, Some(value.hyphenated().encode_lower(&mut Uuid::encode_buffer())));
        }
    }

    fn time(&mut self, name: &'static str, millis: Option<i64>) {
        let Some(millis) = millis else { return };
        match &self.time {
            // The first attempt is the last one as a rule.
            Some((known, place)) if *known == millis => self.entries.push((name, place.clone())),
            _ => {
                let place = self.put(name, |buffer| {
                    // Writing to a string cannot fail.
                    let _ = time::put(buffer, millis);
                });
                self.time = Some((millis, place));
            }
        }
    }

    fn into_headers(self, headers: &mut Vec<Header>) {
        let buffer = Bytes::from(self.buffer);
        headers.reserve(self.entries.len());
        headers.extend(self.entries.into_iter().map(|(name, place)| Header::new(name.as_bytes(), buffer.slice(place))));
    }
}

fn text(name: &'static str, value: &str) -> Header {
    Header::new(name.as_bytes(), value.as_bytes().to_vec())
}
