//! A model of a coordinator of one classic group, as Kafka's behaves.

mod joins;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::broker::{BrokerError, ErrorCode, MemberIdentity, SyncGroup};
use crate::group::machine::{Answer, Request};

/// To whom an answer goes: a request's number.
pub(super) type Token = u64;

#[derive(Debug, Clone)]
struct Member {
    instance: Option<String>,
    session: Duration,
    rebalance: Duration,
    protocols: Vec<(String, Bytes)>,
    joining: Option<Token>,
    syncing: Option<Token>,
    expires: Instant,
    assignment: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Empty,
    Preparing { until: Instant },
    Completing,
    Stable,
}

/// What another broker knows of the group.
#[derive(Debug, Clone, Default)]
struct Written {
    generation: i32,
    protocol: String,
    leader: String,
    members: BTreeMap<String, Member>,
}

#[derive(Debug)]
pub(super) struct Coordinator {
    state: State,
    generation: i32,
    protocol: String,
    leader: String,
    members: BTreeMap<String, Member>,
    pending: BTreeSet<String>,
    ids: u64,
    /// While it moves to another broker.
    down: bool,
    /// As of when the group was last stable.
    written: Written,
    pub(super) answers: Vec<(Token, Answer)>,
}

fn refused(code: ErrorCode) -> BrokerError {
    BrokerError::Response { doing: "speaking with the model".to_owned(), code, message: None }
}

impl Coordinator {
    pub(super) fn new() -> Self {
        Self {
            state: State::Empty,
            generation: 0,
            protocol: String::new(),
            leader: String::new(),
            members: BTreeMap::new(),
            pending: BTreeSet::new(),
            ids: 0,
            down: false,
            written: Written::default(),
            answers: Vec::new(),
        }
    }

    pub(super) fn is_stable(&self) -> bool {
        self.state == State::Stable && !self.down
    }

    pub(super) fn generation(&self) -> i32 {
        self.generation
    }

    /// The broker goes away; those that wait are told so.
    pub(super) fn go_down(&mut self) {
        for member in self.members.values_mut() {
            let (joining, syncing) = (member.joining.take(), member.syncing.take());
            self.answers.extend(joining.map(|token| (token, Answer::Join(Err(refused(ErrorCode::NOT_COORDINATOR))))));
            self.answers.extend(syncing.map(|token| (token, Answer::Sync(Err(refused(ErrorCode::NOT_COORDINATOR))))));
        }
        self.down = true;
    }

    /// Another broker takes over with what was written.
    pub(super) fn come_back(&mut self, now: Instant) {
        if !self.down {
            return;
        }
        let Written { generation, protocol, leader, mut members } = self.written.clone();
        for member in members.values_mut() {
            member.expires = now + member.session;
        }
        let state = if members.is_empty() { State::Empty } else { State::Stable };
        let (pending, down) = (BTreeSet::new(), false);
        let kept = std::mem::replace(self, Self::new());
        let Self { ids, written, answers, .. } = kept;
        *self = Self { state, generation, protocol, leader, members, pending, ids, down, written, answers };
    }

    pub(super) fn request(&mut self, now: Instant, token: Token, request: Request) {
        let answer = match request {
            _ if self.down => Some(match request {
                Request::Join(_) => Answer::Join(Err(refused(ErrorCode::NOT_COORDINATOR))),
                Request::Sync(_) => Answer::Sync(Err(refused(ErrorCode::NOT_COORDINATOR))),
                Request::Leave(_) => Answer::Leave(Err(refused(ErrorCode::NOT_COORDINATOR))),
                Request::Heartbeat(_) | Request::ConsumerHeartbeat(_) => {
                    Answer::Heartbeat(Err(refused(ErrorCode::NOT_COORDINATOR)))
                }
            }),
            Request::Join(join) => self.join(now, token, join).map(Answer::Join),
            Request::Sync(sync) => self.sync(now, token, sync).map(Answer::Sync),
            Request::Heartbeat(member) => Some(Answer::Heartbeat(self.heartbeat(now, &member).map_err(refused))),
            Request::Leave(member) => Some(Answer::Leave(self.leave(now, &member).map_err(refused))),
            Request::ConsumerHeartbeat(_) => unreachable!("a classic member"),
        };
        self.answers.extend(answer.map(|answer| (token, answer)));
    }

    /// How a commit as this member is answered.
    pub(super) fn commit(&self, member: &MemberIdentity) -> Result<(), ErrorCode> {
        if self.down {
            return Err(ErrorCode::NOT_COORDINATOR);
        }
        self.known(member)?;
        if self.state == State::Completing { Err(ErrorCode::REBALANCE_IN_PROGRESS) } else { Ok(()) }
    }

    fn known(&self, member: &MemberIdentity) -> Result<(), ErrorCode> {
        let found = self.members.get(&member.member_id);
        let holder = member.instance_id.as_ref().and_then(|instance| self.holder(instance));
        match (found, holder) {
            (_, Some(id)) if *id != member.member_id => Err(ErrorCode::FENCED_INSTANCE_ID),
            (None, _) => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            (Some(_), _) if member.epoch != self.generation => Err(ErrorCode::ILLEGAL_GENERATION),
            (Some(_), _) => Ok(()),
        }
    }

    fn holder(&self, instance: &str) -> Option<&String> {
        self.members.iter().find(|(_, member)| member.instance.as_deref() == Some(instance)).map(|(id, _)| id)
    }

    fn prepare(&mut self, now: Instant) {
        let longest = self.members.values().map(|member| member.rebalance).max().unwrap_or_default();
        self.state = State::Preparing { until: now + longest };
        for member in self.members.values_mut() {
            let waiting = member.syncing.take();
            let again = || Answer::Sync(Err(refused(ErrorCode::REBALANCE_IN_PROGRESS)));
            self.answers.extend(waiting.map(|token| (token, again())));
        }
    }

    fn complete_if_all_joined(&mut self, now: Instant) {
        if matches!(self.state, State::Preparing { .. }) && self.members.values().all(|member| member.joining.is_some())
        {
            self.complete(now);
        }
    }

    fn complete(&mut self, now: Instant) {
        self.members.retain(|_, member| member.joining.is_some() || member.instance.is_some());
        self.generation += 1;
        let Some(first) = self.members.iter().find(|(_, member)| member.joining.is_some()) else {
            self.state = if self.members.is_empty() { State::Empty } else { State::Stable };
            self.write();
            return self.prepare_if_any(now);
        };
        if self.members.get(&self.leader).is_none_or(|leader| leader.joining.is_none()) {
            self.leader = first.0.clone();
        }
        let offered = |member: &Member, name: &str| member.protocols.iter().any(|(other, _)| other == name);
        let common =
            first.1.protocols.iter().find(|(name, _)| self.members.values().all(|member| offered(member, name)));
        self.protocol = common.map(|(name, _)| name.clone()).unwrap_or_default();
        self.state = State::Completing;
        let ids: Vec<String> = self.members.keys().cloned().collect();
        for id in ids {
            let answer = self.join_answer(&id, false);
            if let Some(member) = self.members.get_mut(&id) {
                member.expires = now + member.session;
                let joining = member.joining.take();
                self.answers.extend(joining.map(|token| (token, Answer::Join(Ok(Ok(answer))))));
            }
        }
    }

    /// Nobody came, but static members are still there.
    fn prepare_if_any(&mut self, now: Instant) {
        if !self.members.is_empty() {
            self.prepare(now);
        }
    }

    fn sync(&mut self, now: Instant, token: Token, sync: SyncGroup) -> Option<Result<Bytes, BrokerError>> {
        if let Err(code) = self.known(&sync.member) {
            return Some(Err(refused(code)));
        }
        let id = sync.member.member_id;
        let member = self.members.get_mut(&id)?;
        member.expires = now + member.session;
        match self.state {
            State::Empty => Some(Err(refused(ErrorCode::UNKNOWN_MEMBER_ID))),
            State::Preparing { .. } => Some(Err(refused(ErrorCode::REBALANCE_IN_PROGRESS))),
            State::Stable => Some(Ok(member.assignment.clone())),
            State::Completing => {
                member.syncing = Some(token);
                if self.leader == id {
                    self.take_assignments(now, sync.assignments.into_iter().collect());
                }
                None
            }
        }
    }

    fn take_assignments(&mut self, now: Instant, mut assignments: BTreeMap<String, Bytes>) {
        self.state = State::Stable;
        for (id, member) in &mut self.members {
            member.assignment = assignments.remove(id).unwrap_or_default();
            member.expires = now + member.session;
            let waiting = member.syncing.take();
            self.answers.extend(waiting.map(|token| (token, Answer::Sync(Ok(member.assignment.clone())))));
        }
        self.write();
    }

    fn write(&mut self) {
        let (protocol, leader) = (self.protocol.clone(), self.leader.clone());
        self.written = Written { generation: self.generation, protocol, leader, members: self.members.clone() };
    }

    fn heartbeat(&mut self, now: Instant, member: &MemberIdentity) -> Result<(), ErrorCode> {
        self.known(member)?;
        if let Some(member) = self.members.get_mut(&member.member_id) {
            member.expires = now + member.session;
        }
        if matches!(self.state, State::Preparing { .. }) { Err(ErrorCode::REBALANCE_IN_PROGRESS) } else { Ok(()) }
    }

    fn leave(&mut self, now: Instant, member: &MemberIdentity) -> Result<(), ErrorCode> {
        if self.pending.remove(&member.member_id) {
            return Ok(());
        }
        self.members.contains_key(&member.member_id).then_some(()).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        self.remove(now, &member.member_id);
        Ok(())
    }

    fn remove(&mut self, now: Instant, id: &str) {
        if let Some(token) = self.members.remove(id).and_then(|member| member.joining) {
            self.answers.push((token, Answer::Join(Err(refused(ErrorCode::UNKNOWN_MEMBER_ID)))));
        }
        match self.state {
            State::Stable | State::Completing => self.prepare(now),
            State::Empty | State::Preparing { .. } => {}
        }
        self.complete_if_all_joined(now);
    }

    /// Lets time pass: sessions end, rebalances are due.
    pub(super) fn pass(&mut self, now: Instant) {
        if self.down {
            return;
        }
        let waits = |member: &Member| member.joining.is_some() || member.syncing.is_some();
        let over = self.members.iter().filter(|(_, member)| !waits(member) && member.expires <= now);
        let over: Vec<String> = over.map(|(id, _)| id.clone()).collect();
        for id in over {
            self.remove(now, &id);
        }
        if let State::Preparing { until } = self.state
            && until <= now
        {
            self.complete(now);
        }
    }
}
