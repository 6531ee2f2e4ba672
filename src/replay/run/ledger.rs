use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use super::target::vouched_source;
use crate::broker::{BrokerError, Ports};
use crate::record::{ProducerRecord, RecordId, TopicPartition};
use crate::replay::marks::{self, Effect, FEED_BYTES, Known, Mark, Marks, Origins, Place, RunId};
use crate::replay::reading::RangeReader;
use crate::replay::{DeadLetter, ReplayError, State};

/// A dead letter of a run: the number of its topic, and where it lies in it.
pub(super) type At = (usize, Place);

/// The marks of the topics that a run is for: what they say, and what it adds.
pub(super) struct Ledger {
    ports: Ports,
    pub(super) run: RunId,
    topics: Vec<Marked>,
    /// Reads on in the marks topics that are written to.
    tail: Option<RangeReader>,
    /// Claims that were written and not read yet, and what was known of the letters when it was decided what to send.
    claims: BTreeMap<At, Known>,
    /// Marks by which dead letters that stem from others have their first origin.
    origins: HashMap<String, Origins>,
}

struct Marked {
    marks: Marks,
    /// The partition to write to, once its topic was looked at.
    partition: Option<TopicPartition>,
}

/// What became of a claim.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// It holds.
    Won,
    /// Another one holds, or the letter is resolved.
    Lost(State),
}

/// How long a topic that was just made may take to have a leader.
const PATIENCE: Duration = Duration::from_secs(30);

impl Ledger {
    pub(super) async fn read(ports: &Ports, topics: &[Arc<str>]) -> Result<Self, ReplayError> {
        let mut marked = Vec::with_capacity(topics.len());
        for topic in topics {
            marked.push(Marked { marks: Marks::read(ports, topic).await?, partition: None });
        }
        Ok(Self {
            ports: ports.clone(),
            run: RunId::new(),
            topics: marked,
            tail: None,
            claims: BTreeMap::new(),
            origins: HashMap::new(),
        })
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = &Arc<str>> {
        self.topics.iter().map(|topic| topic.marks.dead_letters())
    }

    pub(super) fn marks(&self, topic: usize) -> &Marks {
        &self.topics[topic].marks
    }

    /// Sees that the marks topic of a dead-letter topic is there, and fit for marks.
    pub(super) async fn open(&mut self, topic: usize) -> Result<(), ReplayError> {
        let marked = &mut self.topics[topic];
        if marked.partition.is_some() {
            return Ok(());
        }
        let partition = marks::ensure(&self.ports, marked.marks.dead_letters()).await?;
        let refreshed = async {
            loop {
                match marked.marks.refresh().await {
                    Ok(()) if marked.marks.rest().is_some() => return Ok(()),
                    Err(error) if !is_passing(&error) => return Err(error),
                    // It has just been made.
                    _ => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        };
        let Ok(refreshed) = tokio::time::timeout(PATIENCE, refreshed).await else {
            let doing = format!("waiting for {partition} to be there");
            return Err(BrokerError::Timeout { doing, after: PATIENCE }.into());
        };
        refreshed?;
        marked.partition = Some(partition);
        // With this one as well, from where each stands.
        self.tail = None;
        Ok(())
    }

    /// Reads what other runs have marked since; the marks topic is made where there is none.
    pub(super) async fn refresh(&mut self, topic: usize) -> Result<(), ReplayError> {
        if self.topics[topic].partition.is_none() {
            return self.open(topic).await;
        }
        // A source reads each partition once at a time.
        self.tail = None;
        self.topics[topic].marks.refresh().await
    }

    /// Writes marks; those of one topic in their order, as many at once as fit one batch. `None` takes a mark back. The topics
    /// must be open.
    pub(super) fn write(
        &self,
        entries: Vec<(At, Option<Mark>)>,
    ) -> impl Future<Output = Result<(), BrokerError>> + Send + use<> {
        let mut batches: BTreeMap<usize, Batches> = BTreeMap::new();
        for ((topic, place), mark) in entries {
            let marks = &self.topics[topic].marks;
            let record =
                ProducerRecord::to(marks::marks_topic(marks.dead_letters())).key(place.key(marks.dead_letters()));
            let value = mark.map(|mark| mark.to_json().into());
            batches.entry(topic).or_default().push(ProducerRecord { value, ..record });
        }
        let writes: Vec<_> = batches
            .into_iter()
            .filter_map(|(topic, batches)| {
                let partition = self.topics[topic].partition.clone()?;
                let produce = Arc::clone(&self.ports.produce);
                let mut batches = batches.all.into_iter();
                // At once, whenever it is looked at what came of it.
                let first = produce.produce(partition.clone(), batches.next()?);
                Some(async move {
                    first.await?;
                    for records in batches {
                        produce.produce(partition.clone(), records).await?;
                    }
                    Ok(())
                })
            })
            .collect();
        async move { try_join_all(writes).await.map(drop) }
    }

    /// Expects a claim that is about to be written; `known` is what its record was made by.
    pub(super) fn expect(&mut self, at: At, known: Known) {
        self.claims.insert(at, known);
    }

    /// Whether claims wait to be read.
    pub(super) fn is_waiting(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Reads on, and tells what became of claims. Nothing is lost where the future is dropped.
    pub(super) async fn claimed(&mut self) -> Result<Vec<(At, Claim)>, ReplayError> {
        let tail = self.tail.get_or_insert_with(|| {
            let open = self.topics.iter().filter(|topic| topic.partition.is_some());
            RangeReader::new(&self.ports, open.filter_map(|topic| topic.marks.rest()), FEED_BYTES)
        });
        let Some(piece) = tail.next().await else { return Ok(Vec::new()) };
        let piece = piece?;
        let at = piece.batch.partition();
        let Some(topic) = self.topics.iter().position(|topic| topic.partition.as_ref() == Some(at)) else {
            return Ok(Vec::new());
        };
        let marks = &mut self.topics[topic].marks;
        let mut told = Vec::new();
        for record in piece.iter() {
            let place = marks.place_of(&record);
            let expected = place.and_then(|place| Some((marks.known(place), self.claims.get(&(topic, place))?)));
            // Another run was there in between: what it may have sent is not known, so the next run will see to it.
            let is_stale = expected.is_some_and(|(known, expected)| known != *expected);
            let Some(applied) = marks.take(&record) else { continue };
            let at = (topic, applied.place);
            if applied.run != Some(self.run.id) || !self.claims.contains_key(&at) {
                continue;
            }
            let claim = match applied.effect {
                Effect::Claimed { .. } if is_stale => Claim::Lost(marks.state(at.1.partition, at.1.offset)),
                Effect::Claimed { .. } => Claim::Won,
                Effect::Void => Claim::Lost(marks.state(at.1.partition, at.1.offset)),
                Effect::Result => continue,
            };
            self.claims.remove(&at);
            told.push((at, claim));
        }
        Ok(told)
    }

    /// The first origin of a dead letter whose record was a replay, as the mark of that replay has it; `None` where there is
    /// no such mark, or it is of another topic's letters.
    pub(super) async fn first_origin(
        &mut self,
        topic: usize,
        letter: &DeadLetter,
    ) -> Result<Option<RecordId>, ReplayError> {
        let (Some(of), Some(id), Some(at)) = (&letter.replay_of, letter.replay_id, letter.origin.record()) else {
            return Ok(None);
        };
        let Some(of) = marks::parse_record(of) else { return Ok(None) };
        let place = Place::new(of.partition.partition(), of.offset);
        let name = of.partition.topic();
        let vouched =
            |mark: Option<Mark>| mark.filter(|mark| mark.vouches_for(id, &at)).and_then(|mark| mark.lineage?.origin);
        let own = self.topics.iter().find(|topic| &**topic.marks.dead_letters() == name).map(|topic| &topic.marks);
        if let Some(marks) = own
            && let Some(origin) = vouched(marks.mark(place, marks.topic_id(), &self.run))
        {
            return Ok(Some(origin));
        }
        // Only marks of the same source are looked at: the headers can be forged.
        let source = vouched_source(self.topics[topic].marks.dead_letters());
        if own.is_none() && (source.is_none() || vouched_source(name) != source) {
            return Ok(None);
        }
        if own.is_some() {
            // What it reads is about to be read a second time, over the same ports.
            self.tail = None;
        }
        // Even where that letter, or its topic, has gone since.
        if !self.origins.contains_key(name) {
            self.origins.insert(name.to_owned(), Origins::read(&self.ports, name).await?);
        }
        let Some(origins) = self.origins.get_mut(name) else { return Ok(None) };
        Ok(vouched(origins.mark(place).await?))
    }
}

/// Records, in batches that brokers take.
#[derive(Default)]
struct Batches {
    all: Vec<Vec<ProducerRecord>>,
    /// How large the last one is.
    bytes: usize,
}

/// Below the broker's default limit, in bytes.
const BATCH_BYTES: usize = 512 * 1024;

impl Batches {
    fn push(&mut self, record: ProducerRecord) {
        let bytes = record.key.as_ref().map_or(0, |it| it.len()) + record.value.as_ref().map_or(0, |it| it.len()) + 64;
        match self.all.last_mut() {
            Some(last) if self.bytes + bytes <= BATCH_BYTES => {
                last.push(record);
                self.bytes += bytes;
            }
            _ => {
                self.all.push(vec![record]);
                self.bytes = bytes;
            }
        }
    }
}

/// Whether a topic that was just made may not have a leader yet.
fn is_passing(error: &ReplayError) -> bool {
    matches!(error, ReplayError::Broker(error) if error.is_retriable())
}
