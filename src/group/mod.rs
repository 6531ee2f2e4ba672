//! Membership in a consumer group: several instances share the partitions of the topics that they subscribe to.
//!
//! The group actor speaks with the group's coordinator through a state machine without I/O, one per protocol, and tells the
//! supervisor which partitions are this member's ([`GroupNotice`]). Heartbeats go out from the control plane, whatever
//! handlers do. What is owned may be processed until the [`Lease`] is over, which is shorter than the session that the
//! coordinator grants: so nothing is handled any more when it gives the partitions to others.

mod absent;
mod actor;
mod assignors;
mod classic;
mod consumer;
mod lease;
mod log;
mod looks;
mod machine;
mod message;
mod protocol;
mod request;
mod settings;
mod timer;
mod topics;

pub(crate) use actor::GroupActor;
pub(crate) use lease::{Lease, Tenure};
pub(crate) use machine::TopicInfo;
pub(crate) use message::{BY_IDS, GroupMessage, GroupNotice};
pub(crate) use settings::GroupSettings;
pub use settings::{Assignor, GroupProtocol};
pub(crate) use topics::Subscription;
