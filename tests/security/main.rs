//! TLS and SASL against a real broker with the listeners that `KAFKA_SECURITY=1 scripts/kafka start PORT` adds.
//!
//! `KAFKA_SECURITY_BOOTSTRAP` gives the address that this prints; without it these tests say so and do nothing.

mod broker;
mod sasl;
mod tls;
