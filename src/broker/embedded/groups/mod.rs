//! Consumer groups: their committed offsets, and their members, by either protocol. The one broker coordinates all.

pub(crate) mod classic;
pub(crate) mod consumer;
mod members;
mod offsets;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use classic::Classic;
use classic::{Claimed, Join, Joined, NotJoined, Synced, Turn};
use consumer::{Beat, Beaten, Consumer};
use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;
use offsets::Pending;
use uuid::Uuid;

use super::state::Refused;
use super::topics::Topics;
pub(crate) use members::Members;
pub(crate) use offsets::{Committed, Offsets};
pub(crate) use settings::GroupSettings;

/// A client, as it shows itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Client {
    pub(crate) id: StrBytes,
    pub(crate) host: StrBytes,
}

/// Names a request that may have to wait for other members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// What becomes of a request that has a [`Ticket`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Join(Result<Joined, NotJoined>),
    Sync(Result<Synced, ResponseError>),
}

/// All groups.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    settings: GroupSettings,
    by_id: BTreeMap<String, Group>,
    /// What open transactions are to commit, by producer id.
    pending: BTreeMap<i64, Vec<Pending>>,
    tickets: u64,
    answers: Vec<(Ticket, Answer)>,
}

/// One group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) offsets: Offsets,
    pub(crate) members: Members,
}

impl Groups {
    pub(crate) fn new(settings: GroupSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Group> {
        self.by_id.get(id)
    }

    /// All groups, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Group)> {
        self.by_id.iter().map(|(id, group)| (id.as_str(), group))
    }

    /// A name for a request that may have to wait.
    pub(crate) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// What has become of requests since the last call.
    pub(crate) fn take_answers(&mut self) -> Vec<(Ticket, Answer)> {
        std::mem::take(&mut self.answers)
    }

    /// When something happens without a request, at the earliest.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        self.by_id.values().filter_map(|group| group.members.next_deadline()).min()
    }

    /// Lets what is due happen: sessions end, rebalances are completed.
    pub(crate) fn advance(&mut self, now: Duration) {
        let Self { settings, by_id, answers, .. } = self;
        for group in by_id.values_mut() {
            match &mut group.members {
                Members::Classic(classic) => classic.advance(&mut Turn { now, settings, answers }),
                Members::Consumer(consumer) => consumer.advance(now),
            }
        }
    }

    /// Takes a request to join a group by the classic protocol.
    pub(crate) fn join(&mut self, now: Duration, id: &str, join: Join) {
        let allowed = self.settings.shortest_session..=self.settings.longest_session;
        let error = if !allowed.contains(&join.session_timeout) {
            ResponseError::InvalidSessionTimeout
        } else if !self.by_id.contains_key(id) && !join.member_id.is_empty() {
            ResponseError::UnknownMemberId
        } else {
            let members = &mut self.by_id.entry(id.to_owned()).or_default().members;
            if matches!(members, Members::Consumer(_)) && members.is_empty() && join.member_id.is_empty() {
                *members = Members::default();
            }
            match members {
                Members::Classic(classic) => {
                    let mut turn = Turn { now, settings: &self.settings, answers: &mut self.answers };
                    return classic.join(&mut turn, join);
                }
                Members::Consumer(consumer) if consumer.is_empty() => ResponseError::UnknownMemberId,
                Members::Consumer(_) => ResponseError::InconsistentGroupProtocol,
            }
        };
        self.answers.push((join.ticket, Answer::Join(Err(NotJoined { error, member_id: join.member_id }))));
    }

    /// Lets a classic group act for one of its members; UNKNOWN_MEMBER_ID where there is no such group.
    pub(crate) fn with_classic<T>(
        &mut self,
        now: Duration,
        id: &str,
        act: impl FnOnce(&mut Classic, &mut Turn<'_>) -> T,
    ) -> Result<T, ResponseError> {
        let Self { settings, by_id, answers, .. } = self;
        match by_id.get_mut(id).map(|group| &mut group.members) {
            Some(Members::Classic(classic)) => Ok(act(classic, &mut Turn { now, settings, answers })),
            Some(Members::Consumer(_)) | None => Err(ResponseError::UnknownMemberId),
        }
    }

    /// Lets a member go that names itself by the protocol of its group or, as administrators do, by its instance id.
    pub(crate) fn leave(
        &mut self,
        now: Duration,
        id: &str,
        member_id: &str,
        instance_id: Option<&str>,
    ) -> Result<(), ResponseError> {
        if let Some(Members::Consumer(consumer)) = self.by_id.get_mut(id).map(|group| &mut group.members) {
            return consumer.leave(member_id, instance_id);
        }
        self.with_classic(now, id, |classic, turn| classic.leave(turn, member_id, instance_id))?
    }

    /// Ends the session of a member at once; false where there is no such member.
    pub(crate) fn expire(&mut self, now: Duration, id: &str, member_id: &str) -> bool {
        if let Some(Members::Consumer(consumer)) = self.by_id.get_mut(id).map(|group| &mut group.members) {
            return consumer.expire(member_id);
        }
        self.with_classic(now, id, |classic, turn| classic.expire(turn, member_id)).unwrap_or(false)
    }

    /// Takes a heartbeat by the protocol of KIP-848. A group with classic members is none for it.
    pub(crate) fn consumer_heartbeat(
        &mut self,
        now: Duration,
        topics: &Topics,
        id: &str,
        beat: Beat,
    ) -> Result<Beaten, Refused> {
        if beat.is_join() {
            let members = &mut self.by_id.entry(id.to_owned()).or_default().members;
            if matches!(members, Members::Classic(_)) && members.is_empty() {
                *members = Members::Consumer(Consumer::default());
            }
        }
        match self.by_id.get_mut(id).map(|group| &mut group.members) {
            Some(Members::Consumer(consumer)) => consumer.heartbeat(now, &self.settings, topics, beat),
            found => {
                let why = if found.is_some() { "is not a consumer group" } else { "not found" };
                Err(Refused::new(ResponseError::GroupIdNotFound, format!("Group {id} {why}.")))
            }
        }
    }

    /// Answers a request that never came to a group.
    pub(crate) fn answer(&mut self, ticket: Ticket, answer: Answer) {
        self.answers.push((ticket, answer));
    }

    /// Whether a group takes a commit for partitions from whoever claims to be its member. `version` is that of OffsetCommit; `None`
    /// stands for a commit within a transaction.
    pub(crate) fn check_commit(
        &mut self,
        now: Duration,
        id: &str,
        claimed: Claimed<'_>,
        version: Option<i16>,
        partitions: &[(Uuid, i32)],
    ) -> Result<(), ResponseError> {
        match self.by_id.get_mut(id).map(|group| &mut group.members) {
            Some(members) => members.check_commit(now, claimed, version, partitions),
            // The group comes into being with the commit.
            None if claimed.generation < 0 => Ok(()),
            None if version.is_some_and(|version| version >= 9) => Err(ResponseError::GroupIdNotFound),
            None => Err(ResponseError::IllegalGeneration),
        }
    }

    /// Commits an offset; the group comes into being with its first.
    pub(crate) fn commit(&mut self, id: &str, topic: &Arc<str>, partition: i32, committed: Committed) {
        if !self.by_id.contains_key(id) {
            self.by_id.insert(id.to_owned(), Group::default());
        }
        if let Some(group) = self.by_id.get_mut(id) {
            group.offsets.commit(topic, partition, committed);
        }
    }

    /// Commits an offset once the transaction of a producer is committed.
    pub(crate) fn commit_later(
        &mut self,
        producer_id: i64,
        group: &str,
        topic: &Arc<str>,
        partition: i32,
        committed: Committed,
    ) {
        let pending = Pending { group: group.to_owned(), topic: Arc::clone(topic), partition, committed };
        self.pending.entry(producer_id).or_default().push(pending);
    }

    /// Commits what waited for a producer's transaction, or forgets it.
    pub(crate) fn end_transaction(&mut self, producer_id: i64, committed: bool) {
        for one in self.pending.remove(&producer_id).unwrap_or_default() {
            if committed {
                self.commit(&one.group, &one.topic, one.partition, one.committed);
            }
        }
    }

    /// Whether an open transaction is to commit an offset of this group and partition.
    pub(crate) fn is_pending(&self, group: &str, topic: &str, partition: i32) -> bool {
        let mut all = self.pending.values().flatten();
        all.any(|one| one.group == group && &*one.topic == topic && one.partition == partition)
    }

    /// Deletes a group that has no members.
    pub(crate) fn remove(&mut self, id: &str) -> Result<(), ResponseError> {
        let group = self.by_id.get(id).ok_or(ResponseError::GroupIdNotFound)?;
        if !group.members.is_empty() {
            return Err(ResponseError::NonEmptyGroup);
        }
        self.by_id.remove(id);
        Ok(())
    }

    /// Deletes what a group has committed for partitions.
    pub(crate) fn forget(&mut self, id: &str, topic: &str, partition: i32) {
        if let Some(group) = self.by_id.get_mut(id) {
            group.offsets.forget(topic, partition);
        }
    }

    /// Forgets the offsets of a topic that is being deleted.
    pub(crate) fn forget_topic(&mut self, topic: &str) {
        for group in self.by_id.values_mut() {
            group.offsets.forget_topic(topic);
        }
        for pending in self.pending.values_mut() {
            pending.retain(|one| &*one.topic != topic);
        }
    }
}
