//! Replays: dead letters sent to where they came from, once, whatever happens meanwhile.
//!
//! A run claims letters, sends them and marks them, at most so many at a time ([`machine`]). [`found`] finds them in order,
//! [`job`] decides what is sent where, [`ledger`] writes and reads the marks, and [`driver`] holds it together, from its [`start`]
//! on: it [looks](looking) at letters, and meets [`events`].

mod discard;
mod driver;
mod events;
mod found;
mod job;
mod ledger;
mod looking;
mod machine;
#[cfg(test)]
mod machine_tests;
mod original;
mod start;
mod target;
mod targets;

pub(super) use discard::discard;
pub(super) use start::{Asked, replay};
