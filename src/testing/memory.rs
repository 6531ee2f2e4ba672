use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::broker::{
    Admin, BoxFuture, BrokerError, CommittedOffset, ErrorCode, Feed, MemberIdentity, NewTopic, OffsetSpec, OffsetStore,
    Ports, Produce, Source, TopicMetadata,
};
use crate::record::{ProducerRecord, TopicPartition};

/// Ports behind which every topic exists with one partition, and what is produced is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    produced: Arc<Mutex<Vec<ProducerRecord>>>,
    commits: Arc<Mutex<Commits>>,
}

/// What was committed, by whom; and what commits are refused with now.
#[derive(Debug, Default)]
struct Commits {
    made: Vec<(Option<MemberIdentity>, CommittedOffset)>,
    refused: Option<ErrorCode>,
}

impl Memory {
    pub(crate) fn ports(&self) -> Ports {
        let memory = Arc::new(self.clone());
        Ports {
            admin: memory.clone(),
            source: memory.clone(),
            produce: memory.clone(),
            offsets: memory,
            membership: None,
        }
    }

    /// What was produced since the last call, in order.
    pub(crate) fn take(&self) -> Vec<ProducerRecord> {
        std::mem::take(&mut *self.produced.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn commits(&self) -> MutexGuard<'_, Commits> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn commit(
        &self,
        member: Option<MemberIdentity>,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        let mut commits = self.commits();
        let Some(code) = commits.refused else {
            let results = offsets.iter().map(|_| Ok(())).collect();
            commits.made.extend(offsets.into_iter().map(|offset| (member.clone(), offset)));
            return ready(Ok(results));
        };
        let refused = BrokerError::Response { doing: "committing".to_owned(), code, message: None };
        ready(Ok(vec![Err(refused); offsets.len()]))
    }
}

#[cfg(test)]
impl Memory {
    /// What was committed since the last call, in order, and by which member.
    pub(crate) fn take_commits(&self) -> Vec<(Option<MemberIdentity>, CommittedOffset)> {
        std::mem::take(&mut self.commits().made)
    }

    /// Refuses commits with this code from now on.
    pub(crate) fn refuse_commits(&self, code: Option<ErrorCode>) {
        self.commits().refused = code;
    }
}

fn ready<T: Send + 'static>(value: T) -> BoxFuture<T> {
    Box::pin(std::future::ready(value))
}

impl Produce for Memory {
    fn produce(
        &self,
        _partition: TopicPartition,
        records: Vec<ProducerRecord>,
    ) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        let mut produced = self.produced.lock().unwrap_or_else(PoisonError::into_inner);
        let first = produced.len() as i64;
        let offsets = (first..first + records.len() as i64).collect();
        produced.extend(records);
        ready(Ok(offsets))
    }
}

impl Admin for Memory {
    fn topics(&self, names: Vec<String>) -> BoxFuture<Result<Vec<Option<TopicMetadata>>, BrokerError>> {
        ready(Ok(names
            .into_iter()
            .map(|name| Some(TopicMetadata { name, id: None, partitions: 1, operations: None }))
            .collect()))
    }

    fn create_topic(&self, _: NewTopic) -> BoxFuture<Result<(), BrokerError>> {
        ready(Ok(()))
    }

    fn delete_topics(&self, _: Vec<String>) -> BoxFuture<Result<(), BrokerError>> {
        ready(Ok(()))
    }

    fn topic_config(&self, _: String, _: String) -> BoxFuture<Result<Option<String>, BrokerError>> {
        ready(Ok(None))
    }

    fn offset(&self, _: TopicPartition, _: OffsetSpec) -> BoxFuture<Result<i64, BrokerError>> {
        ready(Ok(0))
    }
}

impl Source for Memory {
    fn add(&self, _: TopicPartition, _: Option<uuid::Uuid>, _: i64, _: Arc<Feed>) {}

    fn remove(&self, _: &TopicPartition) {}
}

impl OffsetStore for Memory {
    fn fetch(
        &self,
        _: String,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<Result<Vec<Option<CommittedOffset>>, BrokerError>> {
        let made = &self.commits().made;
        let last = |partition| made.iter().rev().map(|(_, offset)| offset).find(|offset| offset.partition == partition);
        ready(Ok(partitions.into_iter().map(|partition| last(partition).cloned()).collect()))
    }

    fn commit(
        &self,
        _: String,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        self.commit(None, offsets)
    }

    fn commit_as(
        &self,
        _: String,
        member: MemberIdentity,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        self.commit(Some(member), offsets)
    }

    fn group_exists(&self, _: String) -> BoxFuture<Result<bool, BrokerError>> {
        ready(Ok(false))
    }

    fn delete_group(&self, _: String) -> BoxFuture<Result<(), BrokerError>> {
        ready(Ok(()))
    }
}
