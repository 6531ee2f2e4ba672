use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

use super::super::{Client, Ticket};

/// A member of a classic group.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: StrBytes,
    /// Set for static members.
    pub(crate) instance_id: Option<StrBytes>,
    pub(crate) client: Client,
    pub(super) session_timeout: Duration,
    pub(super) rebalance_timeout: Duration,
    /// Assignors in the order of preference, with what the member says to each.
    pub(super) protocols: Vec<(StrBytes, Bytes)>,
    /// What the leader assigned to it; empty before.
    pub(crate) assignment: Bytes,
    /// It has not been told that it is a member yet, and can send no heartbeats.
    pub(super) is_new: bool,
    /// Its request to join, which waits for the others.
    pub(super) joining: Option<Ticket>,
    /// Its request for its assignment, which waits for the leader.
    pub(super) syncing: Option<Ticket>,
    /// Whether it has asked for its assignment in this generation.
    pub(super) synced: bool,
    /// When its session ends.
    pub(super) deadline: Duration,
}

impl Member {
    /// Starts its session anew.
    pub(super) fn touch(&mut self, now: Duration) {
        self.deadline = now.saturating_add(self.session_timeout);
    }

    /// When it expires; `None` while the broker owes it an answer.
    pub(super) fn expiry(&self) -> Option<Duration> {
        let is_waiting = self.joining.is_some() || self.syncing.is_some();
        (self.is_new || !is_waiting).then_some(self.deadline)
    }

    /// What it says to an assignor; empty where it does not know that.
    pub(crate) fn metadata(&self, protocol: &str) -> Bytes {
        let found = self.protocols.iter().find(|(name, _)| &**name == protocol);
        found.map(|(_, metadata)| metadata.clone()).unwrap_or_default()
    }

    pub(super) fn knows(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|(name, _)| &**name == protocol)
    }
}
