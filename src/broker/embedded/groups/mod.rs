//! Consumer groups: their committed offsets, and their members, by either protocol. The one broker coordinates all.

pub(crate) mod classic;
mod offsets;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use classic::Classic;
use classic::{Claimed, Join, Joined, NotJoined, Synced, Turn};
use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;
use offsets::Pending;
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

/// The members of a group, by the protocol that they speak. A group without members takes up either.
#[derive(Debug)]
pub(crate) enum Members {
    Classic(Classic),
}

impl Default for Members {
    fn default() -> Self {
        Self::Classic(Classic::default())
    }
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
        let deadlines = self.by_id.values().filter_map(|group| match &group.members {
            Members::Classic(classic) => classic.next_deadline(),
        });
        deadlines.min()
    }

    /// Lets what is due happen: sessions end, rebalances are completed.
    pub(crate) fn advance(&mut self, now: Duration) {
        let Self { settings, by_id, answers, .. } = self;
        for group in by_id.values_mut() {
            match &mut group.members {
                Members::Classic(classic) => classic.advance(&mut Turn { now, settings, answers }),
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
            let group = self.by_id.entry(id.to_owned()).or_default();
            match &mut group.members {
                Members::Classic(classic) => {
                    let mut turn = Turn { now, settings: &self.settings, answers: &mut self.answers };
                    return classic.join(&mut turn, join);
                }
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
            None => Err(ResponseError::UnknownMemberId),
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
        self.with_classic(now, id, |classic, turn| classic.leave(turn, member_id, instance_id))?
    }

    /// Ends the session of a member at once; false where there is no such member.
    pub(crate) fn expire(&mut self, now: Duration, id: &str, member_id: &str) -> bool {
        self.with_classic(now, id, |classic, turn| classic.expire(turn, member_id)).unwrap_or(false)
    }

    /// Answers a request that never came to a group.
    pub(crate) fn answer(&mut self, ticket: Ticket, answer: Answer) {
        self.answers.push((ticket, answer));
    }

    /// Whether a group takes commits from whoever claims to be its member. `version` is that of OffsetCommit; `None`
    /// stands for a commit within a transaction.
    pub(crate) fn check_commit(
        &mut self,
        now: Duration,
        id: &str,
        claimed: Claimed<'_>,
        version: Option<i16>,
    ) -> Result<(), ResponseError> {
        match self.by_id.get_mut(id).map(|group| &mut group.members) {
            Some(Members::Classic(classic)) => classic.check_commit(now, claimed, version.is_none()),
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

impl Members {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Classic(classic) => classic.is_empty(),
        }
    }

    /// Whether a member is known to subscribe to a topic.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        match self {
            Self::Classic(classic) => classic.is_subscribed(topic),
        }
    }

    /// Whether offsets may be deleted at all.
    pub(crate) fn check_delete(&self) -> Result<(), ResponseError> {
        match self {
            Self::Classic(classic) => classic.check_delete(),
        }
    }

    /// The state, as Kafka calls it.
    pub(crate) fn state(&self) -> &'static str {
        match self {
            Self::Classic(classic) => classic.state(),
        }
    }

    /// What the members use the group for; empty where there never were any.
    pub(crate) fn protocol_type(&self) -> StrBytes {
        match self {
            Self::Classic(classic) => classic.protocol_type().clone(),
        }
    }

    /// The type, as Kafka calls it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Classic(_) => "classic",
        }
    }
}
