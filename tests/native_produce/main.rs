//! The producer over our own connections: each record exactly once and in order, whatever happens to requests and answers.

mod exactly_once;
mod kafka;
mod limits;
mod refusals;
mod support;
mod throughput;
