use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use super::context::{DeadLetter, DeadLetterContext};
use super::envelope::Envelope;
use super::names::*;
use super::rung::Rung;
use super::time;
use crate::policy::Category;
use crate::record::{Header, Record, RecordId, TopicPartition};

/// Why a record could not be read as a dead letter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Neither headers nor value say where a record came from.
    #[error(
        "not a dead letter: no __dlq.errors.* headers, no error and source headers, no JSON envelope; \
         check that the topic is a dead-letter topic"
    )]
    NotADeadLetter,
    /// A part that a dead letter must have cannot be read.
    #[error("dead letter with unreadable {part}: {problem}; look at the record itself")]
    Invalid {
        /// The header or the field of the envelope.
        part: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl ReadError {
    pub(super) fn invalid(part: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self::Invalid { part: part.into(), problem: problem.to_string() }
    }
}

impl DeadLetter {
    /// Reads a record of a dead-letter topic: what [`encode`](Self::encode) writes, headers of KIP-1191 as Kafka's share
    /// groups write them, the plain profile's headers alone, and the JSON envelope alone (with or without exact bytes).
    ///
    /// Headers can be forged: what is read says what was claimed. Where an optional part cannot be read it is left out.
    ///
    /// # Errors
    /// [`ReadError::NotADeadLetter`] for other records, [`ReadError::Invalid`] where the source's coordinates or the
    /// exact bytes cannot be read.
    pub fn read(key: Option<Bytes>, value: Option<Bytes>, headers: Vec<Header>) -> Result<Self, ReadError> {
        if last(&headers, TOPIC).is_some() {
            return Self::from_headers(key, value, headers);
        }
        if let Some(envelope) = value.as_deref().and_then(Envelope::from_json) {
            return envelope.into_dead_letter();
        }
        if last(&headers, PLAIN_SOURCE).is_some() && last(&headers, PLAIN_ERROR).is_some() {
            return Self::from_plain(key, value, headers);
        }
        Err(ReadError::NotADeadLetter)
    }

    /// The same for a record as it was fetched.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn from_record(record: &Record) -> Result<Self, ReadError> {
        Self::read(record.key_bytes(), record.value_bytes(), record.headers().to_vec())
    }

    fn from_headers(key: Option<Bytes>, value: Option<Bytes>, mut headers: Vec<Header>) -> Result<Self, ReadError> {
        let context = context(&headers)?;
        let rung = last(&headers, TRUNCATED).map_or(Rung::Full, Rung::flagged_by);
        if last(&headers, ENVELOPE).is_some() {
            let envelope = value.as_deref().and_then(Envelope::from_json);
            let Some(envelope) = envelope else {
                return Err(ReadError::invalid(
                    "value",
                    format!("{ENVELOPE} says that it is an envelope, but it is none"),
                ));
            };
            let letter = envelope.into_dead_letter()?;
            return Ok(Self { context, rung, ..letter });
        }
        // Ours only if both say what the context says: a user may have headers of these names.
        let ours = last(&headers, PLAIN_ERROR) == Some(context.error_type.as_str())
            && last(&headers, PLAIN_SOURCE) == Some(context.source.to_string().as_str());
        headers.retain(|header| !is_ours(&header.name, ours));
        Ok(Self { key, value, headers, context, rung })
    }

    fn from_plain(key: Option<Bytes>, value: Option<Bytes>, mut headers: Vec<Header>) -> Result<Self, ReadError> {
        let source = last(&headers, PLAIN_SOURCE).unwrap_or_default();
        // From the right: partition and offset are numbers.
        let mut parts = source.rsplitn(3, '/');
        let (offset, partition, topic) = (parts.next(), parts.next(), parts.next());
        let offset = coordinate(PLAIN_SOURCE, offset)?;
        let partition = coordinate(PLAIN_SOURCE, partition)?;
        let Some(topic) = topic.filter(|topic| !topic.is_empty()) else {
            return Err(ReadError::invalid(PLAIN_SOURCE, format!("{source:?} is not topic/partition/offset")));
        };
        let source = RecordId { topic_id: None, partition: TopicPartition::new(topic, partition), offset };
        let error_type = last(&headers, PLAIN_ERROR).unwrap_or_default().to_owned();
        let context = DeadLetterContext::bare(source, Category::Unknown, error_type, String::new());
        headers.retain(|header| !is_ours(&header.name, true));
        Ok(Self { key, value, headers, context, rung: Rung::Full })
    }
}

fn context(headers: &[Header]) -> Result<DeadLetterContext, ReadError> {
    let text = |name| last(headers, name);
    let owned = |name| text(name).map(str::to_owned);
    let time = |name| text(name).and_then(time::parse);
    let source = RecordId {
        topic_id: text(SOURCE_TOPIC_ID).and_then(|id| id.parse().ok()),
        partition: TopicPartition::new(text(TOPIC).unwrap_or_default(), coordinate(PARTITION, text(PARTITION))?),
        offset: coordinate(OFFSET, text(OFFSET))?,
    };
    let category = number(text(CATEGORY)).unwrap_or(Category::Unknown);
    let bare = DeadLetterContext::bare(
        source,
        category,
        owned(ERROR_TYPE).unwrap_or_default(),
        owned(MESSAGE).unwrap_or_default(),
    );
    Ok(DeadLetterContext {
        source_timestamp: time(SOURCE_TIMESTAMP),
        group: text(GROUP).map(Into::into),
        attempts: number(text(DELIVERY_COUNT)),
        backtrace: owned(BACKTRACE),
        first_failed_at: time(FIRST_FAILED_AT),
        last_failed_at: time(LAST_FAILED_AT),
        consumer_id: text(CONSUMER_ID).map(Into::into),
        consumer_version: text(CONSUMER_VERSION).map(Into::into),
        replay_count: number(text(REPLAY_COUNT)).unwrap_or(0),
        fingerprint: owned(FINGERPRINT).unwrap_or_else(|| bare.fingerprint.clone()),
        ..bare
    })
}

/// The text of the last header named `name`; `None` where it is absent, null or not UTF-8.
fn last<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    let header = headers.iter().rev().find(|header| header.name == name.as_bytes())?;
    std::str::from_utf8(header.value.as_ref()?).ok()
}

fn number<T: FromStr>(text: Option<&str>) -> Option<T> {
    text.and_then(|text| text.parse().ok())
}

/// A partition or an offset: without it nobody can find the original.
fn coordinate<T: FromStr + PartialOrd + Default>(part: &str, text: Option<&str>) -> Result<T, ReadError> {
    match number(text).filter(|number| *number >= T::default()) {
        Some(number) => Ok(number),
        None => Err(ReadError::invalid(part, format!("{:?} holds no number of 0 or more", text.unwrap_or_default()))),
    }
}
