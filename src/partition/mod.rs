//! One actor per partition: processes its records strictly in order, and owns its handler.
//!
//! An incarnation is one life of that actor. What must outlive it is in its [`Ownership`]: the feed, the position, the
//! retries of the record there. A record that takes the handler down ends the incarnation with a typed error; the
//! supervisor has the record judged and starts the next one on the same feed.

mod actor;
mod context;
mod deliver;
mod error;
mod judge;
mod letters;
mod message;
mod ownership;
#[cfg(test)]
mod ownership_tests;
mod patience;
mod progress;
mod runtime;
mod tally;
mod topic;
mod trace;
mod turn;

pub use context::CorruptBatches;
pub(crate) use context::{Hooks, PartitionContext, TopicLimits};
#[cfg(feature = "testing")]
pub(crate) use deliver::{Attempt, Delivered};
pub(crate) use error::{Fault, PartitionError};
pub(crate) use judge::{Judged, judge};
pub(crate) use letters::Letters;
pub(crate) use message::PartitionMessage;
pub(crate) use ownership::{LEASE_LOOK, Ownership};
#[cfg(feature = "testing")]
pub(crate) use patience::Patience;
pub(crate) use runtime::{Incarnation, Spawner, TypedSpawner};
pub(crate) use topic::{Sources, TopicName};
