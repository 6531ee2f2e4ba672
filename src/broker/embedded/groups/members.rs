use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::classic::{Claimed, Classic};
use super::consumer::Consumer;

/// The members of a group, by the protocol that they speak. A group without members takes up either.
#[derive(Debug)]
pub(crate) enum Members {
    Classic(Classic),
    Consumer(Consumer),
}

impl Default for Members {
    fn default() -> Self {
        Self::Classic(Classic::default())
    }
}

impl Members {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Classic(classic) => classic.is_empty(),
            Self::Consumer(consumer) => consumer.is_empty(),
        }
    }

    /// The state, as Kafka calls it.
    pub(crate) fn state(&self) -> &'static str {
        match self {
            Self::Classic(classic) => classic.state(),
            Self::Consumer(consumer) => consumer.state(),
        }
    }

    /// The type, as Kafka calls it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Classic(_) => "classic",
            Self::Consumer(_) => "consumer",
        }
    }

    /// What the members use the group for; empty where there never were any.
    pub(crate) fn protocol_type(&self) -> StrBytes {
        match self {
            Self::Classic(classic) => classic.protocol_type().clone(),
            Self::Consumer(_) => StrBytes::from_static_str("consumer"),
        }
    }

    /// Whether a member is known to subscribe to a topic.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        match self {
            Self::Classic(classic) => classic.is_subscribed(topic),
            Self::Consumer(consumer) => consumer.is_subscribed(topic),
        }
    }

    /// Whether offsets may be deleted at all.
    pub(crate) fn check_delete(&self) -> Result<(), ResponseError> {
        match self {
            Self::Classic(classic) => classic.check_delete(),
            Self::Consumer(_) => Ok(()),
        }
    }

    /// Whether offsets may be read by who says to be a member by the protocol of KIP-848.
    pub(crate) fn check_fetch(&self, member_id: &str, epoch: i32) -> Result<(), ResponseError> {
        match self {
            Self::Classic(_) => Ok(()),
            Self::Consumer(consumer) => consumer.check_fetch(member_id, epoch),
        }
    }

    /// Whether a commit for partitions is taken. `version` is that of OffsetCommit; `None` stands for a commit within a transaction.
    pub(super) fn check_commit(
        &mut self,
        now: Duration,
        claimed: Claimed<'_>,
        version: Option<i16>,
        partitions: &[(Uuid, i32)],
    ) -> Result<(), ResponseError> {
        match self {
            Self::Classic(classic) => classic.check_commit(now, claimed, version.is_none()),
            Self::Consumer(consumer) => consumer.check_commit(claimed, version, partitions),
        }
    }

    /// When something happens without a request, at the earliest.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        match self {
            Self::Classic(classic) => classic.next_deadline(),
            Self::Consumer(consumer) => consumer.next_deadline(),
        }
    }
}
