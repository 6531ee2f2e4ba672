use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_response::{MetadataResponse, MetadataResponseTopic};
use tokio::time::Instant;
use uuid::Uuid;

use super::call::{Call, Failed};
use super::cluster::Cluster;
use super::topics::metadata;
use crate::broker::{BrokerError, ErrorCode};
use crate::record::TopicPartition;

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

/// What is known of the leaders of topics' partitions.
#[derive(Debug, Default)]
pub(super) struct Leaders {
    topics: Mutex<HashMap<String, Topic>>,
}

#[derive(Debug)]
struct Topic {
    /// When metadata told it.
    learned: Instant,
    /// The answer, or the error for the topic.
    partitions: Result<HashMap<i32, Leader>, ErrorCode>,
}

impl Leaders {
    /// The leader of a partition as last told.
    ///
    /// `None` if nobody has told of the topic yet. An error where the topic, the partition or its leader is missing:
    /// `UNKNOWN_TOPIC_OR_PARTITION`, `LEADER_NOT_AVAILABLE`, or what the broker said.
    pub(super) fn of(&self, partition: &TopicPartition) -> Option<Result<Leader, ErrorCode>> {
        let topics = self.lock();
        let topic = topics.get(partition.topic())?;
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

    /// How many partitions a topic has, as last told.
    pub(super) fn partitions(&self, topic: &str) -> Option<Result<usize, ErrorCode>> {
        self.lock().get(topic).map(|topic| topic.partitions.as_ref().map(HashMap::len).map_err(|code| *code))
    }

    /// When metadata last told of a topic.
    pub(super) fn learned(&self, topic: &str) -> Option<Instant> {
        self.lock().get(topic).map(|topic| topic.learned)
    }

    /// Takes over what an answer says.
    pub(super) fn learn(&self, answer: &MetadataResponse) {
        let learned = Instant::now();
        let mut topics = self.lock();
        for topic in &answer.topics {
            if let Some(name) = &topic.name {
                topics.insert(name.0.to_string(), Topic { learned, partitions: partitions(topic) });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Topic>> {
        // Held for short, consistent changes only.
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn partitions(topic: &MetadataResponseTopic) -> Result<HashMap<i32, Leader>, ErrorCode> {
    if topic.error_code != 0 {
        return Err(ErrorCode(topic.error_code));
    }
    let topic_id = Some(topic.topic_id).filter(|id| !id.is_nil());
    let leader = |partition: &kafka_protocol::messages::metadata_response::MetadataResponsePartition| {
        let leader = Leader { broker: *partition.leader_id, epoch: partition.leader_epoch, topic_id };
        (partition.partition_index, leader)
    };
    Ok(topic.partitions.iter().map(leader).collect())
}

impl Cluster {
    /// Asks any broker for metadata of `topics`, once, so that [`Leaders`] knows them as they are now.
    pub(super) async fn refresh(&self, call: &Call, topics: &[String]) -> Result<(), BrokerError> {
        match metadata(self, call, topics).await {
            Ok(_) => Ok(()),
            Err(Failed::ForNow(error) | Failed::ForGood(error)) => Err(error),
        }
    }
}
