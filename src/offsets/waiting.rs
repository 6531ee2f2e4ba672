use ractor::RpcReplyPort;

use super::state::Ledger;
use crate::broker::BrokerError;
use crate::record::TopicPartition;

/// A partition and its ownership's epoch.
type Owned = (TopicPartition, u64);
/// Told once a start is committed, or never can be.
type StartReply = RpcReplyPort<Result<(), BrokerError>>;

/// Who waits for commits. An answer that nobody waits for any more is no error.
#[derive(Default)]
pub(super) struct Waiting {
    starts: Vec<(Owned, StartReply)>,
    flushes: Vec<(Option<Owned>, RpcReplyPort<bool>)>,
    /// Ended ownerships whose last commit may be under way.
    closing: Vec<RpcReplyPort<()>>,
    /// Whether something settled can't be committed any more, so that not all is, ever.
    forfeited: bool,
}

impl Waiting {
    pub(super) fn start(&mut self, ownership: Owned, reply: StartReply) {
        self.starts.push((ownership, reply));
    }

    pub(super) fn flush(&mut self, ownership: Option<Owned>, reply: RpcReplyPort<bool>) {
        self.flushes.push((ownership, reply));
    }

    pub(super) fn close(&mut self, reply: RpcReplyPort<()>) {
        self.closing.push(reply);
    }

    /// Whether anybody waits for the next commit.
    pub(super) fn is_any(&mut self) -> bool {
        self.flushes.retain(|(_, reply)| !reply.is_closed());
        !(self.starts.is_empty() && self.flushes.is_empty())
    }

    /// Answers those whose offsets are committed.
    pub(super) fn committed(&mut self, ledger: &Ledger) {
        for (_, reply) in self.starts.extract_if(.., |(ownership, _)| ledger.is_committed(Some(ownership))) {
            let _ = reply.send(Ok(()));
        }
        for (ownership, reply) in self.flushes.extract_if(.., |(ownership, _)| ledger.is_committed(ownership.as_ref()))
        {
            let _ = reply.send(ownership.is_some() || !self.forfeited);
        }
    }

    /// An offset cannot be committed, now or later.
    pub(super) fn failed(&mut self, partition: &TopicPartition, error: &BrokerError) {
        for (_, reply) in self.starts.extract_if(.., |((of, _), _)| of == partition) {
            let _ = reply.send(Err(error.clone()));
        }
        let of_partition = |ownership: &Option<Owned>| ownership.as_ref().is_some_and(|(of, _)| of == partition);
        for (_, reply) in self.flushes.extract_if(.., |(ownership, _)| of_partition(ownership)) {
            let _ = reply.send(false);
        }
    }

    /// What was settled of a partition that was lost is not committed when the consumer has stopped.
    pub(super) fn forfeited(&mut self) {
        self.forfeited = true;
    }

    /// The group has gone on without this member: what is not committed now never is by it. Starts wait on, for the identity
    /// that it has once it is back.
    pub(super) fn fenced(&mut self) {
        self.flushes.drain(..).for_each(|(_, reply)| drop(reply.send(false)));
    }

    /// No commit is under way.
    pub(super) fn idle(&mut self) {
        self.closing.drain(..).for_each(|reply| drop(reply.send(())));
    }
}
