use bezoar::replay::Convention;

use crate::support::{last_hop, read, said, texts};

#[test]
fn the_first_of_several_values_is_the_newest_hops() {
    let hop = |topic, offset, reason| {
        texts(&[
            ("dead-letter-exception-class-name", "java.lang.IllegalStateException"),
            ("dead-letter-reason", reason),
            ("dead-letter-cause-class-name", "java.io.IOException"),
            ("dead-letter-cause", "broken pipe"),
            ("dead-letter-topic", topic),
            ("dead-letter-partition", "3"),
            ("dead-letter-offset", offset),
        ])
    };
    let letter = read(hop("orders", "17", "no items"));
    let expected =
        (Convention::SmallRye, "orders/3/17".to_owned(), "java.lang.IllegalStateException", "no items", None, None);
    assert_eq!(said(&letter), expected);
    assert_eq!((letter.backtrace.as_deref(), letter.last_hop), (Some("broken pipe"), None));

    let letter = read([hop("dead-letter-topic-orders", "2", "still none"), hop("orders", "17", "no items")].concat());
    assert_eq!((letter.origin.to_string().as_str(), letter.message.as_str()), ("orders/3/17", "still none"));
    assert_eq!(last_hop(&letter).as_deref(), Some("dead-letter-topic-orders/3/2"));
}

#[test]
fn after_delayed_retries() {
    let letter = read(texts(&[
        ("delayed-retry-exception-class-name", "java.lang.IllegalStateException"),
        ("delayed-retry-reason", "no items"),
        ("delayed-retry-cause-class-name", "java.io.IOException"),
        ("delayed-retry-cause", "broken pipe"),
        ("delayed-retry-topic", "orders"),
        ("delayed-retry-partition", "3"),
        ("delayed-retry-offset", "17"),
        ("delayed-retry-original-timestamp", "1705314600000"),
        ("delayed-retry-first-processing-timestamp", "1705314601000"),
        ("delayed-retry-count", "3"),
    ]));
    let expected =
        (Convention::SmallRye, "orders/3/17".to_owned(), "java.lang.IllegalStateException", "no items", Some(4), None);
    assert_eq!(said(&letter), expected);
    assert_eq!(letter.origin.timestamp, Some(1_705_314_600_000));
    assert_eq!(letter.first_failed_at, Some(1_705_314_601_000));
}
