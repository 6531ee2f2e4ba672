//! Settled offsets become watermarks, and watermarks become commits: never past an unsettled offset.

mod actor;
#[cfg(all(test, feature = "testing"))]
mod actor_tests;
mod intervals;
mod message;
mod reset;
mod state;
mod waiting;

pub(crate) use actor::{Committing, Member, OffsetsActor};
pub use message::PartitionOffsets;
pub(crate) use message::{Beginning, OffsetsMessage};
pub use reset::{OffsetReset, ResolveError};
pub(crate) use reset::{choose, no_offset, resolve};
