use bezoar::replay::Convention;

use crate::support::{read, said, texts};

#[test]
fn karafka() {
    for [topic, partition, offset, group, attempts] in [
        ["source_topic", "source_partition", "source_offset", "source_consumer_group", "source_attempts"],
        ["original_topic", "original_partition", "original_offset", "original_consumer_group", "original_attempts"],
    ] {
        let headers = [(topic, "orders"), (partition, "3"), (offset, "17"), (group, "billing"), (attempts, "4")];
        let letter = read(texts(&headers));
        let expected = (Convention::Karafka, "orders/3/17".to_owned(), "", "", Some(4), Some("billing"));
        assert_eq!(said(&letter), expected);
    }
}

#[test]
fn arroyo_does_not_tell_the_topic() {
    let letter = read(texts(&[("original_partition", "3"), ("original_offset", "17")]));
    assert_eq!(said(&letter), (Convention::Arroyo, "?/3/17".to_owned(), "", "", None, None));
    assert_eq!((letter.origin.record(), letter.id()), (None, None));
}

#[test]
fn watermill() {
    let letter = read(texts(&[
        ("reason_poisoned", "no items"),
        ("topic_poisoned", "orders"),
        ("handler_poisoned", "on-order"),
        ("subscriber_poisoned", "kafka.Subscriber"),
    ]));
    assert_eq!(said(&letter), (Convention::Watermill, "orders/?/?".to_owned(), "", "no items", None, None));
    assert_eq!(letter.consumer_id.as_deref(), Some("on-order"));
}

#[test]
fn trendyol_and_kin() {
    let letter = read(texts(&[
        ("x-retry-count", "3"),
        ("x-retry-attempt-count", "1"),
        ("x-produce-time", "1705314600000999999"),
        ("x-error-message", "no items"),
    ]));
    assert_eq!(said(&letter), (Convention::Trendyol, "?/?/?".to_owned(), "", "no items", Some(3), None));
    assert_eq!(letter.last_failed_at, Some(1_705_314_600_000));
    let letter = read(texts(&[("x-original-topic", "orders")]));
    assert_eq!(said(&letter), (Convention::Trendyol, "orders/?/?".to_owned(), "", "", None, None));
}
