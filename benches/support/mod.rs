//! What the benches share: ports without a broker, records to process, and how figures are taken and shown.
//!
//! Each bench uses a part of it.
#![allow(dead_code, unreachable_pub)] // one copy is compiled into each bench

pub mod cpu;
pub mod memory;
pub mod records;
pub mod table;

/// Whether this is a real run (`cargo bench`). `cargo test` runs benches too, to see that they still work.
pub fn measuring() -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    arguments.iter().any(|argument| argument == "--bench") && !arguments.iter().any(|argument| argument == "--test")
}
