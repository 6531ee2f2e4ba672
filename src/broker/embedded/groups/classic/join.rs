use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;

use super::{Classic, Join, Joined, Member, NotJoined, Phase, Turn};

/// How long a new member may wait for its first answer: it cannot send heartbeats yet.
const NEW_MEMBER: Duration = Duration::from_secs(300);
/// The first version in which a member is told its id and asks again with that.
const ID_REQUIRED_SINCE: i16 = 4;
/// The first version in which a leader can be told not to assign.
const SKIPPING_SINCE: i16 = 9;

impl Classic {
    /// Takes a request to join; it is answered now or when all members have joined.
    pub(crate) fn join(&mut self, turn: &mut Turn<'_>, join: Join) {
        let (ticket, member_id) = (join.ticket, join.member_id.clone());
        if let Err(error) = self.try_join(turn, join) {
            turn.answer_join(ticket, Err(NotJoined { error, member_id }));
        }
    }

    fn try_join(&mut self, turn: &mut Turn<'_>, join: Join) -> Result<(), ResponseError> {
        if !self.has_room(&join.member_id, turn.settings.most_members) {
            return Err(ResponseError::GroupMaxSizeReached);
        }
        if !self.suits(&join) {
            return Err(ResponseError::InconsistentGroupProtocol);
        }
        if join.member_id.is_empty() {
            self.join_new(turn, join);
            return Ok(());
        }
        if self.pending.remove(&join.member_id).is_some() {
            let id = join.member_id.clone();
            self.add(turn, id, join);
            return Ok(());
        }
        let at = self.check_member(&join.member_id, join.instance_id.as_deref())?;
        self.join_again(turn, at, join)
    }

    fn join_new(&mut self, turn: &mut Turn<'_>, join: Join) {
        let id = join.new_member_id.clone();
        if let Some(at) = join.instance_id.as_deref().and_then(|instance_id| self.find_static(instance_id)) {
            self.replace(turn, at, join);
        } else if join.instance_id.is_none() && join.version >= ID_REQUIRED_SINCE {
            self.pending.insert(id.clone(), turn.now.saturating_add(join.session_timeout));
            let refused = NotJoined { error: ResponseError::MemberIdRequired, member_id: id };
            turn.answer_join(join.ticket, Err(refused));
        } else {
            self.add(turn, id, join);
        }
    }

    /// A member that is known joins again.
    fn join_again(&mut self, turn: &mut Turn<'_>, at: usize, join: Join) -> Result<(), ResponseError> {
        let member = &self.members[at];
        let is_leader = member.id == self.leader;
        let says_the_same = member.protocols == join.protocols;
        let needs_no_rebalance = match self.phase {
            Phase::Empty => return Err(ResponseError::UnknownMemberId),
            Phase::Preparing { .. } => false,
            // Its answer may have been lost.
            Phase::Completing => says_the_same,
            // The leader asks for a rebalance by joining again, for instance because there are new partitions.
            Phase::Stable => says_the_same && !is_leader,
        };
        if needs_no_rebalance {
            let joined = self.joined(at, is_leader && self.phase == Phase::Completing);
            turn.answer_join(join.ticket, Ok(joined));
            return Ok(());
        }
        self.update(turn, at, join);
        self.rebalance(turn);
        Ok(())
    }

    /// A static member is back under a new member id: whoever has the old one is fenced.
    fn replace(&mut self, turn: &mut Turn<'_>, at: usize, join: Join) {
        let old_id = std::mem::replace(&mut self.members[at].id, join.new_member_id.clone());
        let member = &mut self.members[at];
        if let Some(ticket) = member.joining.take() {
            let error = ResponseError::FencedInstanceId;
            turn.answer_join(ticket, Err(NotJoined { error, member_id: old_id.clone() }));
        }
        if let Some(ticket) = member.syncing.take() {
            turn.answer_sync(ticket, Err(ResponseError::FencedInstanceId));
        }
        let is_leader = old_id == self.leader;
        if is_leader {
            self.leader = join.new_member_id.clone();
        }
        let (ticket, version) = (join.ticket, join.version);
        self.update(turn, at, join);
        if !self.members[at].is_new {
            self.members[at].touch(turn.now);
        }
        if self.phase != Phase::Stable || self.choose_protocol() != self.protocol {
            // Before the assignment is there, it would be for the old id.
            self.rebalance(turn);
            return;
        }
        // The assignment stays, so nobody else notices.
        self.members[at].joining = None;
        let mut joined = self.joined(at, is_leader && version >= SKIPPING_SINCE);
        if version >= SKIPPING_SINCE {
            joined.skip_assignment = is_leader;
        } else if is_leader {
            // Told that another leads, it does not assign.
            joined.leader = old_id;
        }
        turn.answer_join(ticket, Ok(joined));
    }

    fn add(&mut self, turn: &mut Turn<'_>, id: StrBytes, join: Join) {
        if self.members.is_empty() {
            self.protocol_type = join.protocol_type.clone();
            self.leader = id.clone();
        }
        if let Phase::Preparing { initial: Some(initial), .. } = &mut self.phase {
            initial.has_grown = true;
        }
        self.members.push(Member {
            id,
            instance_id: join.instance_id,
            client: join.client,
            session_timeout: join.session_timeout,
            rebalance_timeout: join.rebalance_timeout,
            protocols: join.protocols,
            assignment: Default::default(),
            is_new: true,
            joining: Some(join.ticket),
            syncing: None,
            synced: false,
            deadline: turn.now.saturating_add(NEW_MEMBER),
        });
        self.rebalance(turn);
    }

    fn update(&mut self, turn: &mut Turn<'_>, at: usize, join: Join) {
        let member = &mut self.members[at];
        if let Some(ticket) = member.joining.replace(join.ticket) {
            // It asks again on another connection; nobody reads this answer.
            let refused = NotJoined { error: ResponseError::UnknownMemberId, member_id: member.id.clone() };
            turn.answer_join(ticket, Err(refused));
        }
        member.client = join.client;
        member.session_timeout = join.session_timeout;
        member.rebalance_timeout = join.rebalance_timeout;
        member.protocols = join.protocols;
    }

    /// What a member is told that has joined the current generation.
    pub(super) fn joined(&self, at: usize, tell_members: bool) -> Joined {
        let all = self.members.iter().filter(|_| tell_members);
        let told = all.map(|one| (one.id.clone(), one.instance_id.clone(), one.metadata(&self.protocol)));
        Joined {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            skip_assignment: false,
            member_id: self.members[at].id.clone(),
            members: told.collect(),
        }
    }

    fn has_room(&self, member_id: &str, most: usize) -> bool {
        let known = self.find(member_id);
        match self.phase {
            Phase::Empty => true,
            Phase::Preparing { .. } => {
                let waiting = self.members.iter().filter(|member| member.joining.is_some()).count();
                known.is_some_and(|at| self.members[at].joining.is_some()) || waiting < most
            }
            Phase::Completing | Phase::Stable => known.is_some() || self.members.len() < most,
        }
    }

    /// Whether the others have an assignor in common with who joins.
    fn suits(&self, join: &Join) -> bool {
        if self.members.is_empty() {
            return !join.protocol_type.is_empty() && !join.protocols.is_empty();
        }
        let all_know = |protocol: &str| self.members.iter().all(|member| member.knows(protocol));
        join.protocol_type == self.protocol_type && join.protocols.iter().any(|(name, _)| all_know(name))
    }
}
