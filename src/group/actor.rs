use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::time::Instant;

use super::absent::Absent;
use super::classic::ClassicMember;
use super::consumer::ConsumerMember;
use super::lease::Lease;
use super::log;
use super::looks::Looks;
use super::machine::{Answer, Effect, Input, Machine, Request, Topics};
use super::message::{GroupMessage, GroupNotice};
use super::protocol;
use super::request::{send, watched};
use super::settings::{GroupProtocol, GroupSettings};
use super::timer::Timer;
use super::topics::{Known, Subscription};
use crate::broker::{BrokerError, ErrorCode, Ports};
use crate::policy::Backoff;

/// Waits between attempts to find out which protocol to speak.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_millis(250), 2.0, Duration::from_secs(5));

/// Keeps a consumer's membership in its group: does what the state machine of the protocol says, reads what it subscribes to,
/// and tells the supervisor what comes of it.
pub(crate) struct GroupActor {
    pub(crate) settings: GroupSettings,
    pub(crate) subscription: Subscription,
    pub(crate) ports: Ports,
    pub(crate) lease: Arc<Lease>,
    /// Tells the supervisor; must not block.
    pub(crate) notify: Arc<dyn Fn(GroupNotice) + Send + Sync>,
}

pub(crate) struct GroupState {
    phase: Phase,
    /// Failed attempts in a row to choose the protocol.
    attempts: u32,
    looks: Looks,
    known: Known,
    /// Topics that are looked at though they are not subscribed to.
    also: BTreeSet<String>,
    absent: Absent,
    /// Whether the first heartbeat of KIP-848 is what is not answered yet.
    joining: bool,
    leaving: Vec<RpcReplyPort<()>>,
    timer: Timer,
}

enum Phase {
    /// It is being found out which protocol to speak, or will be at that time.
    Choosing(Option<Instant>),
    Member(Box<dyn Machine>),
    /// There will be no membership (any more), or it cannot come about.
    Over,
}

type Myself = ActorRef<GroupMessage>;

#[cfg_attr(feature = "async-trait", ractor::async_trait)]
impl Actor for GroupActor {
    type Msg = GroupMessage;
    type State = GroupState;
    type Arguments = ();

    async fn pre_start(&self, myself: Myself, (): ()) -> Result<GroupState, ActorProcessingErr> {
        let now = Instant::now();
        let mut state = GroupState {
            phase: Phase::Choosing(Some(now)),
            attempts: 0,
            looks: Looks::new(self.settings.refresh, now),
            known: Known::default(),
            also: BTreeSet::new(),
            absent: Absent::default(),
            joining: false,
            leaving: Vec::new(),
            timer: Timer::default(),
        };
        self.go_on(&myself, &mut state);
        Ok(state)
    }

    async fn handle(
        &self,
        myself: Myself,
        message: GroupMessage,
        state: &mut GroupState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            GroupMessage::Tick => self.step(&myself, state, Input::Tick),
            GroupMessage::Chosen(result) => self.chosen(&myself, state, result),
            GroupMessage::Answered(Answer::ConsumerHeartbeat(Err(error)))
                if state.joining
                    // Who leaves does not begin anew by another protocol.
                    && state.leaving.is_empty()
                    && self.settings.protocol == GroupProtocol::Auto
                    && protocol::is_for_classic_only(&error) =>
            {
                let group = &self.settings.group;
                tracing::info!(group, "joining by the classic protocol, since KIP-848's was refused: {error}");
                self.begin(&myself, state, GroupProtocol::Classic);
            }
            GroupMessage::Answered(answer) => {
                if let Answer::Leave(Err(error)) = &answer {
                    let group = &self.settings.group;
                    tracing::warn!(
                        group,
                        "the group was not told that this member leaves, and finds out by itself: {error}"
                    );
                }
                self.step(&myself, state, Input::Answered(answer));
            }
            GroupMessage::Topics(result) => self.looked(&myself, state, result),
            GroupMessage::Released(partitions) => self.step(&myself, state, Input::Released(partitions)),
            GroupMessage::CommitRefused(code) => self.step(&myself, state, Input::CommitRefused(code)),
            GroupMessage::Leave(reply) => {
                state.leaving.push(reply);
                if matches!(state.phase, Phase::Choosing(_)) {
                    state.phase = Phase::Over;
                }
                self.step(&myself, state, Input::Leave);
            }
        }
        self.go_on(&myself, state);
        Ok(())
    }
}

impl GroupActor {
    /// Steps the machine, if there is one, and does what it says.
    fn step(&self, myself: &Myself, state: &mut GroupState, input: Input) {
        let Phase::Member(machine) = &mut state.phase else { return };
        for effect in machine.step(Instant::now(), input) {
            match effect {
                Effect::Send(request) => self.send(myself, state, request),
                Effect::Lease(until) => self.lease.extend(until),
                Effect::EndLease => self.lease.end(),
                Effect::Notice(notice) => self.tell(notice),
                Effect::LookAtTopics(topics) => {
                    state.also.extend(topics);
                    state.looks.hurry(Instant::now());
                }
                Effect::Left => {
                    tracing::info!(group = self.settings.group, "not in the group any more");
                    state.phase = Phase::Over;
                }
            }
        }
    }

    fn send(&self, myself: &Myself, state: &mut GroupState, request: Request) {
        // Without the port no machine was made.
        let Some(membership) = self.ports.membership.clone() else { return };
        if let Request::ConsumerHeartbeat(heartbeat) = &request {
            state.joining = heartbeat.member.epoch == 0;
        }
        let (group, myself) = (self.settings.group.clone(), myself.clone());
        tokio::spawn(async move {
            let answer = send(membership, group, request).await;
            // The actor is gone only when the consumer is.
            let _ = myself.cast(GroupMessage::Answered(answer));
        });
    }

    /// Begins what is due, and sets the timer for the rest.
    fn go_on(&self, myself: &Myself, state: &mut GroupState) {
        let now = Instant::now();
        if let Phase::Over = state.phase {
            state.leaving.drain(..).for_each(|reply| drop(reply.send(())));
            return state.timer.set(myself, None);
        }
        if let Phase::Choosing(at) = &mut state.phase
            && at.is_some_and(|at| now >= at)
        {
            *at = None;
            self.choose(myself);
        }
        if state.looks.begin(now) {
            let (subscription, also) = (self.subscription.clone(), state.also.clone());
            let (admin, myself) = (Arc::clone(&self.ports.admin), myself.clone());
            let doing = format!("looking for the topics of group {}", self.settings.group);
            tokio::spawn(async move {
                let result = watched(doing, async { subscription.look(&*admin, &also).await }).await;
                let _ = myself.cast(GroupMessage::Topics(result));
            });
        }
        let wake = match &state.phase {
            Phase::Choosing(at) => *at,
            Phase::Member(machine) => machine.wake_at(),
            Phase::Over => None,
        };
        state.timer.set(myself, wake.into_iter().chain(state.looks.wake_at()).min());
    }

    /// Finds out which protocol to speak.
    fn choose(&self, myself: &Myself) {
        let group = self.settings.group.clone();
        let Some(membership) = self.ports.membership.clone() else {
            let doing = format!("joining group {group}");
            let remedy =
                "this adapter cannot; use the native one (broker::native), or assign partitions by hand".to_owned();
            let _ = myself.cast(GroupMessage::Chosen(Err(BrokerError::Unsupported { doing, remedy })));
            return;
        };
        if self.settings.protocol != GroupProtocol::Auto {
            let _ = myself.cast(GroupMessage::Chosen(Ok(self.settings.protocol)));
            return;
        }
        let (admin, myself) = (Arc::clone(&self.ports.admin), myself.clone());
        tokio::spawn(async move {
            let doing = format!("asking which protocol group {group} speaks");
            let choosing = async { protocol::choose(&*admin, &*membership, &group).await };
            let _ = myself.cast(GroupMessage::Chosen(watched(doing, choosing).await));
        });
    }

    fn chosen(&self, myself: &Myself, state: &mut GroupState, result: Result<GroupProtocol, BrokerError>) {
        if !matches!(state.phase, Phase::Choosing(_)) {
            return;
        }
        match result {
            Ok(protocol) => {
                if std::mem::take(&mut state.attempts) > 0 {
                    self.tell(GroupNotice::Recovered);
                }
                self.begin(myself, state, protocol);
            }
            Err(error) if error.is_retriable() || matches!(error, BrokerError::Malformed { .. }) => {
                state.attempts = state.attempts.saturating_add(1);
                if state.attempts == 1 {
                    self.tell(GroupNotice::Troubled(error.to_string()));
                }
                let wait = BACKOFF.delay(state.attempts, rand::random());
                state.phase = Phase::Choosing(Some(Instant::now() + wait));
            }
            Err(error) => self.fail(state, error.to_string()),
        }
    }

    /// Starts the machine of a protocol.
    fn begin(&self, myself: &Myself, state: &mut GroupState, protocol: GroupProtocol) {
        let (settings, seed) = (self.settings.clone(), rand::random());
        if protocol != GroupProtocol::Classic && !settings.classic_only.is_empty() {
            tracing::warn!(
                group = settings.group,
                settings = settings.classic_only.join("; "),
                "the group speaks KIP-848's protocol, in which these settings mean nothing (the broker's apply): leave them out, \
                 or set group_protocol = \"classic\""
            );
        }
        state.joining = false;
        state.phase = Phase::Member(match protocol {
            GroupProtocol::Classic => Box::new(ClassicMember::new(settings, seed)),
            GroupProtocol::Auto | GroupProtocol::Consumer => Box::new(ConsumerMember::new(settings, seed)),
        });
        let topics = state.known.topics().clone();
        self.step(myself, state, Input::Topics(topics));
    }

    fn looked(&self, myself: &Myself, state: &mut GroupState, result: Result<Topics, BrokerError>) {
        let now = Instant::now();
        let topics = match result {
            Ok(topics) => topics,
            Err(error) => {
                let first = state.looks.failed(now, rand::random());
                let denied = error.code().is_some_and(ErrorCode::is_authorization);
                if state.known.topics().is_empty() && (denied || matches!(error, BrokerError::Unsupported { .. })) {
                    // Nobody will be told what to consume until somebody changes something.
                    self.fail(state, error.to_string());
                } else if first {
                    self.tell(GroupNotice::Troubled(error.to_string()));
                }
                return;
            }
        };
        if state.looks.succeeded(now) {
            self.tell(GroupNotice::Recovered);
        }
        if state.known.update(topics) {
            state.looks.hurry(now);
        }
        if let Some(missing) = state.absent.update(&self.settings.group, &self.subscription, state.known.topics()) {
            self.tell(GroupNotice::Missing(missing));
        }
        let topics = state.known.topics().clone();
        self.step(myself, state, Input::Topics(topics));
    }

    fn fail(&self, state: &mut GroupState, reason: String) {
        self.lease.end();
        state.phase = Phase::Over;
        self.tell(GroupNotice::Failed(reason));
    }

    fn tell(&self, notice: GroupNotice) {
        log::notice(&self.settings.group, &notice);
        (self.notify)(notice);
    }
}

#[cfg(test)]
mod tests;
