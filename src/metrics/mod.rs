//! What a consumer counts and measures.
//!
//! The counts can be read from its handle at any time ([`ConsumerHandle::counts`](crate::ConsumerHandle::counts)). Where a
//! recorder of the [`metrics`](https://docs.rs/metrics) facade is installed, it is told of the same counts, and of latencies and
//! gauges besides: so any exporter fits. **It must be installed before the consumer starts.** Without one nothing is measured.
//! The feature `web` has one for Prometheus, with the endpoint: `bezoar::web`.
//!
//! [`names`] has all names; the repository's `docs/metrics.md` says when to look at which.

mod counts;
mod depth;
mod export;
mod gauges;
mod labels;
mod meter;
pub mod names;
mod topic;

pub use counts::{CategoryCounts, Counts, TopicCounts};
pub(crate) use depth::{depth, oldest_age};
pub(crate) use gauges::run as keep_gauges;
pub(crate) use meter::Meter;
pub(crate) use topic::TopicMeter;
