//! What tests see of the members of groups, and do to them, behind the protocol's back.

use super::broker::Broker;
use super::groups::Members;

/// A member of a group, as the embedded broker has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupMember {
    /// Its member id.
    pub member_id: String,
    /// The instance id of a static member.
    pub instance_id: Option<String>,
    /// What its client calls itself.
    pub client_id: String,
    /// The generation of its group (classic protocol) or its member epoch (KIP-848).
    pub epoch: i32,
}

impl Broker {
    /// The members of a group, in the order in which they joined; none where there is no such group.
    pub fn group_members(&self, group: &str) -> Vec<GroupMember> {
        self.server.with(|core, _| match core.state.groups.get(group).map(|group| &group.members) {
            Some(Members::Classic(classic)) => {
                let members = classic.members().iter().map(|member| GroupMember {
                    member_id: member.id.to_string(),
                    instance_id: member.instance_id.as_ref().map(ToString::to_string),
                    client_id: member.client.id.to_string(),
                    epoch: classic.generation(),
                });
                members.collect()
            }
            Some(Members::Consumer(consumer)) => {
                let members = consumer.members().iter().map(|member| GroupMember {
                    member_id: member.id.to_string(),
                    instance_id: member.instance_id.as_ref().map(ToString::to_string),
                    client_id: member.client.id.to_string(),
                    epoch: member.epoch,
                });
                members.collect()
            }
            None => Vec::new(),
        })
    }

    /// The state of a group as Kafka calls it, for instance `Stable`; `None` where there is no such group.
    pub fn group_state(&self, group: &str) -> Option<&'static str> {
        self.server.with(|core, _| core.state.groups.get(group).map(|group| group.members.state()))
    }

    /// Ends the session of a group's member at once, as if no heartbeat had come for too long; false where there is no
    /// such member. It learns of that from the answer to its next request.
    pub fn expire_member(&self, group: &str, member_id: &str) -> bool {
        self.server.with(|core, now| core.state.groups.expire(now.elapsed, group, member_id))
    }
}
