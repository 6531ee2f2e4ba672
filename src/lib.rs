//! Bezoar: an actor-based Kafka consumer framework in pure Rust.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod broker;
pub mod classifier;
pub mod consumer;
pub mod dead_letter;
pub mod event;
pub mod handler;
mod isolation;
mod offsets;
mod partition;
pub mod policy;
pub mod producer;
pub mod record;
mod supervisor;

#[cfg(feature = "embedded")]
pub use broker::embedded;
pub use consumer::{Consumer, ConsumerError};
pub use event::{Event, EventStream};
pub use handler::{
    Decoder, Delivery, FactoryContext, FactoryError, Failure, Handler, HandlerFactory, IntoFailure, Json, Raw, Utf8,
    factory_fn, handler_fn,
};
pub use ractor;
