use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;
use uuid::Uuid;

use super::depth::{Found, Reading};
use super::margin::{OLD, Position};
use super::plan::Asked;
use crate::broker::{BrokerError, OffsetSpec, Ports, TopicMetadata};
use crate::record::TopicPartition;
use crate::replay::marks::{Resolved, marks_topic};
use crate::replay::reading::{RangeReader, Span};

/// How long reading the new marks of a topic may take.
const MARKS: Duration = Duration::from_secs(300);
/// How long looking for the oldest dead letter of a topic may take; without it, its age is not known until the next look.
const OLDEST: Duration = Duration::from_secs(30);
/// How much is fetched ahead to find the oldest dead letter, in bytes.
const FEED_BYTES: usize = 1;
/// For how many looks a topic's retention is believed: with the default interval for an hour.
const RETENTION_LOOKS: u32 = 120;

/// Reads what a monitor wants to know from the broker, and remembers what need not be read again. A look asks once for metadata
/// and once for offsets, of all topics together; marks and dead letters are read only where they have changed.
pub(super) struct Survey {
    ports: Ports,
    marks: HashMap<Arc<str>, KnownMarks>,
    /// By partition: the topic's id, the offset of the oldest unresolved dead letter, and its timestamp.
    oldest: HashMap<TopicPartition, (Option<Uuid>, i64, i64)>,
    retention: HashMap<String, KnownRetention>,
}

struct KnownMarks {
    resolved: Resolved,
    /// The dead-letter topic's id, the marks topic's, and its end: while they are the same, there is nothing new.
    seen: Seen,
}

type Seen = (Option<Uuid>, Option<Uuid>, i64);

struct KnownRetention {
    /// How long the topic keeps records, if it removes them by time.
    time: Option<Duration>,
    looks: u32,
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
    /// What went wrong with some of it.
    pub(super) trouble: Option<BrokerError>,
}

impl Survey {
    pub(super) fn new(ports: Ports) -> Self {
        Self { ports, marks: HashMap::new(), oldest: HashMap::new(), retention: HashMap::new() }
    }

    /// Looks at dead-letter topics, and how near the starts of logs come to `standings`. `now` is in milliseconds since the Unix
    /// epoch.
    pub(super) async fn look(
        &mut self,
        asked: &Asked,
        standings: Vec<Standing>,
        now: i64,
    ) -> Result<Look, BrokerError> {
        let mut look = Look::default();
        let topics: Vec<Arc<str>> = asked.keys().cloned().collect();
        let found = self.metadata(&topics).await?;
        let mut wanted = Vec::new();
        for (metadata, marks) in found.values() {
            for partition in partitions(metadata) {
                wanted.push((partition.clone(), OffsetSpec::Earliest));
                wanted.push((partition, OffsetSpec::Latest));
            }
            wanted.extend(marks.iter().map(|marks| (TopicPartition::new(marks.name.as_str(), 0), OffsetSpec::Latest)));
        }
        let mut waiting = Vec::new();
        for standing in standings {
            let retention = match standing.watermark < standing.end {
                true => self.retention(standing.partition.topic()).await,
                // All is settled: retention can take nothing away.
                false => None,
            };
            wanted.push((standing.partition.clone(), OffsetSpec::Earliest));
            wanted.extend(retention.and_then(|time| Some((standing.partition.clone(), threshold(time, now)?))));
            waiting.push((standing, retention));
        }
        let (offsets, trouble) = self.offsets(wanted).await?;
        look.trouble = trouble;
        for (topic, category) in asked {
            let Some((metadata, marks)) = found.get(topic) else {
                let topic = Arc::clone(topic);
                look.readings.push(Reading { topic, category: *category, found: None });
                continue;
            };
            match self.reading(topic, metadata, marks.as_ref(), &offsets).await {
                Ok(found) => {
                    let topic = Arc::clone(topic);
                    look.readings.push(Reading { topic, category: *category, found: Some(found) });
                }
                Err(error) => {
                    look.unread.insert(Arc::clone(topic));
                    look.trouble = look.trouble.or(error);
                }
            }
        }
        self.marks.retain(|topic, _| asked.contains_key(topic));
        self.oldest.retain(|partition, _| asked.contains_key(partition.topic()));
        for (Standing { partition, watermark, end }, retention) in waiting {
            let Some(start) = offsets.get(&(partition.clone(), Spec::Earliest)).copied() else { continue };
            let young = offsets.get(&(partition.clone(), Spec::Time)).copied();
            let retention = retention.zip(young);
            look.positions.push(Position { partition, watermark, start, end, retention });
        }
        Ok(look)
    }

    /// The topics that exist, each with its marks topic where there is one.
    async fn metadata(
        &self,
        topics: &[Arc<str>],
    ) -> Result<BTreeMap<Arc<str>, (TopicMetadata, Option<TopicMetadata>)>, BrokerError> {
        if topics.is_empty() {
            return Ok(BTreeMap::new());
        }
        let names = topics.iter().flat_map(|topic| [topic.to_string(), marks_topic(topic)]).collect();
        let found = self.ports.admin.topics(names).await?;
        let pairs = topics.iter().zip(found.chunks(2));
        Ok(pairs
            .filter_map(|(topic, pair)| {
                let (metadata, marks) = (pair.first()?.clone()?, pair.get(1).cloned().flatten());
                Some((Arc::clone(topic), (metadata, marks)))
            })
            .collect())
    }

    /// The offsets asked for. Where the broker cannot tell all of them together, topic by topic, and those that it tells.
    async fn offsets(&self, wanted: Vec<Wanted>) -> Result<(Offsets, Option<BrokerError>), BrokerError> {
        if wanted.is_empty() {
            return Ok((Offsets::new(), None));
        }
        let error = match self.ports.admin.offsets(wanted.clone()).await {
            Ok(offsets) => return Ok((found(wanted, offsets), None)),
            Err(error) => error,
        };
        let mut by_topic = BTreeMap::<String, Vec<Wanted>>::new();
        for one in wanted {
            by_topic.entry(one.0.topic().to_owned()).or_default().push(one);
        }
        if by_topic.len() < 2 {
            return Err(error);
        }
        let each = by_topic.into_values().map(|wanted| async move {
            let offsets = self.ports.admin.offsets(wanted.clone()).await?;
            Ok::<_, BrokerError>(found(wanted, offsets))
        });
        let each: Vec<_> = join_all(each).await.into_iter().flatten().collect();
        if each.is_empty() {
            return Err(error);
        }
        Ok((each.into_iter().flatten().collect(), Some(error)))
    }

    async fn reading(
        &mut self,
        topic: &Arc<str>,
        metadata: &TopicMetadata,
        marks: Option<&TopicMetadata>,
        offsets: &Offsets,
    ) -> Result<Found, Option<BrokerError>> {
        let mut logs = Vec::new();
        for partition in partitions(metadata) {
            let of = |spec| offsets.get(&(partition.clone(), spec)).copied();
            let (Some(start), Some(end)) = (of(Spec::Earliest), of(Spec::Latest)) else { return Err(None) };
            logs.push((partition, start, end));
        }
        let depth: u64 = logs.iter().map(|(_, start, end)| length(*start, *end)).sum();
        if let Some(marks) = marks.filter(|_| depth > 0) {
            let end = offsets.get(&(TopicPartition::new(marks.name.as_str(), 0), Spec::Latest)).copied();
            self.refresh(topic, (metadata.id, marks.id, end.ok_or(None)?)).await.map_err(Some)?;
        } else {
            self.marks.remove(topic);
        }
        let resolved = self.marks.get(topic).map(|known| &known.resolved);
        let mut unresolved = 0;
        let mut first = Vec::new();
        for (partition, start, end) in logs {
            let number = partition.partition();
            let (done, oldest) = match resolved {
                Some(marks) => (marks.resolved(number, start..end), marks.first_unresolved(number, start, end)),
                None => (0, start),
            };
            unresolved += length(start, end).saturating_sub(done);
            if oldest < end {
                first.push(Span { partition, topic_id: metadata.id, start: oldest, end });
            }
        }
        let oldest = self.oldest(first).await;
        Ok(Found { id: metadata.id, depth: unresolved, oldest })
    }

    /// Reads the marks that are new.
    async fn refresh(&mut self, topic: &Arc<str>, seen: Seen) -> Result<(), BrokerError> {
        let broker = |error: crate::replay::ReplayError| match error {
            crate::replay::ReplayError::Broker(error) => error,
            error => BrokerError::Malformed { doing: format!("reading marks of {topic}"), cause: error.to_string() },
        };
        let late = |_| BrokerError::Timeout { doing: format!("reading marks of {topic}"), after: MARKS };
        match self.marks.get_mut(topic) {
            Some(known) if known.seen == seen => {}
            Some(known) => {
                timeout(MARKS, known.resolved.refresh()).await.map_err(late)?.map_err(broker)?;
                known.seen = seen;
            }
            None => {
                let reading = Resolved::read(&self.ports, topic);
                let resolved = timeout(MARKS, reading).await.map_err(late)?.map_err(broker)?;
                self.marks.insert(Arc::clone(topic), KnownMarks { resolved, seen });
            }
        }
        Ok(())
    }

    /// The timestamp of the oldest of the first records of spans; `None` where it cannot be read in time.
    async fn oldest(&mut self, first: Vec<Span>) -> Option<i64> {
        let known = |this: &Self, span: &Span| {
            let (id, offset, timestamp) = this.oldest.get(&span.partition)?;
            (*id == span.topic_id && *offset == span.start).then_some(*timestamp)
        };
        let unknown: Vec<Span> = first.iter().filter(|span| known(self, span).is_none()).cloned().collect();
        if !unknown.is_empty() {
            // What is not read is tried again at the next look.
            let _ = timeout(OLDEST, self.read_first(unknown)).await;
        }
        first.iter().filter_map(|span| known(self, span)).min()
    }

    async fn read_first(&mut self, mut spans: Vec<Span>) {
        // One at a time as soon as each has shown its first record: what follows that is of no interest.
        while let Some(span) = spans.pop() {
            let mut reader = RangeReader::new(&self.ports, [span.clone()], FEED_BYTES);
            let Some(Ok(piece)) = reader.next().await else { continue };
            if let Some(record) = piece.iter().next() {
                self.oldest.insert(span.partition, (span.topic_id, span.start, record.timestamp()));
            }
        }
    }

    /// How long a topic keeps records, if it removes them by time and this client may know it.
    async fn retention(&mut self, topic: &str) -> Option<Duration> {
        if let Some(known) = self.retention.get_mut(topic)
            && known.looks < RETENTION_LOOKS
        {
            known.looks += 1;
            return known.time;
        }
        let entry = |name: &str| self.ports.admin.topic_config(topic.to_owned(), name.to_owned());
        let (policy, time) = (entry("cleanup.policy").await, entry("retention.ms").await);
        let time = match (policy, time) {
            (Ok(Some(policy)), Ok(Some(time))) if policy.contains("delete") => time.parse().ok(),
            _ => None,
        };
        let time = time.map(Duration::from_millis);
        self.retention.insert(topic.to_owned(), KnownRetention { time, looks: 0 });
        time
    }
}

type Wanted = (TopicPartition, OffsetSpec);
type Offsets = HashMap<(TopicPartition, Spec), i64>;

/// What an offset was asked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Spec {
    Earliest,
    Latest,
    Time,
}

fn found(wanted: Vec<Wanted>, offsets: Vec<i64>) -> Offsets {
    let spec = |spec| match spec {
        OffsetSpec::Earliest => Spec::Earliest,
        OffsetSpec::Latest | OffsetSpec::MaxTimestamp => Spec::Latest,
        OffsetSpec::Timestamp(_) => Spec::Time,
    };
    wanted.into_iter().map(|(partition, asked)| (partition, spec(asked))).zip(offsets).collect()
}

fn partitions(topic: &TopicMetadata) -> impl Iterator<Item = TopicPartition> {
    let name: Arc<str> = topic.name.as_str().into();
    (0..topic.partitions).map(move |number| TopicPartition::new(Arc::clone(&name), number))
}

fn length(start: i64, end: i64) -> u64 {
    u64::try_from(end - start).unwrap_or(0)
}

/// Records older than this have spent most of their time.
fn threshold(retention: Duration, now: i64) -> Option<OffsetSpec> {
    let old = i64::try_from((retention * OLD / 100).as_millis()).ok()?;
    now.checked_sub(old).filter(|time| *time >= 0).map(OffsetSpec::Timestamp)
}
