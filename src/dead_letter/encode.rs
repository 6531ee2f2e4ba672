use std::sync::Arc;

use bytes::Bytes;

use super::context::DeadLetterContext;
use super::envelope::Envelope;
use super::format::{DeadLetterFormat, Profile};
use super::names::*;
use super::profiles::{Places, Profiles};
use super::rung::Rung;
use super::text::cut;
use super::values::Values;
use crate::record::{Header, ProducerRecord, Record};

impl DeadLetterContext {
    /// The dead letter of `record` to publish to `topic`, at most as much of it as `rung` keeps. Its partition is left open; key
    /// and value are not copied. [`DeadLetter::from_record`](crate::replay::DeadLetter::from_record) reads it back.
    pub fn encode(
        &self,
        record: &Record,
        format: &DeadLetterFormat,
        rung: Rung,
        topic: impl Into<Arc<str>>,
    ) -> ProducerRecord {
        let headers = record.owned_headers().collect();
        let original = Original { key: record.key_bytes(), value: record.value_bytes(), headers };
        original.encode(self, format, rung, topic.into())
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
        let profiles = Profiles::of(format);
        self.reduce(rung, profiles);
        let envelope = format.has(Profile::Envelope) && rung != Rung::ContextOnly;
        let envelope = envelope.then(|| Envelope::of(&self, context, format, rung).to_json());
        let Self { key, value, mut headers } = self;
        let mut values = Values::new();
        let places = put_context(&mut values, context, format, rung);
        profiles.put(&mut values, &places, context);
        if envelope.is_some() {
            values.constant(ENVELOPE, Envelope::VERSION);
        }
        values.into_headers(&mut headers);
        ProducerRecord {
            topic,
            partition: None,
            key,
            value: envelope.or(value),
            headers,
            timestamp: context.source_timestamp.filter(|_| format.keep_timestamp),
        }
    }

    /// Drops what `rung` leaves out, and headers whose names are written anew.
    fn reduce(&mut self, rung: Rung, profiles: Profiles) {
        if !rung.keeps_key() {
            self.key = None;
        }
        if !rung.keeps_value() {
            self.value = None;
        }
        self.headers.retain(|header| rung.keeps_headers() && !profiles.replace(&header.name));
    }
}

fn put_context(values: &mut Values, context: &DeadLetterContext, format: &DeadLetterFormat, rung: Rung) -> Places {
    let source = &context.source;
    let backtrace = context.backtrace.as_deref().filter(|_| rung.keeps_backtrace() && format.backtrace_limit > 0);
    let topic = values.text(TOPIC, Some(source.partition.topic()));
    let partition = values.decimal(PARTITION, Some(source.partition.partition().into()));
    let offset = values.decimal(OFFSET, Some(source.offset));
    let group = values.text(GROUP, context.group.as_deref());
    values.decimal(DELIVERY_COUNT, context.attempts.map(Into::into));
    let message = values.text(MESSAGE, Some(cut(&context.message, format.message_limit)));
    values.put(ID, |texts| context.put_id(texts));
    values.text(CATEGORY, Some(context.category.as_str()));
    let error_type = values.text(ERROR_TYPE, Some(cut(&context.error_type, format.message_limit)));
    let backtrace = values.text(BACKTRACE, backtrace.map(|backtrace| cut(backtrace, format.backtrace_limit)));
    values.time(SOURCE_TIMESTAMP, context.source_timestamp);
    values.uuid(SOURCE_TOPIC_ID, source.topic_id);
    values.time(FIRST_FAILED_AT, context.first_failed_at);
    values.time(LAST_FAILED_AT, context.last_failed_at);
    values.text(CONSUMER_ID, context.consumer_id.as_deref());
    values.text(CONSUMER_VERSION, context.consumer_version.as_deref());
    values.text(FINGERPRINT, Some(&context.fingerprint));
    values.decimal(REPLAY_COUNT, Some(context.replay_count.into()));
    values.text(TRUNCATED, rung.truncated());
    Places { topic, partition, offset, group, message, error_type, backtrace }
}
