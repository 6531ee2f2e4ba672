use ractor::RpcReplyPort;
use uuid::Uuid;

use super::machine::{Answer, Topics};
use super::settings::GroupProtocol;
use crate::broker::{BrokerError, ErrorCode, MemberIdentity};
use crate::record::TopicPartition;

/// What the group actor is told.
#[derive(Debug)]
pub(crate) enum GroupMessage {
    /// Time passed.
    Tick,
    /// A request under way ended.
    Answered(Answer),
    /// Which protocol is to be spoken.
    Chosen(Result<GroupProtocol, BrokerError>),
    /// What the subscription comes to now.
    Topics(Result<Topics, BrokerError>),
    /// Partitions that were to be given up are: nothing of them is handled or committed any more.
    Released(Vec<TopicPartition>),
    /// A commit was refused for this reason: the group has gone on.
    CommitRefused(ErrorCode),
    /// Everything was given up and committed: leave the group. Answered when the coordinator knows, or cannot be told.
    Leave(RpcReplyPort<()>),
}

/// How [`GroupNotice::Joined`] names the protocol of KIP-848, whose groups know topics by their ids.
pub(crate) const BY_IDS: &str = "consumer";

/// What the group actor tells the supervisor, in this order where several things happen at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GroupNotice {
    /// Commits carry this identity from now on; `None` outside of the group, when nothing may be committed.
    Identity(Option<MemberIdentity>),
    /// These partitions are not this member's any more: nothing of them may be dispatched, handed over or committed.
    Lost {
        /// Which.
        partitions: Vec<TopicPartition>,
        /// Why.
        reason: String,
    },
    /// These partitions are to be given up: what is in flight finishes, is settled and committed. Each is answered by
    /// [`GroupMessage::Released`].
    Revoked(Vec<TopicPartition>),
    /// These partitions are this member's, with their topics' ids.
    Assigned(Vec<(TopicPartition, Option<Uuid>)>),
    /// Topics that are subscribed to by name and do not exist (any more).
    Missing(Vec<String>),
    /// Membership came about or changed, for people: the protocol, the generation or epoch, how many partitions.
    Joined {
        /// As this member is known now.
        member: MemberIdentity,
        /// `classic` or `consumer`.
        protocol: &'static str,
        /// The assignor in use; empty where the broker chose it.
        assignor: String,
        /// How many partitions are assigned.
        partitions: usize,
    },
    /// The coordinator cannot be reached or does not answer for now; told once per streak.
    Troubled(String),
    /// What was [`Troubled`](Self::Troubled) works again.
    Recovered,
    /// The consumer cannot be a member of the group, for this reason.
    Failed(String),
}
