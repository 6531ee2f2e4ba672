//! Our own connections to brokers, over the kafka-protocol crate's messages.
