//! Defects that were found by trying to break the promises, each kept from coming back. All run on the embedded broker.

mod bad_network;
mod chaos;
mod credit;
mod extremes;
mod first_batches;
mod hostile_ports;
mod memory;
mod oversized;
mod plane;
mod real_kafka;
mod resets;
// The harness serves more tests than those here.
mod shutdowns;
#[allow(dead_code)]
#[path = "../promises/support.rs"]
mod support;
mod user_code;
