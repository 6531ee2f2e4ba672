//! An HTTP endpoint for Prometheus and for health checks.
//!
//! | path | answers |
//! |---|---|
//! | `GET /metrics` | all metrics of the process, in Prometheus's text format; 404 where none are given to the endpoint |
//! | `GET /health/live` | 200 as long as the endpoint answers: the process and its runtime work |
//! | `GET /health/ready` | 200 while each consumer runs, is a member of its group and has no stopped partition, else 503; as JSON with the reasons |
//! | `GET /health` | 200 with what is known of each consumer and partition, as JSON |
//!
//! ```no_run
//! use bezoar::web;
//!
//! # async fn run<F: bezoar::HandlerFactory>(factory: F) -> Result<(), Box<dyn std::error::Error>>
//! # where bezoar::Raw: bezoar::Decoder<<F::Handler as bezoar::Handler>::Message> {
//! // Before any consumer starts.
//! let prometheus = web::prometheus()?;
//! let listener = web::listen("0.0.0.0:9464").await?;
//!
//! let consumer = bezoar::Consumer::builder("billing").topic("orders", bezoar::Raw, factory).start().await?;
//! let endpoint = web::Endpoint::new().prometheus(prometheus).consumer(consumer.handle());
//! tokio::spawn(web::serve(listener, endpoint, bezoar::shutdown_signal()));
//! consumer.run_until(bezoar::shutdown_signal()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! It runs on the caller's runtime, apart from where records are handled and where heartbeats and commits are made, and asks
//! consumers as [`ConsumerHandle::partitions`](crate::ConsumerHandle::partitions) does. A client gets
//! [ten seconds](CONNECTION_TIMEOUT) and one answer per connection, and one of [64](MAX_CONNECTIONS); metrics are rendered for
//! one client at a time. There is neither TLS nor authentication: bind it to an address that only those reach who may ask.

pub(crate) mod client;
mod endpoint;
mod error;
mod health;
mod histograms;
mod prometheus;
mod server;

pub use endpoint::Endpoint;
pub use error::{ListenError, PrometheusError};
pub use prometheus::{Prometheus, prometheus};
pub use server::{CONNECTION_TIMEOUT, MAX_CONNECTIONS, listen, serve};
