use proptest::prelude::*;

use super::format::{DeadLetterFormat, Profile};
use super::names::*;
use super::test_support::{dead_letter, dead_letters};
use super::{DeadLetter, ReadError, Rung};
use crate::record::{Header, ProducerRecord};

const RUNGS: [Rung; 5] =
    [Rung::Full, Rung::WithoutValue, Rung::WithoutUserHeaders, Rung::KeyAndContext, Rung::ContextOnly];

fn read(record: ProducerRecord) -> Result<DeadLetter, ReadError> {
    DeadLetter::read(record.key, record.value, record.headers)
}

fn format(plain: bool, envelope: bool) -> DeadLetterFormat {
    let mut format = DeadLetterFormat::default();
    if plain {
        format = format.profile(Profile::Plain);
    }
    if envelope {
        format = format.profile(Profile::Envelope);
    }
    format
}

proptest! {
    #[test]
    fn every_format_is_read_back_losslessly(letter in dead_letters(), plain in any::<bool>(), envelope in any::<bool>()) {
        let record = letter.encode(&format(plain, envelope), Rung::Full, "orders.dlq");
        prop_assert_eq!(read(record).unwrap(), letter);
    }

    #[test]
    fn without_the_envelope_the_record_itself_is_unchanged(letter in dead_letters(), plain in any::<bool>()) {
        let record = letter.encode(&format(plain, false), Rung::Full, "orders.dlq");
        prop_assert_eq!(&record.key, &letter.key);
        prop_assert_eq!(&record.value, &letter.value);
        prop_assert_eq!(&record.headers[..letter.headers.len()], &letter.headers[..]);
    }

    #[test]
    fn an_envelope_alone_says_everything(letter in dead_letters()) {
        let record = letter.encode(&format(false, true), Rung::Full, "orders.dlq");
        prop_assert_eq!(DeadLetter::read(None, record.value, Vec::new()).unwrap(), letter);
    }

    #[test]
    fn lower_rungs_keep_what_they_say(letter in dead_letters(), rung in prop::sample::select(&RUNGS[..]), envelope in any::<bool>()) {
        let back = read(letter.encode(&format(true, envelope), rung, "orders.dlq")).unwrap();
        prop_assert_eq!(back.rung, rung);
        prop_assert_eq!(back.key, letter.key.filter(|_| rung.keeps_key()));
        prop_assert_eq!(back.value, letter.value.filter(|_| rung.keeps_value()));
        prop_assert_eq!(back.headers, if rung.keeps_headers() { letter.headers } else { Vec::new() });
        prop_assert_eq!(back.context.backtrace, letter.context.backtrace.filter(|_| rung.keeps_backtrace()));
        prop_assert_eq!(back.context.source, letter.context.source);
    }

    #[test]
    fn headers_do_not_grow_from_hop_to_hop(letter in dead_letters(), plain in any::<bool>()) {
        let format = format(plain, false);
        let first = letter.encode(&format, Rung::Full, "orders.dlq");
        let mut again = letter.clone();
        again.headers = first.headers.clone();
        let second = again.encode(&format, Rung::Full, "orders.dlq");
        prop_assert_eq!(second.headers, first.headers);
    }

    #[test]
    fn garbage_never_panics(
        value in prop::option::of(prop::collection::vec(any::<u8>(), 0..100)),
        list in prop::collection::vec((prop::sample::select(&[TOPIC, PARTITION, OFFSET, PLAIN_ERROR, PLAIN_SOURCE, ENVELOPE, TRUNCATED, CATEGORY, "x"][..]), prop::option::of("(\\PC{0,6}|[0-9]{1,22}|a/[0-9]/[0-9])")), 0..8),
    ) {
        let headers = list.into_iter().map(|(name, value)| Header { name: name.into(), value: value.map(Into::into) }).collect();
        if let Ok(letter) = DeadLetter::read(None, value.map(Into::into), headers) {
            prop_assert!(letter.context.source.offset >= 0);
        }
    }

    #[test]
    fn broken_envelopes_never_panic(letter in dead_letters(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let value = letter.encode(&format(false, true), Rung::Full, "orders.dlq").value.unwrap();
        let mut value = value.to_vec();
        let at = at.index(value.len());
        if cut { value.truncate(at) } else { value[at] = byte }
        let _ = DeadLetter::read(None, Some(value.into()), Vec::new());
    }
}

/// Headers as text, for comparison.
fn shown(record: &ProducerRecord) -> Vec<(String, String)> {
    let text = |bytes: &bytes::Bytes| String::from_utf8(bytes.to_vec()).unwrap();
    record
        .headers
        .iter()
        .map(|header| (text(&header.name), header.value.as_ref().map(text).unwrap_or_default()))
        .collect()
}

#[test]
fn headers_are_readable_text() {
    let letter = dead_letter();
    let record = letter.encode(&format(true, false), Rung::Full, "orders.dlq");
    let shown = shown(&record);
    let shown: Vec<(&str, &str)> = shown.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let message = "EOF while parsing an object at line 1 column 24";
    assert_eq!(
        shown,
        [
            ("trace", "1"),
            ("__dlq.errors.topic", "orders"),
            ("__dlq.errors.partition", "0"),
            ("__dlq.errors.offset", "1"),
            ("__dlq.errors.group", "fulfilment"),
            ("__dlq.errors.delivery.count", "1"),
            ("__dlq.errors.message", message),
            ("bezoar.id", "f7c8e5b8af658283"),
            ("bezoar.category", "validation"),
            ("bezoar.error.type", "serde_json::Error"),
            ("bezoar.error.backtrace", message),
            ("bezoar.source.timestamp", "2024-01-15T10:30:00.000Z"),
            ("bezoar.first-failed-at", "2024-01-15T10:30:01.000Z"),
            ("bezoar.last-failed-at", "2024-01-15T10:30:02.000Z"),
            ("bezoar.consumer.id", "fulfilment@host:7"),
            ("bezoar.consumer.version", "1.0.0"),
            ("bezoar.fingerprint", letter.context.fingerprint.as_str()),
            ("bezoar.replay.count", "0"),
            ("error", "serde_json::Error"),
            ("source", "orders/0/1"),
        ]
    );
    assert_eq!(record.timestamp, None, "an old timestamp would put it past retention");
    let kept = DeadLetterFormat { keep_timestamp: true, ..DeadLetterFormat::default() };
    assert_eq!(letter.encode(&kept, Rung::Full, "orders.dlq").timestamp, Some(1_705_314_600_000));
}

#[test]
fn own_names_are_replaced_and_others_kept() {
    let mut letter = dead_letter();
    let theirs = [
        Header::new("retry_count", "3"),
        Header::new("kafka_dlt-original-topic", "orders"),
        Header::null("retry_count"),
        Header::new("error", "theirs"),
    ];
    letter.headers = theirs.to_vec();
    letter.headers.insert(1, Header::new(CATEGORY, "poison"));
    letter.headers.insert(0, Header::new(TRUNCATED, "value"));
    let record = letter.encode(&format(false, false), Rung::Full, "orders.dlq");
    assert_eq!(record.headers[..4], theirs);
    assert_eq!(record.headers.iter().filter(|header| header.name == CATEGORY).count(), 1);
    assert!(record.headers.iter().all(|header| header.name != TRUNCATED));
    let record = letter.encode(&format(true, false), Rung::Full, "orders.dlq");
    assert_eq!(record.headers[..3], theirs[..3]);
    assert_eq!(record.headers.iter().filter(|header| header.name == PLAIN_ERROR).count(), 1);
}

#[test]
fn text_is_cut_to_its_limits() {
    let mut letter = dead_letter();
    letter.context.message = "ä".repeat(3_000);
    letter.context.backtrace = Some("ß".repeat(9_000));
    for envelope in [false, true] {
        let back = read(letter.encode(&format(false, envelope), Rung::Full, "orders.dlq")).unwrap();
        assert_eq!(back.context.message, "ä".repeat(1_000));
        assert_eq!(back.context.backtrace, Some("ß".repeat(5_000)));
    }
    let short = DeadLetterFormat { message_limit: 3, backtrace_limit: 0, ..format(false, true) };
    let back = read(letter.encode(&short, Rung::Full, "orders.dlq")).unwrap();
    assert_eq!((back.context.message.as_str(), back.context.backtrace), ("äää", None));
}

#[test]
fn the_envelope_has_the_readable_fields() {
    let mut letter = dead_letter();
    letter.context.attempts = Some(4);
    letter.headers = vec![Header::new("a", "1"), Header::new("a", "2"), Header::null("b")];
    let json = |letter: &DeadLetter| -> serde_json::Value {
        let record = letter.encode(&format(false, true), Rung::Full, "orders.dlq");
        serde_json::from_slice(&record.value.unwrap()).unwrap()
    };
    let envelope = json(&letter);
    for (field, expected) in [
        ("id", "\"f7c8e5b8af658283\""),
        ("original_topic", "\"orders\""),
        ("original_partition", "0"),
        ("original_offset", "1"),
        ("original_key", "\"shop-1\""),
        ("original_value", "{\"raw\":\"{\\\"id\\\": 2, \\\"total\\\": \\\"abc\\\"\"}"),
        ("original_headers", "{\"a\":\"2\",\"b\":null}"),
        ("error_category", "\"validation\""),
        ("error_type", "\"serde_json::Error\""),
        ("first_failed_at", "\"2024-01-15T10:30:01.000Z\""),
        ("last_failed_at", "\"2024-01-15T10:30:02.000Z\""),
        ("retry_count", "3"),
        ("consumer_id", "\"fulfilment@host:7\""),
        ("consumer_version", "\"1.0.0\""),
        ("replayed", "false"),
        ("replayed_at", "null"),
        ("replay_result", "null"),
    ] {
        assert_eq!(envelope[field].to_string(), expected, "{field}");
    }
    assert_eq!(
        envelope["original_bytes"]["headers"].to_string(),
        "[[\"YQ==\",\"MQ==\"],[\"YQ==\",\"Mg==\"],[\"Yg==\",null]]"
    );
    letter.value = Some("{\"id\": 2}".into());
    assert_eq!(json(&letter)["original_value"]["id"], 2);
}

#[test]
fn formats_of_others_are_read() {
    let plain = vec![Header::new("error", "JSONDecodeError"), Header::new("source", "orders/0/1")];
    let letter = DeadLetter::read(Some("k".into()), Some("v".into()), plain).unwrap();
    assert_eq!(letter.context.source.to_string(), "orders/0/1");
    assert_eq!((letter.context.error_type.as_str(), letter.context.attempts), ("JSONDecodeError", None));
    assert_eq!((letter.value.as_deref(), letter.headers.len()), (Some(&b"v"[..]), 0));

    let share_group = vec![
        Header::new(TOPIC, "orders"),
        Header::new(PARTITION, "3"),
        Header::new(OFFSET, "7"),
        Header::new(DELIVERY_COUNT, "5"),
    ];
    let letter = DeadLetter::read(None, None, share_group).unwrap();
    assert_eq!((letter.context.source.to_string().as_str(), letter.context.attempts), ("orders/3/7", Some(5)));

    let envelope = "{\"original_topic\": \"orders\", \"original_partition\": 1, \"original_offset\": 2, \"original_key\": \"k\", \
        \"original_value\": {\"id\": 1}, \"original_headers\": {\"a\": \"b\"}, \"error_category\": \"transient\", \
        \"error_type\": \"TimeoutError\", \"error_message\": \"timeout\", \"retry_count\": 5, \"surprise\": true}";
    let letter = DeadLetter::read(None, Some(envelope.into()), Vec::new()).unwrap();
    assert_eq!((letter.value.as_deref(), letter.context.attempts), (Some(&b"{\"id\":1}"[..]), Some(6)));
    assert_eq!(letter.context.category, crate::policy::Category::Transient);
}

#[test]
fn errors_say_what_is_wrong() {
    let error = |headers| DeadLetter::read(None, None, headers).unwrap_err().to_string();
    assert!(error(Vec::new()).starts_with("not a dead letter"));
    assert_eq!(
        error(vec![Header::new(TOPIC, "orders"), Header::new(PARTITION, "0"), Header::new(OFFSET, "-1")]),
        "dead letter with unreadable __dlq.errors.offset: \"-1\" holds no number of 0 or more; look at the record itself"
    );
    assert!(error(vec![Header::new("error", "E"), Header::new("source", "orders")]).contains("unreadable source"));
    let envelope = vec![
        Header::new(TOPIC, "o"),
        Header::new(PARTITION, "0"),
        Header::new(OFFSET, "1"),
        Header::new(ENVELOPE, "1"),
    ];
    assert!(error(envelope).contains("unreadable value"));
}
