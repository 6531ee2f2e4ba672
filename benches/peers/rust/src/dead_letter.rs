//! The headers of dead letters, by KIP-1191's names, which Bezoar and the hand-written loops share.

pub const TOPIC: &str = "__dlq.errors.topic";
pub const PARTITION: &str = "__dlq.errors.partition";
pub const OFFSET: &str = "__dlq.errors.offset";
pub const GROUP: &str = "__dlq.errors.group";
pub const DELIVERY_COUNT: &str = "__dlq.errors.delivery.count";
pub const MESSAGE: &str = "__dlq.errors.message";

/// Headers as a dead letter of Bezoar's carries them beside its offset; for producing alone.
pub const SAMPLE: [(&str, &str); 16] = [
    (TOPIC, "peers-storm"),
    (PARTITION, "2"),
    (GROUP, "peers-storm-bezoar-1"),
    (DELIVERY_COUNT, "1"),
    (MESSAGE, "amount -12345 is negative"),
    ("bezoar.id", "f7c8e5b8af658283"),
    ("bezoar.category", "validation"),
    ("bezoar.error.type", "OrderError"),
    ("bezoar.error.backtrace", "amount -12345 is negative"),
    ("bezoar.source.timestamp", "2026-11-29T20:48:47.123Z"),
    ("bezoar.source.topic.id", "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"),
    ("bezoar.first-failed-at", "2026-11-29T20:48:47.123Z"),
    ("bezoar.last-failed-at", "2026-11-29T20:48:47.123Z"),
    ("bezoar.consumer.id", "peers-storm-bezoar-1@host:12345"),
    ("bezoar.consumer.version", "1.0.0"),
    ("bezoar.fingerprint", "0123456789abcdef"),
];
