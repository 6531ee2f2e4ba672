//! Starts, restarts and stops: one supervisor per consumer, over its partition actors and control actors.
//!
//! Restarts and waits never run inside the supervisor's own message handling, so that one partition's slow factory
//! delays no other partition's restart.

mod actor;
mod drain;
mod incarnations;
mod message;
mod restart;
mod settings;
mod source;
mod state;
mod status;

pub(crate) use actor::SupervisorActor;
pub use message::Summary;
pub(crate) use message::{Assignment, Finished, SupervisorMessage};
pub use restart::{Escalation, RestartPolicy};
pub(crate) use settings::{ControlActors, MembershipPlan, SupervisorSettings, TopicName, TopicPlan};
pub use status::{PartitionState, PartitionStatus, SeekError, SeekTo};
