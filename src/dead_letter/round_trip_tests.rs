use proptest::prelude::*;

use super::Rung;
use super::format::{DeadLetterFormat, Profile};
use super::names::*;
use super::test_support::{Case, dead_letter, dead_letters};
use crate::record::{Header, ProducerRecord};
use crate::replay::{Convention, DeadLetter, Fidelity};

const RUNGS: [Rung; 5] =
    [Rung::Full, Rung::WithoutValue, Rung::WithoutUserHeaders, Rung::KeyAndContext, Rung::ContextOnly];

const PROFILES: [Profile; 5] = [Profile::Kip1191, Profile::Spring, Profile::Connect, Profile::Plain, Profile::Envelope];

fn read(record: ProducerRecord) -> DeadLetter {
    DeadLetter::read(record.key, record.value, record.headers)
}

fn format(profiles: &[Profile]) -> DeadLetterFormat {
    profiles.iter().fold(DeadLetterFormat::default(), |format, profile| format.profile(*profile))
}

/// Any profiles beside each other.
fn formats() -> impl Strategy<Value = DeadLetterFormat> {
    prop::sample::subsequence(&PROFILES[..], 0..=PROFILES.len()).prop_map(|profiles| format(&profiles))
}

/// Any of them that leave the value as it is.
fn formats_of_headers() -> impl Strategy<Value = DeadLetterFormat> {
    prop::sample::subsequence(&PROFILES[..4], 0..=4).prop_map(|profiles| format(&profiles))
}

proptest! {
    #[test]
    fn every_format_is_read_back_losslessly(case in dead_letters(), format in formats()) {
        prop_assert_eq!(read(case.encode(&format, Rung::Full)), case.letter());
    }

    #[test]
    fn without_the_envelope_the_record_itself_is_unchanged(case in dead_letters(), format in formats_of_headers()) {
        let record = case.encode(&format, Rung::Full);
        prop_assert_eq!(&record.key, &case.key);
        prop_assert_eq!(&record.value, &case.value);
        prop_assert_eq!(&record.headers[..case.headers.len()], &case.headers[..]);
    }

    #[test]
    fn an_envelope_alone_says_everything(case in dead_letters()) {
        let record = case.encode(&format(&[Profile::Envelope]), Rung::Full);
        let expected = DeadLetter { convention: Convention::Envelope, ..case.letter() };
        prop_assert_eq!(DeadLetter::read(None, record.value, Vec::new()), expected);
    }

    #[test]
    fn lower_rungs_keep_what_they_say(case in dead_letters(), rung in prop::sample::select(&RUNGS[1..]), format in formats()) {
        let back = read(case.encode(&format, rung));
        let whole = case.letter();
        let expected = DeadLetter {
            fidelity: Fidelity::Reduced(rung),
            key: whole.key.filter(|_| rung.keeps_key()),
            value: whole.value.filter(|_| rung.keeps_value()),
            headers: if rung.keeps_headers() { whole.headers } else { Vec::new() },
            backtrace: whole.backtrace.filter(|_| rung.keeps_backtrace()),
            ..case.letter()
        };
        prop_assert_eq!(back, expected);
    }

    #[test]
    fn headers_do_not_grow_from_hop_to_hop(case in dead_letters(), format in formats_of_headers()) {
        let first = case.encode(&format, Rung::Full);
        let again = Case { headers: first.headers.clone(), ..case };
        prop_assert_eq!(again.encode(&format, Rung::Full).headers, first.headers);
    }

    #[test]
    fn each_convention_of_the_profiles_reads_its_own_headers(case in dead_letters()) {
        let whole = case.letter();
        for (profile, prefix, convention) in
            [(Profile::Spring, "kafka_dlt-", Convention::Spring), (Profile::Connect, "__connect.", Convention::Connect)]
        {
            let record = case.encode(&format(&[profile]), Rung::Full);
            let headers = record.headers.into_iter().skip(case.headers.len());
            let headers = headers.filter(|header| header.name.starts_with(prefix.as_bytes())).collect();
            let back = DeadLetter::read(record.key, record.value, headers);
            prop_assert_eq!(back.convention, convention);
            prop_assert_eq!(back.origin.to_string(), whole.origin.to_string());
            prop_assert_eq!(back.origin.timestamp, whole.origin.timestamp.filter(|_| profile == Profile::Spring));
            prop_assert_eq!((&back.error_type, &back.message), (&whole.error_type, &whole.message));
            prop_assert_eq!((&back.backtrace, &back.group), (&whole.backtrace, &whole.group));
            prop_assert_eq!((&back.headers[..], back.unreadable), (&[][..], Vec::new()));
        }
    }

    #[test]
    fn broken_envelopes_never_panic(case in dead_letters(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let value = case.encode(&format(&[Profile::Envelope]), Rung::Full).value.unwrap();
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
    let record = letter.encode(&format(&[Profile::Plain]), Rung::Full);
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
    assert_eq!(letter.encode(&kept, Rung::Full).timestamp, Some(1_705_314_600_000));
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
    let record = letter.encode(&format(&[]), Rung::Full);
    assert_eq!(record.headers[..4], theirs);
    assert_eq!(record.headers.iter().filter(|header| header.name == CATEGORY).count(), 1);
    assert!(record.headers.iter().all(|header| header.name != TRUNCATED));
    let record = letter.encode(&format(&[Profile::Plain]), Rung::Full);
    assert_eq!(record.headers[..3], theirs[..3]);
    assert_eq!(record.headers.iter().filter(|header| header.name == PLAIN_ERROR).count(), 1);
}

#[test]
fn text_is_cut_to_its_limits() {
    let mut letter = dead_letter();
    letter.context.message = "ä".repeat(3_000);
    letter.context.backtrace = Some("ß".repeat(9_000));
    for profiles in [&PROFILES[..4], &PROFILES[..]] {
        let back = read(letter.encode(&format(profiles), Rung::Full));
        assert_eq!(back.message, "ä".repeat(1_000));
        assert_eq!(back.backtrace, Some("ß".repeat(5_000)));
    }
    let short = DeadLetterFormat { message_limit: 3, backtrace_limit: 0, ..format(&PROFILES) };
    let back = read(letter.encode(&short, Rung::Full));
    assert_eq!((back.message.as_str(), back.backtrace), ("äää", None));
}

#[test]
fn the_envelope_has_the_readable_fields() {
    let mut letter = dead_letter();
    letter.context.attempts = Some(4);
    letter.headers = vec![Header::new("a", "1"), Header::new("a", "2"), Header::null("b")];
    let json = |letter: &Case| -> serde_json::Value {
        let record = letter.encode(&format(&[Profile::Envelope]), Rung::Full);
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
fn deeply_nested_json_does_not_make_the_envelope_unreadable() {
    let mut letter = dead_letter();
    for depth in [1, 60, 64, 65, 120, 126, 127, 128, 1_000] {
        letter.value = Some(format!("{}{}", "[".repeat(depth), "]".repeat(depth)).into());
        let record = letter.encode(&format(&[Profile::Envelope]), Rung::Full);
        assert_eq!(read(record), letter.letter(), "{depth}");
    }
}
