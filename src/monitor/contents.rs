use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use uuid::Uuid;

use super::depth::Found;
use super::plan::Asked;
use crate::broker::{BrokerError, Ports, TopicMetadata};
use crate::record::TopicPartition;
use crate::replay::ReplayError;
use crate::replay::marks::Resolved;
use crate::replay::reading::{RangeReader, Span};

/// How long reading the new marks of a topic may take.
const MARKS: Duration = Duration::from_secs(300);
/// How long looking for the oldest dead letter of a partition may take.
const OLDEST: Duration = Duration::from_secs(10);
/// For how many looks what could not be read is left alone.
const LEFT: u32 = 20;
/// How much is fetched ahead to find the oldest dead letter, in bytes: one batch comes in any case.
const FEED_BYTES: usize = 1;

/// What lies in dead-letter topics: how many letters are unresolved, and how old the oldest is. Marks and letters are read only
/// where they have changed.
pub(super) struct Contents {
    ports: Ports,
    marks: HashMap<Arc<str>, Marks>,
    oldest: HashMap<TopicPartition, Oldest>,
    /// Where nothing could be read lately, and for how many looks more that is not tried.
    left: HashMap<TopicPartition, u32>,
    /// Topics that may not be read, which was told.
    forbidden: HashSet<String>,
}

struct Marks {
    resolved: Resolved,
    seen: Seen,
}

/// The id of the dead-letter topic, that of the marks topic, and its end: while they are the same, there is nothing new.
type Seen = (Option<Uuid>, Option<Uuid>, i64);

/// The oldest unresolved letter of a partition.
struct Oldest {
    topic_id: Option<Uuid>,
    offset: i64,
    timestamp: i64,
}

/// The log of a partition: its first offset, and the one after its last.
pub(super) type Log = (TopicPartition, i64, i64);

impl Contents {
    pub(super) fn new(ports: Ports) -> Self {
        let (marks, oldest, left, forbidden) = Default::default();
        Self { ports, marks, oldest, left, forbidden }
    }

    /// What lies in a topic, with its marks topic and where that ends; and what stood in the way of knowing all of it.
    pub(super) async fn read(
        &mut self,
        topic: &Arc<str>,
        metadata: &TopicMetadata,
        marks: Option<(&TopicMetadata, i64)>,
        logs: Vec<Log>,
    ) -> (Found, Option<BrokerError>) {
        let mut trouble = None;
        match marks.filter(|(marks, _)| self.may_read(marks)) {
            Some((marks, end)) => trouble = self.refresh(topic, (metadata.id, marks.id, end)).await.err(),
            None => drop(self.marks.remove(topic)),
        }
        let resolved = self.marks.get(topic).map(|marks| &marks.resolved);
        let (mut depth, mut firsts) = (0, Vec::new());
        for (partition, start, end) in logs {
            let number = partition.partition();
            let (done, first) = match resolved {
                Some(marks) => (marks.resolved(number, start..end), marks.first_unresolved(number, start, end)),
                None => (0, start),
            };
            depth += u64::try_from(end - start).unwrap_or(0).saturating_sub(done);
            if first < end {
                firsts.push(Span { partition, topic_id: metadata.id, start: first, end });
            }
        }
        let oldest = if self.may_read(metadata) { self.oldest(&firsts).await } else { None };
        (Found { id: metadata.id, depth, oldest }, trouble)
    }

    /// Forgets all other topics.
    pub(super) fn retain(&mut self, asked: &Asked) {
        self.marks.retain(|topic, _| asked.contains_key(topic));
        self.oldest.retain(|partition, _| asked.contains_key(partition.topic()));
        self.left.retain(|partition, _| asked.contains_key(partition.topic()));
    }

    /// Whether a topic may be read, as far as the broker tells.
    fn may_read(&mut self, topic: &TopicMetadata) -> bool {
        let may = topic.operations.is_none_or(|operations| operations.may_read());
        if may {
            self.forbidden.remove(&topic.name);
        } else if self.forbidden.insert(topic.name.clone()) {
            tracing::warn!(
                topic = topic.name,
                "the monitor may not read the topic, so that it does not know what is resolved or how old it is: grant Read on it"
            );
        }
        may
    }

    /// Reads the marks that are new.
    async fn refresh(&mut self, topic: &Arc<str>, seen: Seen) -> Result<(), BrokerError> {
        let doing = || format!("reading the marks of {topic}");
        let error = |error: ReplayError| match error {
            ReplayError::Broker(error) => error,
            error => BrokerError::Malformed { doing: doing(), cause: error.to_string() },
        };
        let late = |_| BrokerError::Timeout { doing: doing(), after: MARKS };
        match self.marks.get_mut(topic) {
            Some(known) if known.seen == seen => {}
            Some(known) => {
                timeout(MARKS, known.resolved.refresh()).await.map_err(late)?.map_err(error)?;
                known.seen = seen;
            }
            None => {
                let reading = Resolved::read(&self.ports, topic);
                let resolved = timeout(MARKS, reading).await.map_err(late)?.map_err(error)?;
                self.marks.insert(Arc::clone(topic), Marks { resolved, seen });
            }
        }
        Ok(())
    }

    /// The lowest timestamp of the first records of spans, as far as they can be read.
    async fn oldest(&mut self, firsts: &[Span]) -> Option<i64> {
        let mut timestamps = BTreeSet::new();
        for span in firsts {
            let known = self.oldest.get(&span.partition);
            let known = known.filter(|known| known.topic_id == span.topic_id && known.offset == span.start);
            let timestamp = match known.map(|known| known.timestamp) {
                Some(timestamp) => Some(timestamp),
                None => self.first(span).await,
            };
            timestamps.extend(timestamp);
        }
        timestamps.first().copied()
    }

    /// The timestamp of the first record of a span.
    async fn first(&mut self, span: &Span) -> Option<i64> {
        if let Some(looks) = self.left.get_mut(&span.partition) {
            *looks -= 1;
            if *looks > 0 {
                return None;
            }
            self.left.remove(&span.partition);
        }
        let mut reader = RangeReader::new(&self.ports, [span.clone()], FEED_BYTES);
        let piece = timeout(OLDEST, reader.next()).await;
        let Ok(Some(Ok(piece))) = piece else {
            self.left.insert(span.partition.clone(), LEFT);
            return None;
        };
        let timestamp = piece.iter().next()?.timestamp();
        let oldest = Oldest { topic_id: span.topic_id, offset: span.start, timestamp };
        self.oldest.insert(span.partition.clone(), oldest);
        Some(timestamp)
    }
}
