//! Settled offsets become watermarks, and watermarks become commits: never past an unsettled offset.

mod actor;
mod intervals;
mod message;
mod reset;
mod state;

pub(crate) use actor::OffsetsActor;
pub(crate) use message::OffsetsMessage;
pub use message::PartitionOffsets;
pub use reset::{OffsetReset, ResolveError};
pub(crate) use reset::{choose, commit, resolve};
