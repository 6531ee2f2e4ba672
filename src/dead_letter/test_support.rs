use bytes::Bytes;
use proptest::prelude::*;
use uuid::Uuid;

use super::context::DeadLetterContext;
use super::fingerprint::fingerprint;
use super::format::{DeadLetterFormat, Profile};
use super::profiles::Profiles;
use super::rung::Rung;
use crate::policy::Category;
use crate::record::{Header, ProducerRecord, Record, RecordBatchBuilder, RecordId, TopicPartition};
use crate::replay::{Convention, DeadLetter, Fidelity, Origin};

/// A record, and why it failed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Case {
    pub(super) key: Option<Bytes>,
    pub(super) value: Option<Bytes>,
    pub(super) headers: Vec<Header>,
    pub(super) context: DeadLetterContext,
}

impl Case {
    fn record(&self) -> Record {
        let mut batch = RecordBatchBuilder::new(TopicPartition::new("orders", 0), None);
        let headers = self.headers.iter().map(Header::borrowed);
        batch.push(0, 0, self.key.as_deref(), self.value.as_deref(), headers);
        batch.build(1).get(0).unwrap()
    }

    pub(super) fn encode(&self, format: &DeadLetterFormat, rung: Rung) -> ProducerRecord {
        self.context.encode(&self.record(), format, rung, "orders.dlq")
    }

    /// What is to be read of it.
    pub(super) fn letter(&self) -> DeadLetter {
        let Self { key, value, headers, context } = self.clone();
        let mut origin = Origin::from(context.source);
        origin.timestamp = context.source_timestamp;
        DeadLetter {
            convention: Convention::Bezoar,
            origin,
            last_hop: None,
            key,
            value,
            headers,
            fidelity: Fidelity::Exact,
            category: context.category,
            error_type: context.error_type,
            message: context.message,
            backtrace: context.backtrace,
            attempts: context.attempts,
            first_failed_at: context.first_failed_at,
            last_failed_at: context.last_failed_at,
            group: context.group,
            consumer_id: context.consumer_id,
            consumer_version: context.consumer_version,
            fingerprint: context.fingerprint,
            replay_count: context.replay_count,
            replay_of: None,
            replay_id: None,
            unreadable: Vec::new(),
        }
    }
}

pub(super) fn context_of(
    source: RecordId,
    category: Category,
    error_type: String,
    message: String,
) -> DeadLetterContext {
    let fingerprint = fingerprint(category, &error_type, &message, None);
    DeadLetterContext::known(source, category, error_type, message, fingerprint)
}

/// A dead letter like those in the documentation: `orders/0/1`, malformed JSON.
pub(super) fn dead_letter() -> Case {
    let source = RecordId { topic_id: None, partition: TopicPartition::new("orders", 0), offset: 1 };
    let bare = context_of(
        source,
        Category::Validation,
        "serde_json::Error".into(),
        "EOF while parsing an object at line 1 column 24".into(),
    );
    Case {
        key: Some("shop-1".into()),
        value: Some("{\"id\": 2, \"total\": \"abc\"".into()),
        headers: vec![Header::new("trace", "1")],
        context: DeadLetterContext {
            source_timestamp: Some(1_705_314_600_000),
            group: Some("fulfilment".into()),
            attempts: Some(1),
            backtrace: Some("EOF while parsing an object at line 1 column 24".into()),
            first_failed_at: Some(1_705_314_601_000),
            last_failed_at: Some(1_705_314_602_000),
            consumer_id: Some("fulfilment@host:7".into()),
            consumer_version: Some("1.0.0".into()),
            ..bare
        },
    }
}

fn bytes(limit: usize) -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..limit).prop_map(Bytes::from)
}

/// Keys and values: null, empty, arbitrary bytes, JSON.
fn content() -> impl Strategy<Value = Option<Bytes>> {
    prop_oneof![
        1 => Just(None),
        1 => Just(Some(Bytes::new())),
        3 => bytes(60).prop_map(Some),
        2 => "(\\{\"a\": [1, -2.5e3, null]\\}|\"text\"|12|null|\\{\"raw\": \"x\"\\})".prop_map(|text| Some(text.into())),
    ]
}

/// Headers with duplicates and nulls, none with our names.
fn headers() -> impl Strategy<Value = Vec<Header>> {
    let name = prop_oneof![bytes(8), Just(Bytes::from("trace")), Just(Bytes::from("retry_count"))];
    let header = (name, prop::option::of(bytes(20))).prop_map(|(name, value)| Header { name, value });
    prop::collection::vec(header, 0..8)
        .prop_map(|headers| headers.into_iter().filter(|header| !all().replace(&header.name)).collect())
}

/// All profiles that write headers.
fn all() -> Profiles {
    let profiles = vec![Profile::Spring, Profile::Connect, Profile::Plain];
    Profiles::of(&DeadLetterFormat { profiles, ..DeadLetterFormat::default() })
}

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,40}"
}

fn context() -> impl Strategy<Value = DeadLetterContext> {
    let source = ("[a-zA-Z0-9._-]{1,20}", 0..=i32::MAX, 0..=i64::MAX, any::<Option<u128>>());
    let times = prop::array::uniform3(any::<Option<i64>>());
    let texts =
        (prop::option::of(text()), prop::option::of(text()), prop::option::of(text()), prop::option::of(text()));
    // The envelope counts retries, so that 0 attempts cannot be told from 1; no dead letter has made 0.
    let counts = (prop::option::of(1..=u32::MAX), any::<u32>());
    (source, times, texts, counts, 0..Category::ALL.len(), text(), text()).prop_map(
        |(
            source,
            [source_timestamp, first_failed_at, last_failed_at],
            texts,
            counts,
            category,
            error_type,
            message,
        )| {
            let (topic, partition, offset, topic_id) = source;
            let source = RecordId {
                topic_id: topic_id.map(Uuid::from_u128),
                partition: TopicPartition::new(topic, partition),
                offset,
            };
            let (group, backtrace, consumer_id, consumer_version) = texts;
            let (attempts, replay_count) = counts;
            DeadLetterContext {
                source_timestamp,
                group: group.map(Into::into),
                attempts,
                backtrace,
                first_failed_at,
                last_failed_at,
                consumer_id: consumer_id.map(Into::into),
                consumer_version: consumer_version.map(Into::into),
                replay_count,
                ..context_of(source, Category::ALL[category], error_type, message)
            }
        },
    )
}

/// Any dead letter whose text is below the limits.
pub(super) fn dead_letters() -> impl Strategy<Value = Case> {
    (content(), content(), headers(), context()).prop_map(|(key, value, headers, context)| Case {
        key,
        value,
        headers,
        context,
    })
}
