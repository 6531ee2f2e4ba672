use bytes::Bytes;
use kafka_protocol::ResponseError;

use super::super::Ticket;
use super::{Claimed, Classic, Phase, Synced, Turn};

/// A request for an assignment.
#[derive(Debug)]
pub(crate) struct Sync<'a> {
    pub(crate) ticket: Ticket,
    pub(crate) claimed: Claimed<'a>,
    pub(crate) protocol_type: Option<&'a str>,
    pub(crate) protocol: Option<&'a str>,
    /// What the leader assigns, by member id.
    pub(crate) assignments: Vec<(&'a str, &'a Bytes)>,
}

impl Classic {
    /// Takes a request for an assignment; it is answered now or when the leader has assigned.
    pub(crate) fn sync(&mut self, turn: &mut Turn<'_>, sync: Sync<'_>) {
        if let Err(error) = self.try_sync(turn, &sync) {
            turn.answer_sync(sync.ticket, Err(error));
        }
    }

    fn try_sync(&mut self, turn: &mut Turn<'_>, sync: &Sync<'_>) -> Result<(), ResponseError> {
        let at = self.check(sync.claimed)?;
        let is_other = |said: Option<&str>, ours: &str| said.is_some_and(|said| said != ours);
        if is_other(sync.protocol_type, &self.protocol_type) || is_other(sync.protocol, &self.protocol) {
            return Err(ResponseError::InconsistentGroupProtocol);
        }
        match self.phase {
            Phase::Empty => return Err(ResponseError::UnknownMemberId),
            Phase::Preparing { .. } => return Err(ResponseError::RebalanceInProgress),
            Phase::Completing | Phase::Stable => {}
        }
        let member = &mut self.members[at];
        member.synced = true;
        if let Some(ticket) = member.syncing.replace(sync.ticket) {
            // It asks again on another connection; nobody reads this answer.
            turn.answer_sync(ticket, Err(ResponseError::UnknownMemberId));
        }
        if self.phase == Phase::Completing && self.members[at].id == self.leader {
            for member in &mut self.members {
                let assigned = sync.assignments.iter().find(|(id, _)| **id == *member.id);
                member.assignment = assigned.map(|(_, bytes)| Bytes::copy_from_slice(bytes)).unwrap_or_default();
            }
            self.phase = Phase::Stable;
        }
        if self.phase == Phase::Stable {
            self.answer_syncs(turn);
        }
        if self.members.iter().all(|member| member.synced) {
            self.sync_until = None;
        }
        Ok(())
    }

    fn answer_syncs(&mut self, turn: &mut Turn<'_>) {
        for member in &mut self.members {
            let Some(ticket) = member.syncing.take() else { continue };
            member.touch(turn.now);
            let synced = Synced {
                protocol_type: self.protocol_type.clone(),
                protocol: self.protocol.clone(),
                assignment: member.assignment.clone(),
            };
            turn.answer_sync(ticket, Ok(synced));
        }
    }

    /// Takes a heartbeat.
    pub(crate) fn heartbeat(&mut self, turn: &mut Turn<'_>, claimed: Claimed<'_>) -> Result<(), ResponseError> {
        let at = self.check(claimed)?;
        if self.phase == Phase::Empty {
            return Err(ResponseError::UnknownMemberId);
        }
        self.members[at].touch(turn.now);
        if matches!(self.phase, Phase::Preparing { .. }) { Err(ResponseError::RebalanceInProgress) } else { Ok(()) }
    }

    /// Lets a member go: by its member id, or by its instance id alone, as an administrator does.
    pub(crate) fn leave(
        &mut self,
        turn: &mut Turn<'_>,
        member_id: &str,
        instance_id: Option<&str>,
    ) -> Result<(), ResponseError> {
        if self.is_pending(member_id) {
            self.pending.retain(|pending, _| &**pending != member_id);
            self.try_complete_join(turn);
            return Ok(());
        }
        let at = if member_id.is_empty() {
            instance_id.and_then(|instance_id| self.find_static(instance_id)).ok_or(ResponseError::UnknownMemberId)?
        } else {
            self.check_member(member_id, instance_id)?
        };
        self.remove(turn, at);
        Ok(())
    }

    /// Ends the session of a member at once; false where there is no such member.
    pub(crate) fn expire(&mut self, turn: &mut Turn<'_>, member_id: &str) -> bool {
        let found = self.find(member_id);
        if let Some(at) = found {
            self.remove(turn, at);
        }
        found.is_some()
    }
}
