use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, rpc::CallResult};

use super::actor::SupervisorActor;
use super::claims::Claim;
use super::message::{Summary, SupervisorMessage};
use super::state::SupervisorState;
use super::survey::Survey;
use crate::broker::ErrorCode;
use crate::event::Event;
use crate::group::{BY_IDS, GroupActor, GroupMessage, GroupNotice, Lease};
use crate::offsets::{Member, OffsetsMessage};
use crate::record::TopicPartition;

/// How long the coordinator may take to hear that this member leaves. It finds out by itself otherwise.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

type Myself = ActorRef<SupervisorMessage>;

/// What the supervisor knows of the group that the consumer is a member of.
pub(super) struct Membership {
    pub(super) lease: Arc<Lease>,
    /// `None` before it is started.
    pub(super) actor: Option<ActorRef<GroupMessage>>,
    pub(super) survey: Arc<Survey>,
    /// Whether the group knows topics by their ids: the partitions of one that was created anew are others than before, and
    /// may be another member's.
    pub(super) by_ids: bool,
    /// Partitions whose start offset is being looked for.
    pub(super) claims: BTreeMap<TopicPartition, Claim>,
    claimed: u64,
    /// Whether the group is being left: all is given up.
    pub(super) over: bool,
}

impl Membership {
    pub(super) fn new() -> Self {
        Self {
            lease: Arc::new(Lease::new()),
            actor: None,
            survey: Arc::default(),
            by_ids: false,
            claims: BTreeMap::new(),
            claimed: 0,
            over: false,
        }
    }

    pub(super) fn next_claim(&mut self) -> u64 {
        self.claimed += 1;
        self.claimed
    }

    /// What the offsets actor needs to know of it.
    pub(super) fn of_commits(&self, supervisor: &Myself) -> Member {
        let supervisor = supervisor.clone();
        Member {
            lease: Arc::clone(&self.lease),
            refused: Box::new(move |code| drop(supervisor.cast(SupervisorMessage::CommitRefused(code)))),
        }
    }

    /// Whether that is the group actor.
    pub(super) fn is(&self, actor: ActorId) -> bool {
        self.actor.as_ref().is_some_and(|group| group.get_id() == actor)
    }

    fn tell(&self, message: GroupMessage) {
        if let Some(actor) = &self.actor {
            // If it is gone, the consumer ends.
            let _ = actor.cast(message);
        }
    }
}

impl SupervisorActor {
    /// Joins the group, now that it is known what there was before.
    pub(super) async fn join(
        &self,
        myself: &Myself,
        state: &mut SupervisorState,
        survey: Result<Survey, String>,
    ) -> Result<(), ActorProcessingErr> {
        let survey = match survey {
            Ok(survey) => Arc::new(survey),
            Err(reason) => {
                self.halt(myself, state, reason);
                return Ok(());
            }
        };
        let draining = state.drain.is_some();
        let (Some(plan), Some(membership)) = (&self.settings.membership, &mut state.membership) else { return Ok(()) };
        membership.survey = survey;
        if draining || membership.actor.is_some() {
            return Ok(());
        }
        let supervisor = myself.clone();
        let group = GroupActor {
            settings: plan.settings.clone(),
            subscription: plan.subscription.clone(),
            ports: self.ports.clone(),
            lease: Arc::clone(&membership.lease),
            notify: Arc::new(move |notice| drop(supervisor.cast(SupervisorMessage::Group(notice)))),
        };
        let (group, _) = Actor::spawn_linked(None, group, (), myself.get_cell()).await?;
        state.control.push(group.get_id());
        membership.actor = Some(group);
        Ok(())
    }

    /// Does what follows from the group actor's news.
    pub(super) fn group(&self, myself: &Myself, state: &mut SupervisorState, notice: GroupNotice) {
        match notice {
            GroupNotice::Identity(identity) => {
                // A failed cast means that the offsets actor is gone, which its own end reports.
                let _ = state.offsets.cast(OffsetsMessage::Identity(identity));
            }
            GroupNotice::Lost { partitions, reason } => {
                for partition in partitions {
                    self.lose(state, partition, &reason);
                }
                self.check_drained(myself, state);
            }
            GroupNotice::Revoked(partitions) => self.revoke(myself, state, partitions),
            GroupNotice::Assigned(partitions) => self.claim(myself, state, partitions),
            GroupNotice::Missing(topics) => {
                topics.into_iter().for_each(|topic| self.events.emit(Event::TopicMissing { topic }));
            }
            GroupNotice::Joined { member, protocol, assignor, partitions } => {
                if let Some(membership) = &mut state.membership {
                    membership.by_ids = protocol == BY_IDS;
                }
                self.events.emit(Event::Joined {
                    group: self.settings.group.clone(),
                    member_id: member.member_id,
                    epoch: member.epoch,
                    protocol,
                    assignor,
                    partitions,
                });
            }
            GroupNotice::Troubled(reason) => self.events.emit(Event::GroupTrouble { reason }),
            GroupNotice::Recovered => self.events.emit(Event::GroupRecovered),
            GroupNotice::Failed(reason) => self.halt(myself, state, reason),
        }
    }

    pub(super) fn commit_refused(&self, state: &SupervisorState, code: ErrorCode) {
        if let Some(membership) = &state.membership {
            membership.tell(GroupMessage::CommitRefused(code));
        }
    }

    /// Tells the group that partitions are given up, each as often as it asked.
    pub(super) fn released(&self, state: &SupervisorState, partitions: Vec<TopicPartition>) {
        if let Some(membership) = state.membership.as_ref().filter(|_| !partitions.is_empty()) {
            membership.tell(GroupMessage::Released(partitions));
        }
    }

    /// The last step of a stop: leaves the group, where there is one.
    pub(super) fn leave(&self, myself: &Myself, state: &mut SupervisorState, summary: Summary) {
        if state.membership.is_none() {
            return self.finish(myself, state, summary);
        }
        // All is given up: nothing is left to be lost.
        for (partition, managed) in std::mem::take(&mut state.partitions) {
            managed.ownership.feed.close();
            let answers = managed.leaving.map_or(0, |leaving| leaving.answers as usize);
            self.released(state, vec![partition; answers]);
        }
        let Some(membership) = &mut state.membership else { return self.finish(myself, state, summary) };
        membership.over = true;
        let Some(group) = membership.actor.clone() else { return self.finish(myself, state, summary) };
        let myself = myself.clone();
        tokio::spawn(async move {
            match group.call(GroupMessage::Leave, Some(LEAVE_TIMEOUT)).await {
                Ok(CallResult::Success(())) => {}
                _ => tracing::warn!("the group was not told that this member leaves, and finds out by itself"),
            }
            let _ = myself.cast(SupervisorMessage::Left(summary));
        });
    }
}
