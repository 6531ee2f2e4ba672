//! What users write to handle records, and how they say that it did not work.

pub(crate) mod chain;
mod failure;
mod into_failure;

pub use failure::Failure;
pub use into_failure::IntoFailure;
