use std::sync::Arc;

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
        let mut headers: Vec<Header> = match rung.keeps_headers() {
            true => self.user_headers(plain).cloned().collect(),
            false => Vec::new(),
        };
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
        self.headers.iter().filter(move |header| !is_reserved(&header.name) && !(plain && is_plain(&header.name)))
    }

    fn put_context(&self, headers: &mut Vec<Header>, format: &DeadLetterFormat, rung: Rung) {
        let context = &self.context;
        let source = &context.source;
        let backtrace = context.backtrace.as_deref().filter(|_| rung.keeps_backtrace() && format.backtrace_limit > 0);
        let mut put = |name: &'static str, value: Option<&str>| headers.extend(value.map(|value| text(name, value)));
        put(TOPIC, Some(source.partition.topic()));
        put(PARTITION, Some(&source.partition.partition().to_string()));
        put(OFFSET, Some(&source.offset.to_string()));
        put(GROUP, context.group.as_deref());
        put(DELIVERY_COUNT, context.attempts.map(|attempts| attempts.to_string()).as_deref());
        put(MESSAGE, Some(cut(&context.message, format.message_limit)));
        put(ID, Some(&context.id()));
        put(CATEGORY, Some(context.category.as_str()));
        put(ERROR_TYPE, Some(cut(&context.error_type, format.message_limit)));
        put(BACKTRACE, backtrace.map(|backtrace| cut(backtrace, format.backtrace_limit)));
        put(SOURCE_TIMESTAMP, context.source_timestamp.map(time::text).as_deref());
        put(SOURCE_TOPIC_ID, source.topic_id.map(|id| id.to_string()).as_deref());
        put(FIRST_FAILED_AT, context.first_failed_at.map(time::text).as_deref());
        put(LAST_FAILED_AT, context.last_failed_at.map(time::text).as_deref());
        put(CONSUMER_ID, context.consumer_id.as_deref());
        put(CONSUMER_VERSION, context.consumer_version.as_deref());
        put(FINGERPRINT, Some(&context.fingerprint));
        put(REPLAY_COUNT, Some(&context.replay_count.to_string()));
        put(TRUNCATED, rung.truncated());
    }
}

fn text(name: &'static str, value: &str) -> Header {
    Header::new(name.as_bytes(), value.as_bytes().to_vec())
}
