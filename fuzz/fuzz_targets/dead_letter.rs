//! Records of any content are read as dead letters, or refused, without a panic; and what was read says the same after
//! it was written again.

#![no_main]

use bezoar::dead_letter::{DeadLetter, DeadLetterFormat, Profile, Rung, names};
use bezoar::record::{Header, ProducerRecord};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Name, Option<Content>)>,
    plain: bool,
    envelope: bool,
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
    Source(String, i32, i64),
    Bytes(Vec<u8>),
}

const KNOWN: [&str; 13] = [
    names::TOPIC,
    names::PARTITION,
    names::OFFSET,
    names::DELIVERY_COUNT,
    names::MESSAGE,
    names::CATEGORY,
    names::ERROR_TYPE,
    names::SOURCE_TIMESTAMP,
    names::REPLAY_COUNT,
    names::TRUNCATED,
    names::ENVELOPE,
    names::PLAIN_ERROR,
    names::PLAIN_SOURCE,
];

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
            Self::Source(topic, partition, offset) => format!("{topic}/{partition}/{offset}").into_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

fn read(record: ProducerRecord) -> DeadLetter {
    DeadLetter::read(record.key, record.value, record.headers).expect("what was written can be read")
}

fuzz_target!(|input: Input| {
    let headers = input
        .headers
        .into_iter()
        .map(|(name, value)| Header {
            name: name.into_bytes().into(),
            value: value.map(|content| content.into_bytes().into()),
        })
        .collect();
    let Ok(letter) = DeadLetter::read(input.key.map(Into::into), input.value.map(Into::into), headers) else { return };
    assert!(letter.context.source.offset >= 0 && letter.context.source.partition.partition() >= 0);

    let mut format = DeadLetterFormat::default();
    if input.plain {
        format = format.profile(Profile::Plain);
    }
    if input.envelope {
        format = format.profile(Profile::Envelope);
    }
    let written = read(letter.encode(&format, Rung::Full, "orders.dlq"));
    assert_eq!(written.context.source, letter.context.source);
    assert_eq!(written.rung, letter.rung);
    if letter.rung == Rung::Full {
        assert_eq!((&written.key, &written.value), (&letter.key, &letter.value));
    }
    // Writing cuts texts to their limits, once.
    assert_eq!(read(written.encode(&format, Rung::Full, "orders.dlq")), written);

    let mut rung = Rung::Full;
    while let Some(next) = rung.next() {
        rung = next;
        let lower = read(letter.encode(&format, rung, "orders.dlq"));
        assert_eq!(lower.context.source, letter.context.source);
    }
});
