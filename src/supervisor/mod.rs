//! Starts, restarts and stops: one supervisor per consumer, over its partition actors and control actors.
//!
//! Restarts and waits never run inside the supervisor's own message handling, so that one partition's slow factory
//! delays no other partition's restart.

mod actor;
mod claims;
mod drain;
mod incarnations;
mod look;
mod membership;
mod message;
mod opening;
mod pause;
mod release;
mod restart;
mod seek;
mod settings;
mod source;
mod state;
mod status;
mod survey;
#[cfg(all(test, feature = "testing"))]
mod tests;

pub(crate) use crate::partition::TopicName;
pub(crate) use actor::SupervisorActor;
pub(crate) use drain::COMMIT_TIMEOUT;
pub use message::Summary;
pub(crate) use message::{Assignment, Finished, SupervisorMessage};
pub use restart::{Escalation, RestartPolicy};
pub(crate) use settings::{ControlActors, MembershipPlan, SupervisorSettings, TopicPlan};
pub use status::{PartitionState, PartitionStatus, SeekError, SeekTo};
