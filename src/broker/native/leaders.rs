use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_response::{MetadataResponse, MetadataResponsePartition, MetadataResponseTopic};
use tokio::time::Instant;
use uuid::Uuid;

use crate::broker::ErrorCode;
use crate::record::TopicPartition;

/// A topic that nobody has asked about for so many times the maximal age of metadata is forgotten.
const FORGOTTEN_AFTER: u32 = 3;

/// Who leads a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leader {
    /// The broker's id.
    pub(super) broker: i32,
    /// The leader's epoch; -1 where the broker does not tell.
    pub(super) epoch: i32,
    /// The topic's id, where it has one.
    pub(super) topic_id: Option<Uuid>,
}

/// What is known of the leaders of topics' partitions, for the topics that are in use.
#[derive(Debug)]
pub(super) struct Leaders {
    max_age: Duration,
    topics: Mutex<HashMap<String, Topic>>,
}

#[derive(Debug)]
struct Topic {
    /// When metadata told it.
    learned: Instant,
    /// When somebody last asked about it.
    used: Instant,
    /// The answer, or the error for the topic.
    partitions: Result<HashMap<i32, Leader>, ErrorCode>,
}

impl Leaders {
    /// Knows nothing yet. What is older than `max_age` is to be asked anew.
    pub(super) fn new(max_age: Duration) -> Self {
        Self { max_age, topics: Mutex::default() }
    }

    /// The leader of a partition as last told.
    ///
    /// `None` if nobody has told of the topic yet. An error where the topic, the partition or its leader is missing:
    /// `UNKNOWN_TOPIC_OR_PARTITION`, `LEADER_NOT_AVAILABLE`, or what the broker said.
    pub(super) fn of(&self, partition: &TopicPartition) -> Option<Result<Leader, ErrorCode>> {
        let mut topics = self.lock();
        let topic = topics.get_mut(partition.topic())?;
        topic.used = Instant::now();
        let found = match &topic.partitions {
            Ok(partitions) => partitions.get(&partition.partition()).copied(),
            Err(code) => return Some(Err(*code)),
        };
        Some(match found {
            Some(leader) if leader.broker >= 0 => Ok(leader),
            Some(_) => Err(ErrorCode(ResponseError::LeaderNotAvailable.code())),
            None => Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        })
    }

    /// When metadata last told of a topic.
    pub(super) fn learned(&self, topic: &str) -> Option<Instant> {
        self.lock().get(topic).map(|topic| topic.learned)
    }

    /// Whether a topic is known, without error, and not for longer than metadata may age.
    pub(super) fn is_fresh(&self, topic: &str) -> bool {
        let topics = self.lock();
        topics.get(topic).is_some_and(|topic| topic.partitions.is_ok() && topic.learned.elapsed() < self.max_age)
    }

    /// Takes over what an answer says, except that a leader which is known to have been replaced stays replaced: a broker
    /// that lags behind may answer.
    pub(super) fn learn(&self, answer: &MetadataResponse) {
        let now = Instant::now();
        let mut topics = self.lock();
        for told in &answer.topics {
            let Some(name) = &told.name else { continue };
            let mut partitions = partitions(told);
            let known = topics.get(&*name.0);
            if let (Ok(new), Some(Ok(old))) = (&mut partitions, known.map(|topic| &topic.partitions)) {
                keep_newer(new, old);
            }
            let used = known.map_or(now, |topic| topic.used);
            topics.insert(name.0.to_string(), Topic { learned: now, used, partitions });
        }
        let kept = self.max_age.saturating_mul(FORGOTTEN_AFTER);
        topics.retain(|_, topic| topic.used.elapsed() <= kept);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Topic>> {
        // Held for short, consistent changes only.
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the leaders of a later epoch over from `old`. Epochs of a topic that was created anew begin anew.
fn keep_newer(new: &mut HashMap<i32, Leader>, old: &HashMap<i32, Leader>) {
    for (partition, leader) in new {
        if let Some(known) = old.get(partition)
            && known.topic_id == leader.topic_id
            && leader.epoch >= 0
            && known.epoch > leader.epoch
        {
            *leader = *known;
        }
    }
}

fn partitions(topic: &MetadataResponseTopic) -> Result<HashMap<i32, Leader>, ErrorCode> {
    if topic.error_code != 0 {
        return Err(ErrorCode(topic.error_code));
    }
    let topic_id = Some(topic.topic_id).filter(|id| !id.is_nil());
    let leader = |partition: &MetadataResponsePartition| {
        let leader = Leader { broker: *partition.leader_id, epoch: partition.leader_epoch, topic_id };
        (partition.partition_index, leader)
    };
    Ok(topic.partitions.iter().map(leader).collect())
}

#[cfg(test)]
mod tests;
