use bezoar::replay::Convention;

use crate::support::{read, said, texts};

#[test]
fn beavers() {
    let letter = read(texts(&[
        ("beavers-dlq-subscription", "billing"),
        ("beavers-dlq-failure", "rejected"),
        ("beavers-dlq-error", "no items"),
        ("beavers-dlq-attempts", "2"),
        ("beavers-dlq-count", "1"),
        ("beavers-dlq-origin-topic", "orders"),
        ("beavers-dlq-origin-partition", "3"),
        ("beavers-dlq-origin-offset", "17"),
        ("beavers-dlq-origin-timestamp", "1705314600000"),
    ]));
    let expected = (Convention::Beavers, "orders/3/17".to_owned(), "rejected", "no items", Some(2), Some("billing"));
    assert_eq!(said(&letter), expected);
    assert_eq!(letter.origin.timestamp, Some(1_705_314_600_000));
}

#[test]
fn krafka() {
    let letter = read(texts(&[
        ("__krafka.dlq.original.topic", "orders"),
        ("__krafka.dlq.original.partition", "3"),
        ("__krafka.dlq.original.offset", "17"),
        ("__krafka.dlq.exception.message", "no items"),
    ]));
    assert_eq!(said(&letter), (Convention::Krafka, "orders/3/17".to_owned(), "", "no items", None, None));
    // What could not be produced has no place.
    let letter = read(texts(&[("__krafka.dlq.original.topic", "orders"), ("__krafka.dlq.exception.message", "full")]));
    assert_eq!(said(&letter), (Convention::Krafka, "orders/?/?".to_owned(), "", "full", None, None));
}

#[test]
fn autumn() {
    let letter = read(texts(&[
        ("autumn.dlq.consumer", "billing"),
        ("autumn.dlq.original-topic", "orders"),
        ("autumn.dlq.original-partition", "3"),
        ("autumn.dlq.original-offset", "17"),
        ("autumn.dlq.error", "no items"),
    ]));
    assert_eq!(said(&letter), (Convention::Autumn, "orders/3/17".to_owned(), "", "no items", None, None));
    assert_eq!(letter.consumer_id.as_deref(), Some("billing"));
}
