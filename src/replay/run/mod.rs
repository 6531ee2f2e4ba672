//! Replays: dead letters sent to where they came from, once, whatever happens meanwhile.
//!
//! A run claims letters, sends them and marks them, at most so many at a time ([`machine`]). [`found`] finds them in order,
//! [`job`] decides what is sent where, [`ledger`] writes and reads the marks, and [`driver`] holds it together.

mod discard;
mod driver;
mod found;
mod job;
mod ledger;
mod machine;
#[cfg(test)]
mod machine_tests;
mod original;
mod target;
mod targets;

pub(super) use discard::discard;
pub(super) use driver::replay;
