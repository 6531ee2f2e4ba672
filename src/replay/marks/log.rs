use std::ops::{Deref, Range};
use std::sync::Arc;

use uuid::Uuid;

use super::index::{Effect, Index};
use super::mark::{Mark, RunId};
use super::place::Place;
use super::topic::marks_topic;
use crate::broker::{OffsetSpec, Ports};
use crate::record::{Record, TopicPartition};
use crate::replay::reading::{RangeReader, Span};
use crate::replay::{ReplayError, State};

/// How much is fetched ahead, in bytes.
pub(crate) const FEED_BYTES: usize = 1 << 20;

/// The marks of one dead-letter topic, as far as they are read. Marks of letters that retention has removed are left out.
#[derive(Debug)]
pub(crate) struct Marks {
    ports: Ports,
    dead_letters: Arc<str>,
    /// The id of the dead-letter topic.
    topic_id: Option<Uuid>,
    /// The first offset of each partition of the dead-letter topic.
    starts: Vec<i64>,
    partition: TopicPartition,
    /// The id of the marks topic; `None` within where the broker has none.
    marks_id: Option<Option<Uuid>>,
    position: i64,
    purpose: Purpose,
    index: Index,
    unreadable: u64,
}

/// What marks are read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// What became of letters that are there.
    States,
    /// How many of those are resolved.
    Numbers,
    /// The origins of records that were replayed, even from letters or topics that have gone since.
    Origins,
}

/// A mark that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) place: Place,
    /// The run that wrote it; `None` where the mark was taken back.
    pub(crate) run: Option<Uuid>,
    pub(crate) effect: Effect,
}

impl Marks {
    /// Reads the marks of a dead-letter topic up to their end now; none where nothing of it was ever replayed.
    pub(crate) async fn read(ports: &Ports, dead_letters: &str) -> Result<Self, ReplayError> {
        Self::read_for(ports, dead_letters, Purpose::States).await
    }

    async fn read_for(ports: &Ports, dead_letters: &str, purpose: Purpose) -> Result<Self, ReplayError> {
        let mut marks = Self {
            ports: ports.clone(),
            dead_letters: dead_letters.into(),
            topic_id: None,
            starts: Vec::new(),
            partition: TopicPartition::new(marks_topic(dead_letters), 0),
            marks_id: None,
            position: 0,
            purpose,
            index: Index::new(purpose == Purpose::Numbers, (purpose == Purpose::Origins).then_some(ORIGINS)),
            unreadable: 0,
        };
        marks.look().await?;
        marks.read_on().await?;
        Ok(marks)
    }

    /// Reads what has come since. Where the dead-letter topic or the marks topic was made anew, all from the start.
    pub(crate) async fn refresh(&mut self) -> Result<(), ReplayError> {
        let before = (self.topic_id, self.marks_id);
        self.look().await?;
        let anew = (self.topic_id != before.0 && self.purpose != Purpose::Origins)
            || before.1.is_some_and(|id| Some(id) != self.marks_id);
        if anew {
            // Until that is done it stays what it was: else a failure would leave old marks under new ids for good.
            (self.topic_id, self.marks_id) = before;
            *self = Self::read_for(&self.ports, &self.dead_letters, self.purpose).await?;
            return Ok(());
        }
        self.read_on().await
    }

    /// Asks what the topics are now.
    async fn look(&mut self) -> Result<(), ReplayError> {
        let names = vec![self.dead_letters.to_string(), self.partition.topic().to_owned()];
        let mut found = self.ports.admin.topics(names).await?.into_iter();
        let (dead_letters, marks) = (found.next().flatten(), found.next().flatten());
        let marks_id = marks.map(|marks| marks.id);
        if self.purpose == Purpose::Origins {
            self.marks_id = marks_id;
            return Ok(());
        }
        let Some(dead_letters) = dead_letters else {
            return Err(ReplayError::NoSuchTopic { topic: self.dead_letters.to_string() });
        };
        let partition = |number| TopicPartition::new(Arc::clone(&self.dead_letters), number);
        let starts = (0..dead_letters.partitions).map(|number| (partition(number), OffsetSpec::Earliest)).collect();
        self.starts = self.ports.admin.offsets(starts).await?;
        // Together, and after all that can fail: by them it is seen that a topic was made anew.
        (self.topic_id, self.marks_id) = (dead_letters.id, marks_id);
        Ok(())
    }

    async fn read_on(&mut self) -> Result<(), ReplayError> {
        let Some((mut reader, end)) = self.reader(self.position).await? else { return Ok(()) };
        let before = self.unreadable;
        while let Some(piece) = reader.next().await {
            for record in piece?.iter() {
                self.take(&record);
            }
        }
        // Where the last ones are compacted away or of an aborted transaction. What is not decided is read when it is.
        if !reader.has_left() {
            self.position = self.position.max(end);
        }
        if self.unreadable > before {
            tracing::warn!(
                topic = self.partition.topic(),
                count = self.unreadable - before,
                "records that are no replay marks of version 1 were ignored: were they written by a later version of Bezoar?"
            );
        }
        Ok(())
    }

    /// Reads the marks topic from an offset on to the end that it has now.
    async fn reader(&self, from: i64) -> Result<Option<(RangeReader, i64)>, ReplayError> {
        let Some(topic_id) = self.marks_id else { return Ok(None) };
        let asked = [OffsetSpec::Earliest, OffsetSpec::Latest].map(|spec| (self.partition.clone(), spec)).to_vec();
        let offsets = self.ports.admin.offsets(asked).await?;
        let [start, end] = offsets[..] else { return Ok(None) };
        let span = Span { partition: self.partition.clone(), topic_id, start: start.max(from), end };
        Ok(Some((RangeReader::new(&self.ports, [span], FEED_BYTES), end)))
    }

    /// Where to read on from, for a reader that goes on; `None` where there is no marks topic yet.
    pub(crate) fn rest(&self) -> Option<Span> {
        let topic_id = self.marks_id?;
        Some(Span { partition: self.partition.clone(), topic_id, start: self.position, end: i64::MAX })
    }

    /// Takes the next record of the marks topic; `None` where it says nothing of a letter that is there.
    pub(crate) fn take(&mut self, record: &Record) -> Option<Applied> {
        self.position = record.offset() + 1;
        let place = self.place_of(record);
        let mark = record.value().map(Mark::from_json);
        let (Some(place), Some(Some(_)) | None) = (place, &mark) else {
            self.unreadable += 1;
            return None;
        };
        let mark = mark.flatten();
        if self.purpose != Purpose::Origins {
            let start = usize::try_from(place.partition).ok().and_then(|partition| self.starts.get(partition));
            if start.is_none_or(|start| place.offset < *start) {
                return None;
            }
        }
        let Some(mark) = mark else {
            self.index.clear(place);
            return Some(Applied { place, run: None, effect: Effect::Result });
        };
        // Offsets of another topic of the same name mean other letters.
        if let (Some(of), Some(now)) = (mark.topic_id, self.topic_id)
            && of != now
        {
            return None;
        }
        let run = Some(mark.run.id);
        Some(Applied { place, run, effect: self.index.apply(place, mark, record.timestamp()) })
    }

    /// The letter that a record of the marks topic is about.
    pub(crate) fn place_of(&self, record: &Record) -> Option<Place> {
        record.key().and_then(|key| Place::of_key(key, &self.dead_letters))
    }

    /// The dead-letter topic.
    pub(crate) fn dead_letters(&self) -> &Arc<str> {
        &self.dead_letters
    }

    /// The id of the dead-letter topic.
    pub(crate) fn topic_id(&self) -> Option<Uuid> {
        self.topic_id
    }

    /// What became of a dead letter.
    pub(crate) fn state(&self, partition: i32, offset: i64) -> State {
        self.index.state(Place::new(partition, offset))
    }
}

impl Deref for Marks {
    type Target = Index;

    fn deref(&self) -> &Index {
        &self.index
    }
}

/// How many marks are kept for origins. Of those before them, which were dropped, some are fetched again where they are asked
/// for: [`NEARBY`] letters from one on, since records come in the order in which they were replayed.
const ORIGINS: usize = 100_000;
const NEARBY: i64 = 10_000;

/// The marks of one dead-letter topic by which consumers know where replayed records came from first. Bounded in memory: some
/// 20 MB.
#[derive(Debug)]
pub(crate) struct Origins {
    marks: Marks,
    /// Marks that were dropped and fetched again: of letters of a partition within a range.
    again: Option<(i32, Range<i64>, Index)>,
}

impl Origins {
    pub(crate) async fn read(ports: &Ports, dead_letters: &str) -> Result<Self, ReplayError> {
        Ok(Self { marks: Marks::read_for(ports, dead_letters, Purpose::Origins).await?, again: None })
    }

    pub(crate) async fn refresh(&mut self) -> Result<(), ReplayError> {
        self.marks.refresh().await
    }

    /// Whether there is a topic for marks.
    pub(crate) fn exist(&self) -> bool {
        self.marks.marks_id.is_some()
    }

    /// The mark of a letter, as far as is read.
    pub(crate) async fn mark(&mut self, place: Place) -> Result<Option<Mark>, ReplayError> {
        if let Some(mark) = self.marks.index.mark(place, None, &RunId::nobody()) {
            return Ok(Some(mark));
        }
        if !self.marks.index.has_dropped() {
            return Ok(None);
        }
        let is_near = |(partition, range, _): &(i32, Range<i64>, Index)| {
            *partition == place.partition && range.contains(&place.offset)
        };
        if !self.again.as_ref().is_some_and(is_near) {
            self.again = Some(self.fetch(place).await?);
        }
        Ok(self.again.as_ref().and_then(|(_, _, index)| index.mark(place, None, &RunId::nobody())))
    }

    async fn fetch(&self, place: Place) -> Result<(i32, Range<i64>, Index), ReplayError> {
        let range = place.offset..place.offset.saturating_add(NEARBY);
        let mut index = Index::new(false, None);
        if let Some((mut reader, _)) = self.marks.reader(0).await? {
            while let Some(piece) = reader.next().await {
                for record in piece?.iter() {
                    let found = self.marks.place_of(&record);
                    let found = found.filter(|it| it.partition == place.partition && range.contains(&it.offset));
                    let mark = record.value().and_then(Mark::from_json);
                    if let (Some(found), Some(mark)) = (found, mark) {
                        index.apply(found, mark, record.timestamp());
                    }
                }
            }
        }
        Ok((place.partition, range, index))
    }
}

/// How many letters are resolved, and nothing else: next to no memory.
#[derive(Debug)]
pub(crate) struct Resolved(Marks);

impl Resolved {
    /// As [`Marks::read`].
    pub(crate) async fn read(ports: &Ports, dead_letters: &str) -> Result<Self, ReplayError> {
        Marks::read_for(ports, dead_letters, Purpose::Numbers).await.map(Self)
    }

    /// As [`Marks::refresh`].
    pub(crate) async fn refresh(&mut self) -> Result<(), ReplayError> {
        self.0.refresh().await
    }

    /// How many letters of a range are resolved.
    pub(crate) fn resolved(&self, partition: i32, range: Range<i64>) -> u64 {
        self.0.index.resolved(partition, range)
    }

    /// The first offset from `from` on that is not resolved, at most `end`.
    pub(crate) fn first_unresolved(&self, partition: i32, from: i64, end: i64) -> i64 {
        self.0.index.first_unresolved(partition, from, end)
    }
}
