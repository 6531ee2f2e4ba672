//! What the peers in Rust share: the job they are given, the orders they process, and how they are measured.

pub mod dead_letter;
pub mod job;
pub mod measure;
pub mod order;
pub mod plan;

/// Errors end a peer with their text; nothing is decided by their kind.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;
