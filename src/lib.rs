//! A Kafka consumer framework in pure Rust for services that must not lose a record, must not get stuck on one, and must
//! build without a C compiler.
//!
//! Each partition has a supervised actor that processes its records strictly in order with a [`Handler`] of its own.
//! Failures are sorted into five [categories](policy::Category) with a [policy](policy::Policies) each: retries in place,
//! backoff, and then a [dead letter](dead_letter), skip or stop. A panicking handler is caught, its record quarantined, and
//! a fresh handler goes on. An offset is committed only when everything below it was handled or its dead letter was
//! acknowledged.
//!
//! Start with [`Consumer::builder`] and [`Handler`]; the repository's `README.md` shows a consumer in one screen, its
//! `examples` one thing each, `docs/design.md` how and why.
//!
//! | to | look at |
//! |---|---|
//! | put a consumer together | [`consumer::ConsumerBuilder`], [`consumer::ConsumerSettings`] |
//! | share the work between instances | it is the default: [`group_protocol`](consumer::ConsumerBuilder::group_protocol), [`instance_id`](consumer::ConsumerBuilder::instance_id), the repository's `docs/groups.md` |
//! | process partitions of one's own choice | [`consumer::Assignment::Manual`] |
//! | subscribe by a pattern | [`ConsumerBuilder::topic_pattern`](consumer::ConsumerBuilder::topic_pattern) |
//! | pause, resume, seek, see what partitions do | [`ConsumerHandle::pause`], [`ConsumerHandle::seek`], [`ConsumerHandle::partitions`] |
//! | write a handler: a type, a closure, an actor | [`Handler`], [`handler_fn`], [`handler::actor`] |
//! | decode | [`Json`], [`Utf8`], [`Raw`], [`Decoder`] |
//! | say what kind of failure it is | [`Failure`], [`IntoFailure`], [`classifier`] |
//! | decide what follows | [`policy`] |
//! | read a dead letter | [`replay::DeadLetter::from_record`] |
//! | list, group, fix and replay dead letters | [`replay::DeadLetters`], the command `bezoar` |
//! | have effects that happen once | [`Delivery::id`], [`Delivery::origin`], the repository's `docs/deduplication.md` |
//! | see what happens | [`Event`], [`EventStream`] |
//! | count and measure | [`ConsumerHandle::counts`], [`metrics`], `web` |
//! | carry traces on | [`Delivery::trace_context`], [`ConsumerBuilder::on_delivery_span`](consumer::ConsumerBuilder::on_delivery_span) |
//! | connect by TLS and SASL | [`broker::security`] |
//! | send records | [`Delivery::produce`], [`producer::Producer`] |
//! | hear of dead letters | [`monitor`], the repository's `docs/monitor.md` |
//! | test | `testing::Harness`, `embedded::Broker` |
//!
//! # Features
//! | feature | default | brings |
//! |---|---|---|
//! | `rskafka` | yes | [`broker::Plane::Rskafka`]: reading and producing through the rskafka client |
//! | `tls` | no | TLS, by rustls with cryptography in pure Rust |
//! | `embedded` | no | `embedded::Broker`, an in-process Kafka server |
//! | `web` | no | `web::serve`: an endpoint for Prometheus and health checks; webhooks for alerts |
//! | `cli` | no | the command `bezoar`; `embedded`, `tls` and `web` |
//! | `testing` | no | `testing::Harness`, and `embedded` |
//! | `async-trait` | no | ractor's other form of its traits, where another crate switches it on |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod broker;
pub mod classifier;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod consumer;
pub mod dead_letter;
pub mod event;
mod group;
pub mod handler;
mod isolation;
pub mod metrics;
pub mod monitor;
mod offsets;
mod partition;
pub mod policy;
pub mod producer;
pub mod record;
pub mod replay;
mod supervisor;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "web")]
pub mod web;

#[cfg(feature = "embedded")]
pub use broker::embedded;
pub use consumer::{Consumer, ConsumerError, ConsumerHandle, shutdown_signal};
pub use event::{Event, EventStream};
pub use handler::{
    Decoder, Delivery, FactoryContext, FactoryError, Failure, Handler, HandlerFactory, IntoFailure, Json, Raw, Utf8,
    factory_fn, handler_fn,
};
pub use ractor;

/// The code in README.md, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
