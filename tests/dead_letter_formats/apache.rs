use bezoar::replay::{Convention, DeadLetter, Fidelity};
use bytes::Bytes;

use crate::support::{VALUE, last_hop, read, said, text, texts};

#[test]
fn share_groups() {
    let written = || {
        texts(&[
            ("__dlq.errors.topic", "orders"),
            ("__dlq.errors.partition", "3"),
            ("__dlq.errors.offset", "17"),
            ("__dlq.errors.group", "billing"),
            ("__dlq.errors.delivery.count", "5"),
            ("__dlq.errors.message", "released too often"),
        ])
    };
    let letter = read(written());
    let expected = (Convention::Kip1191, "orders/3/17".to_owned(), "", "released too often", Some(5), Some("billing"));
    assert_eq!(said(&letter), expected);

    // Key and value are copied only if that is asked for: a null is no tombstone by itself.
    for (key, value) in [(None, None), (Some(VALUE), None), (None, Some(VALUE))] {
        let letter = DeadLetter::read(key.map(Bytes::from_static), value.map(Bytes::from_static), written());
        assert_eq!((letter.convention, letter.fidelity), (Convention::Kip1191, Fidelity::Uncertain));
        assert_eq!((letter.key.as_deref(), letter.value.as_deref()), (key, value));
    }
}

#[test]
fn connect_over_two_hops() {
    let hop = |topic, offset| {
        texts(&[
            ("__connect.errors.topic", topic),
            ("__connect.errors.partition", "3"),
            ("__connect.errors.offset", offset),
            ("__connect.errors.connector.name", "s3-sink"),
            ("__connect.errors.task.id", "1"),
            ("__connect.errors.stage", "VALUE_CONVERTER"),
            ("__connect.errors.class.name", "org.apache.kafka.connect.json.JsonConverter"),
            ("__connect.errors.exception.class.name", "org.apache.kafka.connect.errors.DataException"),
            ("__connect.errors.exception.message", "Converting byte[] failed"),
            ("__connect.errors.exception.stacktrace", "at JsonConverter"),
        ])
    };
    let letter = read(hop("orders", "17"));
    let expected = (
        Convention::Connect,
        "orders/3/17".to_owned(),
        "org.apache.kafka.connect.errors.DataException",
        "Converting byte[] failed",
        None,
        Some("s3-sink"),
    );
    assert_eq!(said(&letter), expected);
    assert_eq!((letter.backtrace.as_deref(), letter.last_hop), (Some("at JsonConverter"), None));

    let letter = read([hop("orders", "17"), hop("orders-dlq", "2")].concat());
    assert_eq!(letter.origin.to_string(), "orders/3/17");
    assert_eq!(last_hop(&letter).as_deref(), Some("orders-dlq/3/2"));
}

#[test]
fn streams() {
    let letter = read(texts(&[
        ("__streams.errors.exception", "java.lang.ArithmeticException"),
        ("__streams.errors.message", "/ by zero"),
        ("__streams.errors.stacktrace", "at Topology"),
        ("__streams.errors.topic", "orders"),
        ("__streams.errors.partition", "3"),
        ("__streams.errors.offset", "17"),
    ]));
    let expected =
        (Convention::Streams, "orders/3/17".to_owned(), "java.lang.ArithmeticException", "/ by zero", None, None);
    assert_eq!(said(&letter), expected);
    assert_eq!(letter.backtrace.as_deref(), Some("at Topology"));
}

#[test]
fn numbers_that_are_none_are_left_out_and_told() {
    let letter = read(texts(&[
        ("__connect.errors.topic", "orders"),
        ("__connect.errors.partition", "-1"),
        ("__connect.errors.offset", "seventeen"),
    ]));
    assert_eq!(letter.origin.to_string(), "orders/?/?");
    assert_eq!(
        letter.unreadable,
        [
            "__connect.errors.partition: \"-1\" is no number from 0 on",
            "__connect.errors.offset: \"seventeen\" is no number from 0 on"
        ]
    );
    let nameless = read(vec![text("__connect.errors.topic", ""), text("__connect.errors.partition", "0")]);
    assert_eq!((nameless.origin.to_string().as_str(), nameless.unreadable.len()), ("?/0/?", 1));
}
