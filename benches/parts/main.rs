//! The parts that a record, or a failed one, passes through, each by itself: decoders, the feed, classification, the
//! encoding of dead letters. No broker, no actors.
//!
//! `cargo bench --bench parts`, or `cargo bench --bench parts -- feed`

#[path = "../support/mod.rs"]
mod support;

mod classify;
mod decode;
mod encode;
mod feed;

fn main() {
    divan::main();
}
