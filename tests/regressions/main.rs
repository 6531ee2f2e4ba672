//! Defects that were found by trying to break the promises, each kept from coming back. All run on the embedded broker.

mod bad_network;
mod chaos;
mod credit;
mod extremes;
mod first_batches;
mod groups;
mod hostile_ports;
mod memory;
mod oversized;
mod plane;
mod real_kafka;
mod resets;
mod shutdowns;
#[allow(dead_code)] // the harness serves more tests than those here
#[path = "../promises/support.rs"]
mod support;
mod user_code;
