use bezoar::policy::Category;
use bezoar::record::Header;
use bezoar::replay::{Convention, DeadLetter, Fidelity};
use bytes::Bytes;

use crate::support::{said, text};

fn read(key: Option<&'static str>, value: &str) -> DeadLetter {
    DeadLetter::read(key.map(Bytes::from), Some(value.to_owned().into()), Vec::new())
}

/// As Python's `json.dumps(asdict(dead_letter))` writes it.
const ENVELOPE: &str = r#"{"id": "f7c8e5b8af658283", "original_topic": "orders", "original_partition": 3, "original_offset": 17, "original_key": "shop-1", "original_value": {"b": 1.0, "a": 12345678901234567890123}, "original_headers": {"trace": "4bf9", "retry": "1"}, "error_category": "transient", "error_type": "TimeoutError", "error_message": "a \"timeout\"", "stack_trace": "Traceback \u2026", "first_failed_at": "2024-01-15T10:30:00.123456+00:00", "last_failed_at": "2024-01-15T11:30:01+01:00", "retry_count": 5, "consumer_id": "orders-1", "consumer_version": "1.0.0", "replayed": false, "replayed_at": null, "replay_result": null}"#;

#[test]
fn without_exact_bytes_it_is_rebuilt_from_what_is_readable() {
    let letter = read(Some("shop-1"), ENVELOPE);
    let expected = (Convention::Envelope, "orders/3/17".to_owned(), "TimeoutError", "a \"timeout\"", Some(6), None);
    assert_eq!(said(&letter), expected);
    assert_eq!((letter.category, letter.fidelity), (Category::Transient, Fidelity::Rebuilt));
    // Numbers as they stand: a parser would lose digits.
    assert_eq!(letter.value.as_deref(), Some(&br#"{"b": 1.0, "a": 12345678901234567890123}"#[..]));
    assert_eq!(letter.key.as_deref(), Some(&b"shop-1"[..]));
    assert_eq!(letter.headers, [text("trace", "4bf9"), text("retry", "1")]);
    assert_eq!(letter.first_failed_at, Some(1_705_314_600_123));
    assert_eq!(letter.last_failed_at, Some(1_705_314_601_000));
    assert_eq!(letter.backtrace.as_deref(), Some("Traceback …"));
    assert_eq!((letter.consumer_id.as_deref(), letter.consumer_version.as_deref()), (Some("orders-1"), Some("1.0.0")));
    assert_eq!(letter.unreadable, Vec::<String>::new());
}

#[test]
fn the_records_own_key_is_the_originals_where_it_is_the_same_text() {
    let bytes = Bytes::from_static(b"shop-\xff");
    let value = ENVELOPE.replace("shop-1", "shop-\u{fffd}");
    let letter = DeadLetter::read(Some(bytes.clone()), Some(value.clone().into()), Vec::new());
    assert_eq!(letter.key, Some(bytes));
    let letter = DeadLetter::read(Some("f7c8".into()), Some(value.into()), Vec::new());
    assert_eq!(letter.key.as_deref(), Some("shop-\u{fffd}".as_bytes()));
}

#[test]
fn raw_text_alone_is_lossy() {
    let value = r#"{"b": 1.0, "a": 12345678901234567890123}"#;
    let letter = read(None, &ENVELOPE.replace(value, r#"{"raw": "{\"id\": 2"}"#));
    assert_eq!((letter.fidelity, letter.value.as_deref()), (Fidelity::Lossy, Some(&b"{\"id\": 2"[..])));
    for other in [r#"{"raw": 1}"#, r#"{"raw": "x", "id": 1}"#, "\"raw\""] {
        let letter = read(None, &ENVELOPE.replace(value, other));
        assert_eq!((letter.fidelity, letter.value.as_deref()), (Fidelity::Rebuilt, Some(other.as_bytes())));
    }
    let letter = read(None, &ENVELOPE.replace(value, "null"));
    assert_eq!((letter.fidelity, letter.value), (Fidelity::Rebuilt, None));
}

#[test]
fn parts_that_cannot_be_read_are_left_out_and_told() {
    let broken = ENVELOPE
        .replace("\"original_partition\": 3", "\"original_partition\": \"three\"")
        .replace("\"retry_count\": 5", "\"retry_count\": -5")
        .replace("2024-01-15T10:30:00.123456+00:00", "yesterday")
        .replace(r#"{"trace": "4bf9", "retry": "1"}"#, "[1]");
    let letter = read(None, &broken);
    assert_eq!((letter.convention, letter.origin.to_string().as_str()), (Convention::Envelope, "orders/?/17"));
    assert_eq!((letter.attempts, letter.first_failed_at, letter.headers.len()), (None, None, 0));
    let mut names: Vec<&str> = letter.unreadable.iter().filter_map(|text| text.split(':').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["first_failed_at", "original_headers", "original_partition", "retry_count"]);
}

#[test]
fn exact_bytes_that_cannot_be_read_are_told() {
    let broken = ENVELOPE.replace("\"id\"", "\"original_bytes\": {\"value\": \"???\"}, \"id\"");
    let letter = read(None, &broken);
    assert_eq!(letter.fidelity, Fidelity::Rebuilt);
    assert!(letter.unreadable[0].starts_with("original_bytes: "), "{:?}", letter.unreadable);
}

/// As the simple consumer writes it.
#[test]
fn the_simple_consumers_envelope() {
    let letter = read(
        Some("shop-1"),
        r#"{"original_message": {"id": 2}, "error_type": "KeyError", "error_message": "'items'", "stack_trace": "Traceback", "failed_at": "2024-01-15T10:30:00+00:00", "retry_count": 3, "consumer_id": "consumer-1", "topic": "orders", "partition": 3, "offset": 17}"#,
    );
    let expected = (Convention::SimpleEnvelope, "orders/3/17".to_owned(), "KeyError", "'items'", Some(4), None);
    assert_eq!(said(&letter), expected);
    assert_eq!((letter.fidelity, letter.value.as_deref()), (Fidelity::Rebuilt, Some(&b"{\"id\": 2}"[..])));
    assert_eq!((letter.key.as_deref(), letter.last_failed_at), (Some(&b"shop-1"[..]), Some(1_705_314_600_000)));
    let raw = r#"{"original_message": {"raw": "bad"}, "error_type": "E", "topic": "orders", "partition": null, "offset": null}"#;
    let letter = read(None, raw);
    assert_eq!((letter.fidelity, letter.origin.to_string().as_str()), (Fidelity::Lossy, "orders/?/?"));
    assert_eq!(letter.unreadable, Vec::<String>::new(), "null is not there");
}

#[test]
fn the_opening_shape_names_no_topic() {
    let of = |error: &str| {
        let value = r#"{"original_message": {"id": 2}, "error": "ERROR", "failed_at": "2024-01-15T10:30:00Z", "retry_count": 3, "consumer_id": "orders-consumer-1", "stack_trace": "..."}"#;
        read(Some("k"), &value.replace("ERROR", error))
    };
    let letter = of("ValueError: Invalid item quantity: -1");
    let expected =
        (Convention::SimpleEnvelope, "?/?/?".to_owned(), "ValueError", "Invalid item quantity: -1", Some(4), None);
    assert_eq!(said(&letter), expected);
    assert_eq!((letter.id(), letter.last_failed_at), (None, Some(1_705_314_600_000)));
    let letter = of("no type in here: only text");
    assert_eq!((letter.error_type.as_str(), letter.message.as_str()), ("", "no type in here: only text"));
    let letter = of("Value\\u0045rror: \\\"x\\\"");
    assert_eq!((letter.error_type.as_str(), letter.message.as_str()), ("ValueError", "\"x\""));
}

#[test]
fn other_json_is_no_envelope() {
    for value in [
        "{}",
        "[{\"original_topic\": \"orders\"}]",
        "{\"original_topic\": \"orders\"}",
        "{\"original_message\": 1}",
        "{\"original_value\": 1, \"error_type\": \"E\"}",
        "{\"original_topic\": \"orders\", \"original_value\": 1, \"error_type\": \"E\"",
    ] {
        let headers = vec![Header::new("a", "b")];
        let letter = DeadLetter::read(None, Some(value.to_owned().into()), headers.clone());
        assert_eq!((letter.convention, letter.fidelity), (Convention::Unrecognized, Fidelity::Exact), "{value}");
        assert_eq!((letter.value.as_deref(), letter.headers), (Some(value.as_bytes()), headers));
    }
}
