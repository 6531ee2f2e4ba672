use bezoar::record::Header;
use bezoar::replay::Convention;

use crate::support::{bytes, last_hop, read, said, text};

/// One hop's originals: `topic/3/17` at 2024-01-15T10:30:00Z.
pub(crate) fn originals(topic: &'static str) -> Vec<Header> {
    vec![
        text("kafka_dlt-original-topic", topic),
        bytes("kafka_dlt-original-partition", &[0, 0, 0, 3]),
        bytes("kafka_dlt-original-offset", &[0, 0, 0, 0, 0, 0, 0, 17]),
        bytes("kafka_dlt-original-timestamp", &[0, 0, 0x01, 0x8d, 0x0c, 0xab, 0xc4, 0x40]),
        text("kafka_dlt-original-timestamp-type", "CreateTime"),
        text("kafka_dlt-original-consumer-group", "billing"),
    ]
}

pub(crate) fn exception() -> Vec<Header> {
    vec![
        text("kafka_dlt-exception-fqcn", "org.springframework.kafka.listener.ListenerExecutionFailedException"),
        text("kafka_dlt-exception-cause-fqcn", "java.lang.IllegalStateException"),
        text("kafka_dlt-exception-message", "Listener failed; no items"),
        text(
            "kafka_dlt-exception-stacktrace",
            "java.lang.IllegalStateException: no items\n\tat Orders.on(Orders.java:7)",
        ),
    ]
}

#[test]
fn a_dead_letter_of_one_hop() {
    let letter = read([originals("orders"), exception()].concat());
    let expected = (
        Convention::Spring,
        "orders/3/17".to_owned(),
        "java.lang.IllegalStateException",
        "Listener failed; no items",
        None,
        Some("billing"),
    );
    assert_eq!(said(&letter), expected);
    assert_eq!(letter.origin.timestamp, Some(1_705_314_600_000));
    assert_eq!(letter.id().as_deref(), Some(bezoar::dead_letter::short_id("orders", 3, 17).as_str()));
    assert!(letter.backtrace.unwrap().contains("Orders.java:7"));
    assert_eq!((letter.last_hop, letter.unreadable), (None, Vec::new()));
}

#[test]
fn of_several_hops_the_last_is_the_newest() {
    let mut second = originals("orders-retry");
    second[1] = bytes("kafka_dlt-original-partition", &[0, 0, 0, 0]);
    second[2] = bytes("kafka_dlt-original-offset", &[0, 0, 0, 1, 0, 0, 0, 0]);
    let letter = read([originals("orders"), exception(), second, exception()].concat());
    assert_eq!(letter.origin.to_string(), "orders/3/17");
    assert_eq!(last_hop(&letter).as_deref(), Some("orders-retry/0/4294967296"));
}

#[test]
fn without_a_cause_the_exception_itself_is_the_error() {
    let mut headers = [originals("orders"), exception()].concat();
    headers.retain(|header| header.name != "kafka_dlt-exception-cause-fqcn");
    assert!(read(headers).error_type.ends_with("ListenerExecutionFailedException"));
}

#[test]
fn a_key_that_could_not_be_read_is_an_error_too() {
    let exception = [
        text("kafka_dlt-key-exception-fqcn", "org.apache.kafka.common.errors.SerializationException"),
        text("kafka_dlt-key-exception-message", "size of data is 3"),
        text("kafka_dlt-key-exception-stacktrace", "at Deserializer"),
    ];
    let letter = read([originals("orders"), exception.to_vec()].concat());
    assert_eq!(letter.error_type, "org.apache.kafka.common.errors.SerializationException");
    assert_eq!((letter.message.as_str(), letter.backtrace.as_deref()), ("size of data is 3", Some("at Deserializer")));
}

/// Text where the convention has four bytes is not guessed at, nor are numbers of another length.
#[test]
fn numbers_of_another_length_are_left_out_and_told() {
    let mut headers = originals("orders");
    headers[1] = text("kafka_dlt-original-partition", "3");
    headers[2] = bytes("kafka_dlt-original-offset", &[0, 0, 0, 17]);
    let letter = read(headers);
    assert_eq!(letter.origin.to_string(), "orders/?/?");
    assert_eq!(letter.id(), None);
    assert_eq!(
        letter.unreadable,
        [
            "kafka_dlt-original-partition: 1 bytes is no number from 0 on",
            "kafka_dlt-original-offset: 4 bytes is no number from 0 on"
        ]
    );
}

/// Which partition belongs to which topic cannot be told.
#[test]
fn what_a_hop_lacks_is_not_taken_from_another() {
    let mut first = originals("orders");
    first.remove(1);
    let letter = read([first, originals("orders-retry")].concat());
    assert_eq!(letter.origin.to_string(), "orders/?/17");
    assert_eq!(letter.unreadable, ["kafka_dlt-original-partition: it is not there for each hop"]);
}

fn retried() -> Vec<Header> {
    vec![
        text("kafka_original-topic", "orders"),
        bytes("kafka_original-partition", &[0, 0, 0, 3]),
        bytes("kafka_original-offset", &[0, 0, 0, 0, 0, 0, 0, 17]),
        bytes("kafka_original-timestamp", &[0, 0, 0x01, 0x8d, 0x0c, 0xab, 0xc4, 0x40]),
        text("kafka_original-timestamp-type", "CreateTime"),
        text("kafka_dlt-original-consumer-group", "billing"),
        text("kafka_exception-fqcn", "org.springframework.kafka.listener.ListenerExecutionFailedException"),
        text("kafka_exception-cause-fqcn", "java.lang.IllegalStateException"),
        text("kafka_exception-message", "Listener failed; no items"),
        text("kafka_exception-stacktrace", "at Orders.on(Orders.java:7)"),
        bytes("retry_topic-original-timestamp", &[0x01, 0x8d, 0x0c, 0xab, 0xc4, 0x40]),
        bytes("retry_topic-attempts", &[0, 0, 0, 2]),
        bytes("retry_topic-backoff-timestamp", &[0x01, 0x8d, 0x0c, 0xab, 0xc8, 0x28]),
        // The next hop keeps the originals and adds these.
        bytes("retry_topic-original-timestamp", &[0x01, 0x8d, 0x0c, 0xab, 0xc4, 0x40]),
        bytes("retry_topic-attempts", &[0, 0, 0, 4]),
        bytes("retry_topic-backoff-timestamp", &[0x01, 0x8d, 0x0c, 0xab, 0xcc, 0x10]),
    ]
}

#[test]
fn a_dead_letter_after_retry_topics() {
    let letter = read(retried());
    let expected = (
        Convention::SpringRetry,
        "orders/3/17".to_owned(),
        "java.lang.IllegalStateException",
        "Listener failed; no items",
        Some(4),
        Some("billing"),
    );
    assert_eq!(said(&letter), expected);
    assert_eq!(letter.origin.timestamp, Some(1_705_314_600_000));
    assert_eq!((letter.last_hop, letter.unreadable), (None, Vec::new()));
}

#[test]
fn attempts_were_one_byte_and_timestamps_are_of_minimal_length() {
    let mut headers = retried();
    headers.retain(|header| header.name != "kafka_original-timestamp");
    for header in &mut headers {
        if header.name == "retry_topic-attempts" {
            *header = bytes("retry_topic-attempts", &[200]);
        }
    }
    let letter = read(headers);
    assert_eq!((letter.attempts, letter.origin.timestamp), (Some(200), Some(1_705_314_600_000)));
}
