use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::super::super::state::Refused;
use super::super::super::topics::Topics;
use super::super::{Client, GroupSettings};
use super::assignor::Candidate;
use super::{AWAY, Assignor, Consumer, JOINING, LEAVING, Member, Partitions, Phase};

/// A heartbeat, by which a member joins, stays and leaves. What is `None` has not changed.
#[derive(Debug)]
pub(crate) struct Beat {
    pub(crate) member_id: StrBytes,
    pub(crate) epoch: i32,
    pub(crate) instance_id: Option<StrBytes>,
    pub(crate) rack: Option<StrBytes>,
    pub(crate) client: Client,
    pub(crate) rebalance_timeout: Option<Duration>,
    pub(crate) topics: Option<BTreeSet<StrBytes>>,
    pub(crate) assignor: Option<StrBytes>,
    pub(crate) owned: Option<Partitions>,
}

/// What a member is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Beaten {
    pub(crate) member_id: StrBytes,
    pub(crate) epoch: i32,
    /// `None` where nothing changed.
    pub(crate) assignment: Option<Partitions>,
}

impl Beat {
    /// Whether it joins, for which a group may come into being.
    pub(crate) fn is_join(&self) -> bool {
        self.epoch == JOINING
    }

    /// Whether it says all that a member can say, and wants to be told all.
    fn is_full(&self) -> bool {
        self.rebalance_timeout.is_some() && self.topics.is_some() && self.owned.is_some()
    }

    /// Checks what a member says, whatever the group.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        let refuse = |message: &str| Err(Refused::new(ResponseError::InvalidRequest, message));
        if self.member_id.is_empty() {
            return refuse("MemberId can't be empty.");
        }
        if self.instance_id.as_ref().is_some_and(|id| id.is_empty()) {
            return refuse("InstanceId can't be empty.");
        }
        if self.rack.as_ref().is_some_and(|rack| rack.is_empty()) {
            return refuse("RackId can't be empty.");
        }
        match self.epoch {
            ..AWAY => return refuse("MemberEpoch is invalid."),
            AWAY if self.instance_id.is_none() => return refuse("InstanceId can't be null."),
            JOINING if self.rebalance_timeout.is_none() => {
                return refuse("RebalanceTimeoutMs must be provided in first request.");
            }
            JOINING if self.owned.as_ref().is_none_or(|owned| !owned.is_empty()) => {
                return refuse("TopicPartitions must be empty when (re-)joining.");
            }
            JOINING if self.topics.is_none() => {
                return refuse("SubscribedTopicNames must be non-null when (re-)joining.");
            }
            _ => {}
        }
        match self.assignor.as_deref() {
            Some(name) if Assignor::from_name(name).is_none() => {
                let message = format!("ServerAssignor {name} is not supported. Supported assignors: uniform, range.");
                Err(Refused::new(ResponseError::UnsupportedAssignor, message))
            }
            _ => Ok(()),
        }
    }
}

impl Consumer {
    /// Takes a heartbeat that [`Beat::check`] has passed.
    pub(crate) fn heartbeat(
        &mut self,
        now: Duration,
        settings: &GroupSettings,
        topics: &Topics,
        beat: Beat,
    ) -> Result<Beaten, Refused> {
        if matches!(beat.epoch, LEAVING | AWAY) {
            return self.part(&beat);
        }
        let (at, is_new) = self.admit(settings.most_members, &beat)?;
        let before = self.members[at].clone();
        let is_full = beat.is_full();
        let owned = self.members[at].update(beat);
        let seen = self.look(topics);
        let changed = is_new || self.members[at].topics != before.topics || seen != self.seen;
        self.seen = seen;
        if changed {
            self.bump();
        }
        if self.epoch > self.assignment_epoch {
            self.assign(topics);
        }
        self.reconcile(now, at, owned.as_ref());
        let member = &mut self.members[at];
        member.session_until = now.saturating_add(settings.consumer_session);
        let is_news = is_full || member.assigned != before.assigned;
        let assignment = is_news.then(|| member.assigned.clone());
        Ok(Beaten { member_id: member.id.clone(), epoch: member.epoch, assignment })
    }

    /// Where the member stands, after it has joined if it does; and whether the group has grown by it.
    fn admit(&mut self, most: usize, beat: &Beat) -> Result<(usize, bool), Refused> {
        let known = self.find(&beat.member_id);
        let found = match beat.instance_id.as_deref() {
            None => known,
            Some(instance_id) => match self.find_static(instance_id) {
                Some(at) if beat.is_join() => {
                    let member = &mut self.members[at];
                    if member.epoch != AWAY {
                        let message = format!("Instance id {instance_id} is owned by member {}.", &*member.id);
                        return Err(Refused::new(ResponseError::UnreleasedInstanceId, message));
                    }
                    // Back under another member id, it has what it had before.
                    member.id = beat.member_id.clone();
                    (member.epoch, member.previous_epoch) = (JOINING, JOINING);
                    return Ok((at, false));
                }
                Some(at) => {
                    self.check_instance(at, beat)?;
                    Some(at)
                }
                None => known.filter(|_| beat.is_join()),
            },
        };
        match found {
            Some(at) => self.check_epoch(at, beat).map(|()| (at, false)),
            None if beat.is_join() && self.members.len() >= most => {
                let message = format!("The consumer group has reached its maximum capacity of {most} members.");
                Err(Refused::new(ResponseError::GroupMaxSizeReached, message))
            }
            None if beat.is_join() => {
                self.members.push(Member::new(beat));
                Ok((self.members.len() - 1, true))
            }
            None => Err(unknown(beat)),
        }
    }

    /// Lets a member go, for good or as one that will be back.
    fn part(&mut self, beat: &Beat) -> Result<Beaten, Refused> {
        let found = match beat.instance_id.as_deref() {
            Some(instance_id) => self.find_static(instance_id),
            None => self.find(&beat.member_id),
        };
        let at = found.ok_or_else(|| unknown(beat))?;
        self.check_instance(at, beat)?;
        if beat.epoch == AWAY {
            let member = &mut self.members[at];
            (member.previous_epoch, member.epoch) = (member.epoch, AWAY);
            (member.phase, member.revoking, member.revoke_until) = (Phase::Stable, Partitions::new(), None);
        } else {
            self.remove(at);
        }
        Ok(Beaten { member_id: beat.member_id.clone(), epoch: beat.epoch, assignment: None })
    }

    fn check_instance(&self, at: usize, beat: &Beat) -> Result<(), Refused> {
        let holder = &self.members[at].id;
        if *holder == beat.member_id {
            return Ok(());
        }
        let message = format!("Static member {} was fenced by member {}.", &*beat.member_id, &**holder);
        Err(Refused::new(ResponseError::FencedInstanceId, message))
    }

    /// Whether the member is where it says it is: at its epoch, or at the one before where the answer that said
    /// otherwise may have been lost.
    fn check_epoch(&self, at: usize, beat: &Beat) -> Result<(), Refused> {
        let member = &self.members[at];
        let lost_answer = beat.epoch == member.previous_epoch
            && beat.owned.as_ref().is_some_and(|owned| owned.is_subset(&member.assigned));
        if beat.epoch == JOINING || beat.epoch == member.epoch || beat.epoch < member.epoch && lost_answer {
            return Ok(());
        }
        let message = format!(
            "The consumer group member has epoch {}, not {}. The member must abandon all its partitions and rejoin.",
            member.epoch, beat.epoch
        );
        Err(Refused::new(ResponseError::FencedMemberEpoch, message))
    }

    /// The topics that members subscribe to and their numbers of partitions, as they are now.
    fn look(&self, topics: &Topics) -> BTreeMap<Uuid, i32> {
        let subscribed: BTreeSet<_> = self.members.iter().flat_map(|member| &member.topics).collect();
        let found = subscribed.into_iter().filter_map(|name| topics.get(name));
        found.map(|topic| (topic.id, i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX))).collect()
    }

    /// Gives every member a target.
    fn assign(&mut self, topics: &Topics) {
        let mut votes: BTreeMap<Assignor, usize> = BTreeMap::new();
        for assignor in self.members.iter().filter_map(|member| member.assignor) {
            *votes.entry(assignor).or_default() += 1;
        }
        self.assignor = votes.into_iter().max_by_key(|(_, votes)| *votes).map_or_else(Default::default, |(one, _)| one);
        let candidates = self.members.iter().map(|member| Candidate {
            id: &member.id,
            subscribed: member.topics.iter().filter_map(|name| topics.get(name)).map(|topic| topic.id).collect(),
            target: &member.target,
        });
        let targets = self.assignor.assign(&candidates.collect::<Vec<_>>(), &self.seen);
        for (member, target) in self.members.iter_mut().zip(targets) {
            member.target = target;
        }
        self.assignment_epoch = self.epoch;
    }
}

impl Member {
    fn new(beat: &Beat) -> Self {
        Self {
            id: beat.member_id.clone(),
            instance_id: beat.instance_id.clone(),
            rack: None,
            client: beat.client.clone(),
            topics: BTreeSet::new(),
            rebalance_timeout: Duration::ZERO,
            assignor: None,
            epoch: JOINING,
            previous_epoch: JOINING,
            phase: Phase::Stable,
            assigned: Partitions::new(),
            revoking: Partitions::new(),
            since: BTreeMap::new(),
            target: Partitions::new(),
            session_until: Duration::MAX,
            revoke_until: None,
        }
    }

    /// Takes over what a heartbeat says that is new; returns what the member owns.
    fn update(&mut self, beat: Beat) -> Option<Partitions> {
        self.client = beat.client;
        self.instance_id = beat.instance_id.or(self.instance_id.take());
        self.rack = beat.rack.or(self.rack.take());
        self.rebalance_timeout = beat.rebalance_timeout.unwrap_or(self.rebalance_timeout);
        if let Some(topics) = beat.topics {
            self.topics = topics;
        }
        if let Some(name) = beat.assignor {
            self.assignor = Assignor::from_name(&name);
        }
        beat.owned
    }
}

fn unknown(beat: &Beat) -> Refused {
    let message = format!("Member {} is not a member of the group.", &*beat.member_id);
    Refused::new(ResponseError::UnknownMemberId, message)
}
