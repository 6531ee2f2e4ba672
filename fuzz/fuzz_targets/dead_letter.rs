//! Records of any content are read as dead letters of whatever convention, without a panic; what was read of one that we
//! wrote says the same after it was written again.

#![no_main]

use bezoar::dead_letter::{DeadLetterContext, DeadLetterFormat, Profile, Rung, names};
use bezoar::record::{Header, HeaderRef, ProducerRecord, Record, RecordBatchBuilder, TopicPartition};
use bezoar::replay::{Convention, DeadLetter, Fidelity};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Name, Option<Content>)>,
    profiles: u8,
}

/// Names that mean something are so many that bytes at random would hardly ever be one.
#[derive(Debug, Arbitrary)]
enum Name {
    Known(u8),
    Other(Vec<u8>),
}

#[derive(Debug, Arbitrary)]
enum Content {
    Number(i64),
    Int(i32),
    Long(i64),
    Source(String, i32, i64),
    Bytes(Vec<u8>),
}

const KNOWN: [&str; 64] = [
    names::TOPIC,
    names::PARTITION,
    names::OFFSET,
    names::DELIVERY_COUNT,
    names::MESSAGE,
    names::CATEGORY,
    names::ERROR_TYPE,
    names::SOURCE_TIMESTAMP,
    names::SOURCE_TOPIC_ID,
    names::FINGERPRINT,
    names::REPLAY_COUNT,
    names::REPLAY_OF,
    names::REPLAY_ID,
    names::TRUNCATED,
    names::ENVELOPE,
    names::PLAIN_ERROR,
    names::PLAIN_SOURCE,
    names::spring::TOPIC,
    names::spring::PARTITION,
    names::spring::OFFSET,
    names::spring::TIMESTAMP,
    names::spring::GROUP,
    names::spring::EXCEPTION,
    names::spring::CAUSE,
    names::spring::KEY_MESSAGE,
    "kafka_original-topic",
    "kafka_original-partition",
    "kafka_original-offset",
    "kafka_original-timestamp",
    "retry_topic-attempts",
    "retry_topic-original-timestamp",
    names::connect::TOPIC,
    names::connect::PARTITION,
    names::connect::OFFSET,
    names::connect::CONNECTOR,
    names::connect::EXCEPTION,
    "__streams.errors.topic",
    "__streams.errors.partition",
    "__streams.errors.offset",
    "dead-letter-topic",
    "dead-letter-partition",
    "dead-letter-offset",
    "dead-letter-reason",
    "delayed-retry-topic",
    "delayed-retry-offset",
    "delayed-retry-count",
    "delayed-retry-original-timestamp",
    "source_topic",
    "source_partition",
    "source_offset",
    "source_attempts",
    "original_topic",
    "original_partition",
    "original_offset",
    "beavers-dlq-origin-topic",
    "beavers-dlq-attempts",
    "__krafka.dlq.original.topic",
    "__krafka.dlq.original.offset",
    "autumn.dlq.original-topic",
    "autumn.dlq.error",
    "topic_poisoned",
    "x-retry-count",
    "x-produce-time",
    "x-original-topic",
];

const PROFILES: [Profile; 5] = [Profile::Kip1191, Profile::Spring, Profile::Connect, Profile::Plain, Profile::Envelope];

impl Name {
    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Known(index) => KNOWN[usize::from(index) % KNOWN.len()].as_bytes().to_vec(),
            Self::Other(bytes) => bytes,
        }
    }
}

impl Content {
    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Number(number) => number.to_string().into_bytes(),
            Self::Int(number) => number.to_be_bytes().to_vec(),
            Self::Long(number) => number.to_be_bytes().to_vec(),
            Self::Source(topic, partition, offset) => format!("{topic}/{partition}/{offset}").into_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

fn read(record: ProducerRecord) -> DeadLetter {
    DeadLetter::read(record.key, record.value, record.headers)
}

/// The original and its context, as far as they are known.
fn parts(letter: &DeadLetter) -> Option<(Record, DeadLetterContext)> {
    let source = letter.origin.record()?;
    let mut batch = RecordBatchBuilder::new(TopicPartition::new("orders", 0), None);
    let headers = letter.headers.iter().map(|header| HeaderRef { name: &header.name, value: header.value.as_deref() });
    batch.push(0, 0, letter.key.as_deref(), letter.value.as_deref(), headers);
    let context = DeadLetterContext {
        source,
        source_timestamp: letter.origin.timestamp,
        group: letter.group.clone(),
        attempts: letter.attempts.map(|attempts| attempts.max(1)),
        category: letter.category,
        error_type: letter.error_type.clone(),
        message: letter.message.clone(),
        backtrace: letter.backtrace.clone(),
        first_failed_at: letter.first_failed_at,
        last_failed_at: letter.last_failed_at,
        consumer_id: letter.consumer_id.clone(),
        consumer_version: letter.consumer_version.clone(),
        replay_count: letter.replay_count,
        fingerprint: letter.fingerprint.clone(),
    };
    Some((batch.build(1).get(0)?, context))
}

fuzz_target!(|input: Input| {
    let headers: Vec<Header> = input
        .headers
        .into_iter()
        .map(|(name, value)| Header {
            name: name.into_bytes().into(),
            value: value.map(|content| content.into_bytes().into()),
        })
        .collect();
    let letter = DeadLetter::read(input.key.map(Into::into), input.value.map(Into::into), headers.clone());
    let origin = &letter.origin;
    assert!(origin.offset.is_none_or(|offset| offset >= 0) && origin.partition.is_none_or(|partition| partition >= 0));
    if letter.convention == Convention::Unrecognized {
        assert_eq!(letter.headers, headers);
    }

    let Some((record, context)) = parts(&letter) else { return };
    let profiles = PROFILES.into_iter().enumerate().filter(|(bit, _)| input.profiles & 1 << bit != 0);
    let format = profiles.fold(DeadLetterFormat::default(), |format, (_, profile)| format.profile(profile));
    let written = read(context.encode(&record, &format, Rung::Full, "orders.dlq"));
    assert_eq!((written.convention, written.fidelity), (Convention::Bezoar, Fidelity::Exact));
    assert_eq!(written.origin, letter.origin);
    assert_eq!((&written.key, &written.value), (&letter.key, &letter.value));
    // Writing cuts texts to their limits, once.
    let (record, context) = parts(&written).expect("its source was written");
    assert_eq!(read(context.encode(&record, &format, Rung::Full, "orders.dlq")), written);

    let mut rung = Rung::Full;
    while let Some(next) = rung.next() {
        rung = next;
        let lower = read(context.encode(&record, &format, rung, "orders.dlq"));
        assert_eq!((lower.origin, lower.fidelity), (written.origin.clone(), Fidelity::Reduced(rung)));
    }
});
