//! An in-process Kafka broker.
