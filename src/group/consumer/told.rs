use uuid::Uuid;

use crate::broker::{ConsumerHeartbeat, MemberIdentity};
use crate::group::settings::GroupSettings;

/// What the coordinator is known to know of this member, so that it is told only what changed. Nothing, after a heartbeat
/// that did not succeed: the next one repeats everything.
#[derive(Debug, Default)]
pub(super) struct Told {
    topics: Option<Vec<String>>,
    owned: Option<Vec<(Uuid, Vec<i32>)>>,
}

impl Told {
    /// Whether the coordinator has to be told something before the next heartbeat is due.
    pub(super) fn differs(&self, topics: &[String], owned: &[(Uuid, Vec<i32>)]) -> bool {
        self.topics.as_deref() != Some(topics) || self.owned.as_deref() != Some(owned)
    }

    /// The heartbeat that says what the coordinator does not know.
    pub(super) fn heartbeat(
        &self,
        settings: &GroupSettings,
        member: MemberIdentity,
        topics: Vec<String>,
        owned: Vec<(Uuid, Vec<i32>)>,
    ) -> ConsumerHeartbeat {
        let mut heartbeat = bare(settings, member);
        if self.topics.is_none() {
            heartbeat.rack.clone_from(&settings.rack);
            heartbeat.rebalance_timeout = Some(settings.rebalance_timeout);
            heartbeat.server_assignor.clone_from(&settings.server_assignor);
        }
        heartbeat.topics = Some(topics).filter(|topics| self.topics.as_ref() != Some(topics));
        heartbeat.owned = Some(owned).filter(|owned| self.owned.as_ref() != Some(owned));
        heartbeat
    }

    /// What is owned is to be told again, be it the same: the coordinator waits to hear that something it took back is given up,
    /// which may have been something that was never taken.
    pub(super) fn tell_owned_again(&mut self) {
        self.owned = None;
    }

    /// Takes note of a heartbeat that succeeded.
    pub(super) fn succeeded(&mut self, heartbeat: ConsumerHeartbeat) {
        self.topics = heartbeat.topics.or(self.topics.take());
        self.owned = heartbeat.owned.or(self.owned.take());
    }
}

/// A heartbeat that says who sends it, no more.
pub(super) fn bare(settings: &GroupSettings, member: MemberIdentity) -> ConsumerHeartbeat {
    ConsumerHeartbeat {
        group: settings.group.clone(),
        member,
        rack: None,
        rebalance_timeout: None,
        topics: None,
        server_assignor: None,
        owned: None,
    }
}
