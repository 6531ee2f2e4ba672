use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::broker::{Admin, BrokerError, ErrorCode, NewTopic};

/// How dead-letter topics are checked and made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicCreation {
    /// Whether missing dead-letter topics are created. Default yes; otherwise a missing one is an error at start.
    pub enabled: bool,
    /// How long created topics keep dead letters. Default 30 days.
    pub retention: Duration,
    /// The largest dead letter that created topics take, in bytes. Default: the source topic's `max.message.bytes` and
    /// 64 KiB more, since the context comes on top of the record.
    pub max_message_bytes: Option<u32>,
    /// The replication factor of created topics; -1, the default, is the broker's own.
    pub replication: i16,
}

impl Default for TopicCreation {
    fn default() -> Self {
        Self { enabled: true, retention: Duration::from_secs(30 * 24 * 3600), max_message_bytes: None, replication: -1 }
    }
}

impl TopicCreation {
    /// Sets [`enabled`](Self::enabled).
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Sets [`retention`](Self::retention).
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Sets [`max_message_bytes`](Self::max_message_bytes).
    pub fn max_message_bytes(mut self, max_message_bytes: Option<u32>) -> Self {
        self.max_message_bytes = max_message_bytes;
        self
    }

    /// Sets [`replication`](Self::replication).
    pub fn replication(mut self, replication: i16) -> Self {
        self.replication = replication;
        self
    }
}

/// The broker's limit where neither topic nor broker says another, in bytes.
const DEFAULT_MAX_MESSAGE_BYTES: u32 = 1_048_588;
/// What a dead letter's context may add to its record, in bytes.
const CONTEXT_BYTES: u32 = 64 * 1024;

/// Why a dead-letter topic cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeadLetterTopicError {
    /// It does not exist and is not to be created.
    #[error(
        "dead-letter topic {topic:?} does not exist: create it (cleanup.policy=delete, {partitions} partitions as its source has), or let it be created (dead_letters.create_topics = true)"
    )]
    Missing {
        /// The topic.
        topic: String,
        /// How many partitions its source has.
        partitions: i32,
    },
    /// The broker says that it may not be written to.
    #[error(
        "dead-letter topic {topic:?} may not be written to: grant Write on it to the user that this service connects as"
    )]
    MayNotWrite {
        /// The topic.
        topic: String,
    },
    /// Compaction would remove dead letters with the same key, and refuses those without one.
    #[error(
        "dead-letter topic {topic:?} has cleanup.policy={policy}: compaction would remove dead letters of the same key; set cleanup.policy=delete or use another topic"
    )]
    Compacted {
        /// The topic.
        topic: String,
        /// Its policy.
        policy: String,
    },
    /// The broker could not be asked, or refused.
    #[error(transparent)]
    Broker(#[from] BrokerError),
}

/// Checks and makes dead-letter topics, and remembers how many partitions they have.
pub(crate) struct TopicKeeper {
    admin: Arc<dyn Admin>,
    creation: TopicCreation,
    known: Mutex<HashMap<String, i32>>,
}

impl TopicKeeper {
    pub(crate) fn new(admin: Arc<dyn Admin>, creation: TopicCreation) -> Self {
        Self { admin, creation, known: Mutex::default() }
    }

    /// The number of partitions of a dead-letter topic of `source`; it is checked, and made if missing, the first time.
    pub(crate) async fn partitions(&self, source: &str, topic: &str) -> Result<i32, DeadLetterTopicError> {
        if let Some(partitions) = self.known(topic) {
            return Ok(partitions);
        }
        let partitions = self.ensure(source, topic).await?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(topic.to_owned(), partitions);
        Ok(partitions)
    }

    /// The number of partitions of a topic that was looked at before.
    pub(crate) fn known(&self, topic: &str) -> Option<i32> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(topic).copied()
    }

    /// Forgets a topic that the broker says it does not know (any more), so that it is looked at again.
    pub(crate) fn forget(&self, topic: &str) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(topic);
    }

    async fn ensure(&self, source: &str, topic: &str) -> Result<i32, DeadLetterTopicError> {
        let found = self.admin.topics(vec![topic.to_owned(), source.to_owned()]).await?;
        let mut found = found.into_iter();
        let (dead_letter, source_topic) = (found.next().flatten(), found.next().flatten());
        if let Some(metadata) = dead_letter {
            if metadata.operations.is_some_and(|operations| !operations.may_write()) {
                return Err(DeadLetterTopicError::MayNotWrite { topic: topic.to_owned() });
            }
            self.refuse_compaction(topic).await?;
            return Ok(metadata.partitions);
        }
        let partitions = source_topic.map_or(1, |source| source.partitions);
        if !self.creation.enabled {
            return Err(DeadLetterTopicError::Missing { topic: topic.to_owned(), partitions });
        }
        match self.admin.create_topic(self.new_topic(source, topic, partitions).await?).await {
            Ok(()) => {
                tracing::info!(topic, partitions, source, "dead-letter topic created");
                Ok(partitions)
            }
            // Another consumer was faster.
            Err(error) if error.code() == Some(ErrorCode::TOPIC_ALREADY_EXISTS) => {
                let found = self.admin.topics(vec![topic.to_owned()]).await?.pop().flatten();
                self.refuse_compaction(topic).await?;
                Ok(found.map_or(partitions, |metadata| metadata.partitions))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn new_topic(&self, source: &str, topic: &str, partitions: i32) -> Result<NewTopic, BrokerError> {
        let max_message_bytes = match self.creation.max_message_bytes {
            Some(bytes) => bytes,
            None => {
                let limit = self.admin.topic_config(source.to_owned(), "max.message.bytes".to_owned()).await;
                let limit = match limit {
                    // Without the right to look, the usual limit is taken.
                    Err(error) if error.code().is_some_and(|code| code.is_authorization()) => None,
                    limit => limit?,
                };
                let limit = limit.and_then(|bytes| bytes.parse().ok()).unwrap_or(DEFAULT_MAX_MESSAGE_BYTES);
                limit.saturating_add(CONTEXT_BYTES).min(i32::MAX as u32)
            }
        };
        Ok(NewTopic::new(topic, partitions)
            .replication(self.creation.replication)
            .config("cleanup.policy", "delete")
            .config("retention.ms", self.creation.retention.as_millis().to_string())
            .config("max.message.bytes", max_message_bytes.to_string()))
    }

    async fn refuse_compaction(&self, topic: &str) -> Result<(), DeadLetterTopicError> {
        let policy = match self.admin.topic_config(topic.to_owned(), "cleanup.policy".to_owned()).await {
            Ok(policy) => policy.unwrap_or_default(),
            // Without the right to look, the topic is taken as it is.
            Err(error) if error.code().is_some_and(|code| code.is_authorization()) => {
                tracing::warn!(
                    topic,
                    "no right to describe the dead-letter topic's configuration, so it is not checked"
                );
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if policy.contains("compact") {
            return Err(DeadLetterTopicError::Compacted { topic: topic.to_owned(), policy });
        }
        Ok(())
    }
}
