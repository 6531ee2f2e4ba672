use std::fmt::{Display, Write};
use std::sync::Arc;

use bytes::Bytes;

use super::context::DeadLetter;
use super::envelope::Envelope;
use super::format::{DeadLetterFormat, Profile};
use super::names::*;
use super::rung::Rung;
use super::text::cut;
use super::time;
use crate::record::{Header, ProducerRecord};

impl DeadLetter {
    /// The record to publish to `topic`, at most as much of it as `rung` keeps. Its partition is left open.
    pub fn encode(&self, format: &DeadLetterFormat, rung: Rung, topic: impl Into<Arc<str>>) -> ProducerRecord {
        // A letter that was read back may have lost parts already.
        let rung = rung.and(self.rung);
        let plain = format.has(Profile::Plain);
        let envelope = format.has(Profile::Envelope) && rung != Rung::ContextOnly;
        let kept = self.user_headers(plain).filter(|_| rung.keeps_headers());
        let mut headers: Vec<Header> = kept.cloned().collect();
        self.put_context(&mut headers, format, rung);
        if plain {
            headers.push(text(PLAIN_ERROR, cut(&self.context.error_type, format.message_limit)));
            headers.push(text(PLAIN_SOURCE, &self.context.source.to_string()));
        }
        let value = if envelope {
            headers.push(text(ENVELOPE, Envelope::VERSION));
            Some(Envelope::of(self, format, rung).to_json())
        } else {
            self.value.clone().filter(|_| rung.keeps_value())
        };
        ProducerRecord {
            topic: topic.into(),
            partition: None,
            key: self.key.clone().filter(|_| rung.keeps_key()),
            value,
            headers,
            timestamp: self.context.source_timestamp.filter(|_| format.keep_timestamp),
        }
    }

    /// The original headers whose names are not ours.
    pub(super) fn user_headers(&self, plain: bool) -> impl Iterator<Item = &Header> {
        self.headers.iter().filter(move |header| !is_ours(&header.name, plain))
    }

    fn put_context(&self, headers: &mut Vec<Header>, format: &DeadLetterFormat, rung: Rung) {
        let context = &self.context;
        let source = &context.source;
        let backtrace = context.backtrace.as_deref().filter(|_| rung.keeps_backtrace() && format.backtrace_limit > 0);
        let mut values = Values::new();
        values.text(TOPIC, Some(source.partition.topic()));
        values.display(PARTITION, Some(source.partition.partition()));
        values.display(OFFSET, Some(source.offset));
        values.text(GROUP, context.group.as_deref());
        values.display(DELIVERY_COUNT, context.attempts);
        values.text(MESSAGE, Some(cut(&context.message, format.message_limit)));
        values.text(ID, Some(&context.id()));
        values.text(CATEGORY, Some(context.category.as_str()));
        values.text(ERROR_TYPE, Some(cut(&context.error_type, format.message_limit)));
        values.text(BACKTRACE, backtrace.map(|backtrace| cut(backtrace, format.backtrace_limit)));
        values.time(SOURCE_TIMESTAMP, context.source_timestamp);
        values.display(SOURCE_TOPIC_ID, source.topic_id);
        values.time(FIRST_FAILED_AT, context.first_failed_at);
        values.time(LAST_FAILED_AT, context.last_failed_at);
        values.text(CONSUMER_ID, context.consumer_id.as_deref());
        values.text(CONSUMER_VERSION, context.consumer_version.as_deref());
        values.text(FINGERPRINT, Some(&context.fingerprint));
        values.display(REPLAY_COUNT, Some(context.replay_count));
        values.text(TRUNCATED, rung.truncated());
        values.into_headers(headers);
    }
}

/// Collects headers whose values share one buffer: a dead letter has some twenty, and an allocation for each would be half
/// of what writing it costs.
struct Values {
    buffer: String,
    /// Name, and where the value ends.
    entries: Vec<(&'static str, usize)>,
}

impl Values {
    fn new() -> Self {
        Self { buffer: String::with_capacity(1024), entries: Vec::with_capacity(20) }
    }

    fn text(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.buffer.push_str(value);
            self.entries.push((name, self.buffer.len()));
        }
    }

    fn display(&mut self, name: &'static str, value: Option<impl Display>) {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = write!(self.buffer, "{value}");
            self.entries.push((name, self.buffer.len()));
        }
    }

    fn time(&mut self, name: &'static str, millis: Option<i64>) {
        if let Some(millis) = millis {
            // As above.
            let _ = time::put(&mut self.buffer, millis);
            self.entries.push((name, self.buffer.len()));
        }
    }

    fn into_headers(self, headers: &mut Vec<Header>) {
        let buffer = Bytes::from(self.buffer);
        headers.reserve(self.entries.len());
        let mut start = 0;
        for (name, end) in self.entries {
            headers.push(Header::new(name.as_bytes(), buffer.slice(start..end)));
            start = end;
        }
    }
}

fn text(name: &'static str, value: &str) -> Header {
    Header::new(name.as_bytes(), value.as_bytes().to_vec())
}
