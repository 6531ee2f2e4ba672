//! The coordinator of transactions: who has which transactional id, and what belongs to the transaction that is open.
//! The one broker leads all partitions, so ending a transaction is one step: there is no state in between.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;

use super::core::Now;
use super::state::State;

/// The longest transaction timeout, as in Kafka (`transaction.max.timeout.ms`).
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// The epoch that no producer gets: from it on, a new producer id is given out.
const LAST_EPOCH: i16 = i16::MAX;

/// All transactional ids.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    by_id: BTreeMap<String, Transactional>,
}

/// A transactional id.
#[derive(Debug)]
struct Transactional {
    producer_id: i64,
    epoch: i16,
    /// The epoch before the last bump that the producer asked for, by which it may ask again.
    last_epoch: Option<i16>,
    timeout: Duration,
    status: Status,
}

#[derive(Debug)]
enum Status {
    /// No transaction since the last bump.
    Empty,
    Ongoing(Ongoing),
    Ended {
        committed: bool,
    },
}

#[derive(Debug)]
struct Ongoing {
    since: Duration,
    partitions: BTreeSet<(Arc<str>, i32)>,
}

/// How a producer shows who it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    pub(crate) transactional_id: &'a str,
    pub(crate) producer_id: i64,
    pub(crate) epoch: i16,
}

impl Transactions {
    /// Adds partitions to a producer's transaction, which begins with the first; none for committing offsets only.
    pub(crate) fn add(
        &mut self,
        now: Duration,
        claim: Claim<'_>,
        partitions: impl IntoIterator<Item = (Arc<str>, i32)>,
    ) -> Result<(), ResponseError> {
        let transactional = self.check(claim)?;
        if !matches!(transactional.status, Status::Ongoing(_)) {
            transactional.status = Status::Ongoing(Ongoing { since: now, partitions: BTreeSet::new() });
        }
        if let Status::Ongoing(ongoing) = &mut transactional.status {
            ongoing.partitions.extend(partitions);
        }
        Ok(())
    }

    /// Whether a producer may write to a partition: its transaction is open and holds it.
    pub(crate) fn may_write(&self, claim: Claim<'_>, topic: &str, partition: i32) -> Result<(), ResponseError> {
        let transactional = self.find(claim)?;
        if transactional.epoch != claim.epoch {
            return Err(ResponseError::InvalidProducerEpoch);
        }
        match &transactional.status {
            Status::Ongoing(ongoing) if ongoing.partitions.contains(&(Arc::from(topic), partition)) => Ok(()),
            _ => Err(ResponseError::InvalidTxnState),
        }
    }

    /// Whether a producer has a transaction open, to which offsets can belong.
    pub(crate) fn is_ongoing(&self, claim: Claim<'_>) -> Result<(), ResponseError> {
        let transactional = self.find(claim)?;
        match &transactional.status {
            _ if transactional.epoch != claim.epoch => Err(ResponseError::InvalidProducerEpoch),
            Status::Ongoing(_) => Ok(()),
            _ => Err(ResponseError::InvalidTxnState),
        }
    }

    /// When the next transaction has been open for too long.
    pub(crate) fn next_expiry(&self) -> Option<Duration> {
        self.by_id.values().filter_map(Transactional::expiry).min()
    }

    fn check(&mut self, claim: Claim<'_>) -> Result<&mut Transactional, ResponseError> {
        self.find(claim)?;
        let transactional = self.by_id.get_mut(claim.transactional_id);
        let transactional = transactional.ok_or(ResponseError::InvalidProducerIdMapping)?;
        if transactional.epoch == claim.epoch { Ok(transactional) } else { Err(ResponseError::ProducerFenced) }
    }

    fn find(&self, claim: Claim<'_>) -> Result<&Transactional, ResponseError> {
        let transactional = self.by_id.get(claim.transactional_id);
        transactional
            .filter(|transactional| transactional.producer_id == claim.producer_id)
            .ok_or(ResponseError::InvalidProducerIdMapping)
    }
}

impl Transactional {
    fn expiry(&self) -> Option<Duration> {
        match &self.status {
            Status::Ongoing(ongoing) => Some(ongoing.since.saturating_add(self.timeout)),
            _ => None,
        }
    }
}

impl State {
    /// Gives a transactional id to whoever asks, and fences who had it before: its open transaction is aborted, its
    /// epoch outdated. `known` is the producer id and epoch that the asker has, where it has any.
    pub(crate) fn init_transactional(
        &mut self,
        now: Now,
        id: &str,
        timeout: Duration,
        known: Option<(i64, i16)>,
    ) -> Result<(i64, i16), ResponseError> {
        if id.is_empty() {
            return Err(ResponseError::InvalidRequest);
        }
        if timeout.is_zero() || timeout > LONGEST {
            return Err(ResponseError::InvalidTransactionTimeout);
        }
        if let Some(transactional) = self.transactions.by_id.get_mut(id) {
            match known {
                Some((producer_id, _)) if producer_id != transactional.producer_id => {
                    return Err(ResponseError::ProducerFenced);
                }
                Some((producer_id, epoch)) if Some(epoch) == transactional.last_epoch => {
                    return Ok((producer_id, transactional.epoch));
                }
                Some((_, epoch)) if epoch != transactional.epoch => return Err(ResponseError::ProducerFenced),
                _ => {}
            }
            self.fence(now, id);
        }
        let new_producer_id = self.new_producer_id();
        let fresh = || Transactional {
            producer_id: new_producer_id,
            epoch: -1,
            last_epoch: None,
            timeout,
            status: Status::Empty,
        };
        let transactional = self.transactions.by_id.entry(id.to_owned()).or_insert_with(fresh);
        if transactional.epoch >= LAST_EPOCH - 1 {
            *transactional = fresh();
        }
        transactional.last_epoch = known.map(|(_, epoch)| epoch);
        transactional.epoch += 1;
        transactional.timeout = timeout;
        transactional.status = Status::Empty;
        Ok((transactional.producer_id, transactional.epoch))
    }

    /// Ends a producer's transaction: its markers are written, its offsets committed or forgotten.
    pub(crate) fn end_transaction(&mut self, now: Now, claim: Claim<'_>, committed: bool) -> Result<(), ResponseError> {
        match self.transactions.check(claim)?.status {
            Status::Ongoing(_) => {
                self.finish(now, claim.transactional_id, committed);
                Ok(())
            }
            // The same again, because its answer was lost.
            Status::Ended { committed: before } if before == committed => Ok(()),
            Status::Ended { .. } | Status::Empty => Err(ResponseError::InvalidTxnState),
        }
    }

    /// Aborts transactions that have been open for too long, and fences their producers.
    pub(crate) fn expire_transactions(&mut self, now: Now) {
        let all = self.transactions.by_id.iter();
        let over = all.filter(|(_, one)| one.expiry().is_some_and(|expiry| expiry <= now.elapsed));
        for id in over.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.fence(now, &id);
        }
    }

    /// Aborts the transaction of a transactional id, if one is open, under an epoch that its producer does not have.
    fn fence(&mut self, now: Now, id: &str) {
        let Some(transactional) = self.transactions.by_id.get_mut(id) else { return };
        if matches!(transactional.status, Status::Ongoing(_)) {
            transactional.epoch = transactional.epoch.saturating_add(1);
            transactional.last_epoch = None;
            self.finish(now, id, false);
        }
    }

    fn finish(&mut self, now: Now, id: &str, committed: bool) {
        let Some(transactional) = self.transactions.by_id.get_mut(id) else { return };
        let (producer_id, epoch) = (transactional.producer_id, transactional.epoch);
        let before = std::mem::replace(&mut transactional.status, Status::Ended { committed });
        if let Status::Ongoing(ongoing) = before {
            for (topic, partition) in ongoing.partitions {
                let Some(topic) = self.topics.get_mut(&topic) else { continue };
                let id = topic.id;
                let Some(log) = topic.log_mut(partition) else { continue };
                log.mark(producer_id, epoch, committed, now.wall_millis);
                self.touch(id, partition);
            }
        }
        self.groups.end_transaction(producer_id, committed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    const ID: &str = "payments";

    fn at(seconds: u64) -> Now {
        Now { elapsed: Duration::from_secs(seconds), wall_millis: 0 }
    }

    fn minute() -> Duration {
        Duration::from_secs(60)
    }

    #[test]
    fn an_epoch_that_runs_out_brings_a_new_producer_id() {
        let mut state = samples::core().0.state;
        let (first, epoch) = state.init_transactional(at(0), ID, minute(), None).unwrap();
        assert_eq!(epoch, 0);
        for _ in 1..LAST_EPOCH {
            assert_eq!(state.init_transactional(at(0), ID, minute(), None).unwrap().0, first);
        }
        let (next, epoch) = state.init_transactional(at(0), ID, minute(), None).unwrap();
        assert!(next != first && epoch == 0);
    }

    #[test]
    fn who_lost_the_answer_to_its_bump_gets_the_same_again() {
        let mut state = samples::core().0.state;
        let first = state.init_transactional(at(0), ID, minute(), None).unwrap();
        let bumped = state.init_transactional(at(0), ID, minute(), Some(first)).unwrap();
        assert_eq!(bumped, (first.0, first.1 + 1));
        assert_eq!(state.init_transactional(at(0), ID, minute(), Some(first)), Ok(bumped));
        state.init_transactional(at(0), ID, minute(), None).unwrap();
        let fenced = state.init_transactional(at(0), ID, minute(), Some(bumped));
        assert_eq!(fenced, Err(ResponseError::ProducerFenced));
    }

    #[test]
    fn a_transaction_expires_when_its_timeout_is_over() {
        let mut state = samples::core().0.state;
        let (producer_id, epoch) = state.init_transactional(at(0), ID, minute(), None).unwrap();
        assert_eq!(state.transactions.next_expiry(), None);
        let claim = Claim { transactional_id: ID, producer_id, epoch };
        state.transactions.add(Duration::from_secs(5), claim, []).unwrap();
        assert_eq!(state.transactions.next_expiry(), Some(Duration::from_secs(65)));
        state.expire_transactions(at(64));
        assert_eq!(state.transactions.is_ongoing(claim), Ok(()));
        state.expire_transactions(at(65));
        assert_eq!(state.transactions.is_ongoing(claim), Err(ResponseError::InvalidProducerEpoch));
        assert_eq!(state.end_transaction(at(65), claim, true), Err(ResponseError::ProducerFenced));
        assert_eq!(state.transactions.next_expiry(), None);
    }
}
