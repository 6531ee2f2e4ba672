//! Bezoar: an actor-based Kafka consumer framework in pure Rust.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod broker;
pub mod classifier;
pub mod dead_letter;
pub mod handler;
pub mod policy;
pub mod record;

#[cfg(feature = "embedded")]
pub use broker::embedded;
pub use ractor;
