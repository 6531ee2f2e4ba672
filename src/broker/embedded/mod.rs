//! An in-process Kafka broker, for demonstrations and tests: no JVM, no container, no port to agree on.
//!
//! It speaks the real protocol on a loopback port, so every Kafka client can talk to it, and keeps its records in
//! memory as the raw batches that came. Nothing is deleted by age or size or compacted but at a test's word
//! ([`Broker::set_log_start`], [`Broker::compact`]), and there is one broker. Transactions are those of Kafka 3 (KIP-890
//! leaves them to older brokers).
//!
//! It coordinates consumer groups by the classic protocol and by that of KIP-848, with sessions that end by its clock.
//! Where it departs from Kafka 4.3 there:
//! - A group with members takes none of the other protocol (Kafka's `group.consumer.migration.policy=disabled`).
//! - KIP-848's assignments are made at once and not every second; subscription by a pattern is refused.
//! - Short sessions and no delay before the first rebalance are the defaults (see the [builder](BrokerBuilder)).
//! - Offsets and groups never expire.
//!
//! ```
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use bezoar::embedded::{Api, Broker, Fault};
//!
//! let broker = Broker::start().await?;
//! broker.create_topic("orders", 3)?;
//! println!("bootstrap servers: {}", broker.bootstrap());
//!
//! // The next answer to a produce request is lost, though its records are written.
//! let lost = broker.inject(Fault::on(Api::Produce).topic("orders").drop_after_effect());
//! // … a client produces to it and notices …
//! assert_eq!(lost.fired(), 0);
//! assert_eq!(broker.end_offset("orders", 0), Some(0));
//! broker.shutdown().await;
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(run()).unwrap();
//! ```
//!
//! The broker proper is a state machine without I/O (`core`): requests and time go in, answers come out. Around it a
//! thin server serves TCP, and in-memory pipes ([`Broker::connect`]) for tests in tokio's paused time.

mod acts;
mod api;
mod apis;
mod broker;
mod builder;
#[cfg(test)]
mod checks;
mod configs;
mod connection;
mod core;
mod error;
mod fault;
mod fuzz;
mod groups;
mod log;
mod members;
mod perform;
mod reply;
mod request;
#[cfg(test)]
mod samples;
mod server;
mod sessions;
mod shape;
mod state;
mod topics;
mod transactions;

pub use super::batch::{BatchWriter, StoredRecord};
pub use api::Api;
pub use broker::Broker;
pub use builder::BrokerBuilder;
pub use error::EmbeddedError;
pub use fault::{Fault, FaultOn, Injected};
#[doc(hidden)]
pub use fuzz::fuzz_frame;
pub use members::GroupMember;
