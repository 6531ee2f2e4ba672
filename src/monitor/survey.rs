use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::contents::Contents;
use super::depth::Reading;
use super::margin::Position;
use super::offsets::{Offsets, Spec};
use super::plan::Asked;
use super::retention::{Retention, young};
use crate::broker::{BrokerError, OffsetSpec, Ports, TopicMetadata};
use crate::record::TopicPartition;
use crate::replay::marks::marks_topic;

/// Reads what a monitor wants to know from the broker, and remembers what need not be read again. A look asks once for metadata
/// and once for offsets, of all topics together.
pub(super) struct Survey {
    ports: Ports,
    contents: Contents,
    retention: Retention,
}

/// Where a partition of the consumer stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) partition: TopicPartition,
    pub(super) watermark: i64,
    /// The end of its log as of the last fetch.
    pub(super) end: i64,
}

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) readings: Vec<Reading>,
    /// Topics that could not be read.
    pub(super) unread: BTreeSet<Arc<str>>,
    pub(super) positions: Vec<Position>,
    /// All partitions that the consumer has, those without a position too.
    pub(super) ours: BTreeSet<TopicPartition>,
    /// What went wrong with some of it.
    pub(super) trouble: Option<BrokerError>,
}

impl Look {
    /// Takes in where the partitions stand after it.
    pub(super) fn settle(&mut self, standings: Vec<Standing>) {
        let mut later: BTreeMap<_, _> = standings.into_iter().map(|it| (it.partition.clone(), it)).collect();
        self.positions.retain_mut(|position| {
            let standing = later.remove(&position.partition);
            if let Some(standing) = &standing {
                (position.watermark, position.end) = (standing.watermark, standing.end);
            }
            standing.is_some()
        });
    }
}

/// What the broker says of the topics.
#[derive(Default)]
struct Topics {
    /// Those that exist, each with its marks topic where there is one.
    found: BTreeMap<Arc<str>, (TopicMetadata, Option<TopicMetadata>)>,
    /// Those that it says nothing of.
    untold: BTreeSet<Arc<str>>,
    trouble: Option<BrokerError>,
}

impl Survey {
    pub(super) fn new(mut ports: Ports) -> Self {
        // Others may read marks at the same time, and a source reads each partition once.
        if let Some(source) = ports.source.fork() {
            ports.source = source;
        }
        Self { contents: Contents::new(ports.clone()), ports, retention: Retention::default() }
    }

    /// Looks at dead-letter topics, and how near the starts of logs come to `standings`. `now` is in milliseconds since the Unix
    /// epoch.
    pub(super) async fn look(
        &mut self,
        asked: &Asked,
        standings: Vec<Standing>,
        now: i64,
    ) -> Result<Look, BrokerError> {
        let topics = self.topics(asked).await?;
        let mut wanted = Vec::new();
        for (metadata, marks) in topics.found.values() {
            for partition in partitions(metadata) {
                wanted.push((partition.clone(), OffsetSpec::Earliest));
                wanted.push((partition, OffsetSpec::Latest));
            }
            wanted.extend(marks.iter().map(|marks| (first(marks), OffsetSpec::Latest)));
        }
        let mut waiting = Vec::new();
        for standing in standings {
            let retention = match standing.watermark < standing.end {
                true => self.retention.of(&*self.ports.admin, standing.partition.topic()).await,
                // All is settled: retention can take nothing away.
                false => None,
            };
            wanted.push((standing.partition.clone(), OffsetSpec::Earliest));
            wanted.extend(retention.and_then(|time| Some((standing.partition.clone(), young(time, now)?))));
            waiting.push((standing, retention));
        }
        let offsets = Offsets::ask(&*self.ports.admin, wanted).await?;
        let mut look = self.readings(asked, topics, &offsets).await;
        look.trouble = offsets.trouble.clone().or(look.trouble);
        for (Standing { partition, watermark, end }, retention) in waiting {
            let Some(start) = offsets.of(&partition, Spec::Earliest) else { continue };
            let retention = retention.zip(offsets.of(&partition, Spec::Time));
            look.positions.push(Position { partition, watermark, start, end, retention });
        }
        Ok(look)
    }

    /// What the broker says of the topics together; where it does not say it of all, of each.
    async fn topics(&self, asked: &Asked) -> Result<Topics, BrokerError> {
        let mut topics = Topics::default();
        if asked.is_empty() {
            return Ok(topics);
        }
        let names = asked.keys().flat_map(|topic| [topic.to_string(), marks_topic(topic)]).collect();
        let error = match self.ports.admin.topics(names).await {
            Ok(found) => {
                for (topic, pair) in asked.keys().zip(found.chunks(2)) {
                    if let Some(metadata) = pair.first().cloned().flatten() {
                        let marks = pair.get(1).cloned().flatten();
                        topics.found.insert(Arc::clone(topic), (metadata, marks));
                    }
                }
                return Ok(topics);
            }
            Err(error) if error.is_retriable() => return Err(error),
            Err(error) => error,
        };
        // A right may be missing on one of them, and most of all on the marks, which are the tools'.
        for topic in asked.keys() {
            let Ok(mut found) = self.ports.admin.topics(vec![topic.to_string()]).await else {
                topics.untold.insert(Arc::clone(topic));
                continue;
            };
            if let Some(metadata) = found.pop().flatten() {
                let marks = self.ports.admin.topics(vec![marks_topic(topic)]).await;
                let marks = marks.ok().and_then(|mut marks| marks.pop()).flatten();
                topics.found.insert(Arc::clone(topic), (metadata, marks));
            }
        }
        topics.trouble = Some(error);
        Ok(topics)
    }

    async fn readings(&mut self, asked: &Asked, topics: Topics, offsets: &Offsets) -> Look {
        let mut look = Look { unread: topics.untold, trouble: topics.trouble, ..Look::default() };
        for (topic, category) in asked.iter().filter(|(topic, _)| !look.unread.contains(*topic)).collect::<Vec<_>>() {
            let reading = |found| Reading { topic: Arc::clone(topic), category: *category, found };
            let Some((metadata, marks)) = topics.found.get(topic) else {
                look.readings.push(reading(None));
                continue;
            };
            let log = |partition: TopicPartition| {
                let (start, end) = (offsets.of(&partition, Spec::Earliest)?, offsets.of(&partition, Spec::Latest)?);
                Some((partition, start, end))
            };
            let Some(logs) = partitions(metadata).map(log).collect::<Option<Vec<_>>>() else {
                look.unread.insert(Arc::clone(topic));
                continue;
            };
            let marks = marks.as_ref().and_then(|marks| Some((marks, offsets.of(&first(marks), Spec::Latest)?)));
            let (found, trouble) = self.contents.read(topic, metadata, marks, logs).await;
            look.readings.push(reading(Some(found)));
            look.trouble = look.trouble.or(trouble);
        }
        self.contents.retain(asked);
        look
    }
}

fn partitions(topic: &TopicMetadata) -> impl Iterator<Item = TopicPartition> {
    let name: Arc<str> = topic.name.as_str().into();
    (0..topic.partitions).map(move |number| TopicPartition::new(Arc::clone(&name), number))
}

fn first(marks: &TopicMetadata) -> TopicPartition {
    TopicPartition::new(marks.name.as_str(), 0)
}
