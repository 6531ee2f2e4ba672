use std::collections::BTreeSet;

use bytes::Bytes;
use tokio::time::Instant;

use super::{Coordinator, Member, State, Token, refused};
use crate::broker::{BrokerError, ErrorCode, JoinAnswer, JoinGroup, JoinedMember};

impl Coordinator {
    pub(super) fn join(
        &mut self,
        now: Instant,
        token: Token,
        join: JoinGroup,
    ) -> Option<Result<Result<JoinAnswer, String>, BrokerError>> {
        let mut id = join.member.member_id.clone();
        let holder = join.member.instance_id.as_ref().and_then(|instance| self.holder(instance)).cloned();
        let mut replaces = false;
        if id.is_empty() {
            self.ids += 1;
            id = format!("member-{}", self.ids);
            if join.member.instance_id.is_none() {
                self.pending.insert(id.clone());
                return Some(Ok(Err(id)));
            }
            if let Some(member) = holder.and_then(|holder| {
                if self.leader == holder {
                    self.leader = id.clone();
                }
                self.members.remove(&holder)
            }) {
                replaces = true;
                self.members.insert(id.clone(), Member { joining: None, syncing: None, ..member });
            }
        } else if holder.is_some_and(|holder| holder != id) {
            return Some(Err(refused(ErrorCode::FENCED_INSTANCE_ID)));
        } else if !self.members.contains_key(&id) && !self.pending.remove(&id) {
            return Some(Err(refused(ErrorCode::UNKNOWN_MEMBER_ID)));
        }
        let names =
            |protocols: &[(String, Bytes)]| protocols.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>();
        let offered = names(&join.protocols);
        let others = self.members.iter().filter(|(other, _)| **other != id);
        if others.map(|(_, member)| names(&member.protocols)).fold(offered, |a, b| &a & &b).is_empty() {
            return Some(Err(refused(ErrorCode::INCONSISTENT_GROUP_PROTOCOL)));
        }
        let was = self.members.get(&id).map(|member| (member.protocols.clone(), member.assignment.clone()));
        let changed = was.as_ref().is_none_or(|(protocols, _)| *protocols != join.protocols) && !replaces;
        let member = Member {
            instance: join.member.instance_id,
            session: join.session_timeout,
            rebalance: join.rebalance_timeout,
            protocols: join.protocols,
            joining: None,
            syncing: None,
            expires: now + join.session_timeout,
            assignment: was.map(|(_, assignment)| assignment).unwrap_or_default(),
        };
        self.members.insert(id.clone(), member);
        let at_once = match self.state {
            State::Stable => !changed && (replaces || self.leader != id),
            State::Completing => !changed && !replaces,
            State::Empty | State::Preparing { .. } => false,
        };
        if at_once {
            if replaces {
                self.write();
            }
            let skip = replaces && self.leader == id;
            return Some(Ok(Ok(self.join_answer(&id, skip))));
        }
        if !matches!(self.state, State::Preparing { .. }) {
            self.prepare(now);
        }
        self.members.entry(id).and_modify(|member| member.joining = Some(token));
        self.complete_if_all_joined(now);
        None
    }

    pub(super) fn join_answer(&self, id: &str, skip_assignment: bool) -> JoinAnswer {
        let subscription = |member: &Member| {
            let found = member.protocols.iter().find(|(name, _)| *name == self.protocol);
            found.map(|(_, bytes)| bytes.clone()).unwrap_or_default()
        };
        let members = self.members.iter().map(|(id, member)| JoinedMember {
            member_id: id.clone(),
            instance_id: member.instance.clone(),
            subscription: subscription(member),
        });
        JoinAnswer {
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            member_id: id.to_owned(),
            skip_assignment,
            members: if self.leader == id { members.collect() } else { Vec::new() },
        }
    }
}
