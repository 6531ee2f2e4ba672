//! Whatever stands in a dead-letter topic, reading it does not panic, invents nothing, and loses nothing.

use bezoar::record::Header;
use bezoar::replay::{Convention, DeadLetter, Fidelity};
use bytes::Bytes;
use proptest::prelude::*;

/// Names of all conventions, and one of nobody's.
const NAMES: [&str; 52] = [
    "__dlq.errors.topic",
    "__dlq.errors.partition",
    "__dlq.errors.offset",
    "__dlq.errors.message",
    "bezoar.category",
    "bezoar.error.type",
    "bezoar.envelope",
    "bezoar.truncated",
    "bezoar.source.timestamp",
    "bezoar.source.topic.id",
    "bezoar.replay.count",
    "bezoar.replay.id",
    "kafka_dlt-original-topic",
    "kafka_dlt-original-partition",
    "kafka_dlt-original-offset",
    "kafka_dlt-original-timestamp",
    "kafka_dlt-original-consumer-group",
    "kafka_dlt-exception-message",
    "kafka_original-topic",
    "kafka_original-partition",
    "kafka_original-offset",
    "retry_topic-attempts",
    "retry_topic-original-timestamp",
    "__connect.errors.topic",
    "__connect.errors.partition",
    "__connect.errors.offset",
    "__streams.errors.topic",
    "__streams.errors.offset",
    "dead-letter-topic",
    "dead-letter-partition",
    "dead-letter-offset",
    "dead-letter-reason",
    "delayed-retry-topic",
    "delayed-retry-count",
    "delayed-retry-first-processing-timestamp",
    "source_topic",
    "source_partition",
    "source_offset",
    "original_topic",
    "original_partition",
    "original_offset",
    "beavers-dlq-origin-offset",
    "beavers-dlq-attempts",
    "__krafka.dlq.original.topic",
    "autumn.dlq.error",
    "topic_poisoned",
    "x-retry-count",
    "x-produce-time",
    "x-original-topic",
    "error",
    "source",
    "anything",
];

fn content() -> impl Strategy<Value = Option<Bytes>> {
    prop_oneof![
        1 => Just(None),
        2 => prop::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| Some(bytes.into())),
        3 => "([0-9]{1,22}|-1|orders|orders/[0-9]/[0-9]|2024-01-15T10:30:00Z|value|\\PC{0,9})".prop_map(|text| Some(text.into())),
    ]
}

fn headers() -> impl Strategy<Value = Vec<Header>> {
    let header =
        (prop::sample::select(&NAMES[..]), content()).prop_map(|(name, value)| Header { name: name.into(), value });
    prop::collection::vec(header, 0..12)
}

/// JSON that is nearly an envelope.
fn envelope() -> impl Strategy<Value = String> {
    let member = (
        "(original_(topic|partition|offset|value|key|headers|bytes|message)|error(_type|_message|)|retry_count|topic|offset|failed_at|truncated)",
        "(1|-1|null|\"\"|\"1\"|\"orders\"|\"A: b\"|\\{\\}|\\{\"raw\": \"x\"\\}|\\{\"a\": \"b\"\\}|\\[\"\\\\\\\\n\"\\]|1e400|\"\\\\\\\\ud800\")",
    );
    let member = member.prop_map(|(name, value)| format!("\"{name}\": {value}"));
    prop::collection::vec(member, 0..10).prop_map(|members| format!("{{{}}}", members.join(", ")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_headers(key in content(), value in prop_oneof![content(), envelope().prop_map(|json| Some(json.into()))], headers in headers()) {
        let letter = DeadLetter::read(key.clone(), value.clone(), headers.clone());
        prop_assert!(letter.origin.partition.is_none_or(|partition| partition >= 0));
        prop_assert!(letter.origin.offset.is_none_or(|offset| offset >= 0));
        prop_assert!(letter.last_hop.iter().all(|hop| hop.offset.is_none_or(|offset| offset >= 0)));
        prop_assert_eq!(letter.fingerprint.is_empty(), false);
        match letter.convention {
            Convention::Unrecognized => {
                prop_assert_eq!((letter.key, letter.value, letter.headers), (key, value, headers));
            }
            Convention::Envelope | Convention::SimpleEnvelope | Convention::Bezoar => {}
            _ => {
                prop_assert_eq!((letter.key, letter.value), (key, value));
                // What is left is some of what was there, in its order.
                let mut all = headers.iter();
                prop_assert!(letter.headers.iter().all(|header| all.any(|other| other == header)));
                prop_assert!(letter.headers.len() < headers.len());
            }
        }
    }

    #[test]
    fn any_envelope(json in envelope()) {
        let letter = DeadLetter::read(None, Some(json.clone().into()), Vec::new());
        if letter.fidelity == Fidelity::Exact && letter.convention != Convention::Unrecognized {
            prop_assert!(json.contains("original_bytes"));
        }
    }
}
