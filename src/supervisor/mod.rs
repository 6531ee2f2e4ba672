//! Starts, restarts and stops: one supervisor per consumer, over its partition actors and control actors.
//!
//! Restarts and waits never run inside the supervisor's own message handling, so that one partition's slow factory
//! delays no other partition's restart.

mod actor;
mod drain;
mod incarnations;
mod message;
mod restart;
mod source;
mod state;

pub(crate) use actor::{ControlActors, SupervisorActor, SupervisorSettings, TopicPlan};
pub use message::Summary;
pub(crate) use message::{Assignment, Finished, SupervisorMessage};
pub use restart::{Escalation, RestartPolicy};
