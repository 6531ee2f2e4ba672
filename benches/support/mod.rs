//! What the benches share: ports without a broker, records to process, and how figures are taken and shown.
//!
//! Each bench uses a part of it.
#![allow(dead_code, unreachable_pub)] // one copy is compiled into each bench

pub mod cpu;
pub mod memory;
pub mod records;
pub mod resident;
pub mod table;

/// Whether this is a real run (`cargo bench`). `cargo test` runs benches too, to see that they still work.
pub fn measuring() -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    arguments.iter().any(|argument| argument == "--bench") && !arguments.iter().any(|argument| argument == "--test")
}

/// Whether rows of this name are asked for: all, or those that hold one of the texts on the command line.
pub fn is_wanted(name: &str) -> bool {
    let texts: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    texts.is_empty() || texts.iter().any(|text| name.contains(text.as_str()))
}
