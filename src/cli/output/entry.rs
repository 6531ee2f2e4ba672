//! A dead letter in JSON, and what to warn of.

use serde::Serialize;

use super::bytes::{self, HeaderJson};
use super::time::rfc3339;
use crate::dead_letter::short_id;
use crate::policy::{Category, DeadLetterTopics};
use crate::replay::{DeadLetter, Entry, Fidelity, Origin, State};

/// A dead letter as JSON lines have it; docs/cli.md documents the fields.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct EntryJson<'a> {
    place: String,
    topic: &'a str,
    topic_id: Option<String>,
    partition: i32,
    offset: i64,
    timestamp: String,
    state: &'static str,
    replayed: bool,
    replayed_at: Option<String>,
    replay_result: Option<String>,
    duplicate_of: Option<String>,
    id: Option<String>,
    origin: OriginJson<'a>,
    last_hop: Option<OriginJson<'a>>,
    category: Category,
    error_type: &'a str,
    message: &'a str,
    backtrace: Option<&'a str>,
    attempts: Option<u32>,
    first_failed_at: Option<String>,
    last_failed_at: Option<String>,
    group: Option<&'a str>,
    consumer_id: Option<&'a str>,
    consumer_version: Option<&'a str>,
    fingerprint: &'a str,
    replay_count: u32,
    convention: &'static str,
    fidelity: &'static str,
    warnings: Vec<String>,
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_base64: Option<String>,
    headers: Vec<HeaderJson<'a>>,
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_base64: Option<String>,
}

/// Where a record came from in JSON.
#[derive(Debug, Serialize)]
struct OriginJson<'a> {
    topic: Option<&'a str>,
    topic_id: Option<String>,
    partition: Option<i32>,
    offset: Option<i64>,
    timestamp: Option<String>,
}

impl<'a> OriginJson<'a> {
    fn new(origin: &'a Origin) -> Self {
        Self {
            topic: origin.topic.as_deref(),
            topic_id: origin.topic_id.map(|id| id.to_string()),
            partition: origin.partition,
            offset: origin.offset,
            timestamp: origin.timestamp.map(rfc3339),
        }
    }
}

impl<'a> EntryJson<'a> {
    pub(in crate::cli) fn new(entry: &'a Entry) -> Self {
        let Entry { at, timestamp, letter, state, duplicate_of } = entry;
        let (key, key_base64) = bytes::fields(letter.key.as_deref());
        let (value, value_base64) = bytes::fields(letter.value.as_deref());
        Self {
            place: at.to_string(),
            topic: at.partition.topic(),
            topic_id: at.topic_id.map(|id| id.to_string()),
            partition: at.partition.partition(),
            offset: at.offset,
            timestamp: rfc3339(*timestamp),
            state: state_name(state),
            replayed: matches!(state, State::Replayed { .. }),
            replayed_at: match state {
                State::Replayed { at, .. } => Some(rfc3339(*at)),
                _ => None,
            },
            replay_result: state.result(),
            duplicate_of: duplicate_of.as_ref().map(ToString::to_string),
            id: display_id(&letter.origin),
            origin: OriginJson::new(&letter.origin),
            last_hop: letter.last_hop.as_ref().map(OriginJson::new),
            category: letter.category,
            error_type: &letter.error_type,
            message: &letter.message,
            backtrace: letter.backtrace.as_deref(),
            attempts: letter.attempts,
            first_failed_at: letter.first_failed_at.map(rfc3339),
            last_failed_at: letter.last_failed_at.map(rfc3339),
            group: letter.group.as_deref(),
            consumer_id: letter.consumer_id.as_deref(),
            consumer_version: letter.consumer_version.as_deref(),
            fingerprint: &letter.fingerprint,
            replay_count: letter.replay_count,
            convention: letter.convention.as_str(),
            fidelity: fidelity_name(letter.fidelity),
            warnings: warnings(entry),
            key,
            key_base64,
            headers: letter.headers.iter().map(HeaderJson::new).collect(),
            value,
            value_base64,
        }
    }
}

/// The short id for display, where the source is known.
pub(in crate::cli) fn display_id(origin: &Origin) -> Option<String> {
    origin.record().map(|record| short_id(record.partition.topic(), record.partition.partition(), record.offset))
}

pub(in crate::cli) fn state_name(state: &State) -> &'static str {
    match state {
        State::Unresolved => "unresolved",
        State::Claimed { .. } => "claimed",
        State::Replayed { .. } => "replayed",
        State::Failed { .. } => "failed",
        State::Discarded { .. } => "discarded",
    }
}

pub(in crate::cli) fn fidelity_name(fidelity: Fidelity) -> &'static str {
    match fidelity {
        Fidelity::Exact => "exact",
        Fidelity::Reduced(_) => "reduced",
        Fidelity::Uncertain => "uncertain",
        Fidelity::Rebuilt => "rebuilt",
        Fidelity::Lossy => "lossy",
    }
}

/// An error in one line: the last part of its type's name, and its message.
pub(in crate::cli) fn error_text(letter: &DeadLetter) -> String {
    match (short_type(&letter.error_type), letter.message.as_str()) {
        ("", message) => message.to_owned(),
        (error_type, "") => error_type.to_owned(),
        (error_type, message) => format!("{error_type}: {message}"),
    }
}

/// `orders::OrderError` as `OrderError`, `java.lang.Exception` as `Exception`.
fn short_type(name: &str) -> &str {
    let end = name.find('<').unwrap_or(name.len());
    let start = name[..end].rfind([':', '.']).map_or(0, |at| at + 1);
    if start == end { name } else { &name[start..] }
}

/// What a person should know before replaying it.
pub(in crate::cli) fn warnings(entry: &Entry) -> Vec<String> {
    let (dead_letter_topic, letter) = (entry.at.partition.topic(), &entry.letter);
    let mut warnings = Vec::new();
    match letter.fidelity {
        Fidelity::Exact => {}
        Fidelity::Reduced(rung) => {
            let left_out = [
                (rung.keeps_key(), "the key"),
                (rung.keeps_value(), "the value"),
                (rung.keeps_headers(), "the headers"),
                (rung.keeps_backtrace(), "the backtrace"),
            ];
            let left_out: Vec<&str> = left_out.iter().filter(|(kept, _)| !kept).map(|(_, what)| *what).collect();
            warnings.push(format!(
                "{} left out, since a broker refused the whole dead letter: the original is where it came from, as long as \
                 its topic keeps it",
                left_out.join(", ")
            ));
        }
        Fidelity::Uncertain => {
            warnings.push("a null key or value may stand for one that was not copied".to_owned());
        }
        Fidelity::Rebuilt => warnings.push(
            "rebuilt from a JSON envelope: it means what the original meant, but its bytes may be others".to_owned(),
        ),
        Fidelity::Lossy => warnings.push(
            "the original value was no JSON, and only a text made of it is here: a replay fetches the original again, or is \
             refused where it is gone"
                .to_owned(),
        ),
    }
    match letter.origin.topic.as_deref() {
        None => warnings.push(
            "where it came from is not known: it can be replayed only to a topic that you name (--to, --allow-target)"
                .to_owned(),
        ),
        Some(origin) if is_by_the_way(origin) => warnings.push(format!(
            "it says that it came from {origin:?}, which looks like a retry or dead-letter topic itself: headers can be \
             forged or belong to a hop, so look before you allow it as a target"
        )),
        Some(origin) if !vouches(dead_letter_topic, origin) => warnings.push(format!(
            "it says that it came from {origin:?}, for which the name of {:?} does not vouch: a replay there needs \
             --allow-target {origin}",
            dead_letter_topic
        )),
        Some(_) => {}
    }
    warnings
}

/// Whether a topic looks like one that records pass through between a source and their end.
pub(in crate::cli) fn is_by_the_way(topic: &str) -> bool {
    let words = topic.to_ascii_lowercase();
    words
        .split(['.', '-', '_'])
        .any(|word| matches!(word, "dlq" | "dlt" | "retry" | "replays" | "deadletter" | "poison"))
}

/// Whether a dead-letter topic's name says that its records come from `source`: `orders.dlq` and `orders.dlq.poison` of `orders`.
pub(in crate::cli) fn vouches(dead_letter_topic: &str, source: &str) -> bool {
    let namings = [DeadLetterTopics::single(), DeadLetterTopics::per_category()];
    namings.iter().any(|naming| naming.sources_of(dead_letter_topic).any(|name| name == source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_by_the_way_are_known_by_their_names() {
        for topic in ["orders.dlq", "orders.dlq.poison", "orders-dlt", "orders.group.retry.1m", "orders_DLQ"] {
            assert!(is_by_the_way(topic), "{topic}");
        }
        for topic in ["orders", "retryable-payments", "dlqs"] {
            assert!(!is_by_the_way(topic), "{topic}");
        }
    }

    #[test]
    fn types_are_short_in_tables() {
        let names = ["orders::OrderError", "java.lang.Exception", "a::B<c::D>", "panic", "", "odd."].map(short_type);
        assert_eq!(names, ["OrderError", "Exception", "B<c::D>", "panic", "", "odd."]);
    }

    #[test]
    fn a_dead_letter_topic_vouches_for_its_own_source() {
        assert!(vouches("orders.dlq", "orders") && vouches("orders.dlq.poison", "orders"));
        assert!(
            !vouches("orders.dlq", "payments")
                && !vouches("orders.dlqx", "orders")
                && !vouches("orders.dlq.odd", "orders")
        );
    }
}
