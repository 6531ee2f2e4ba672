use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use uuid::Uuid;

use super::index::{Effect, Index};
use super::mark::Mark;
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
    numbers_only: bool,
    index: Index,
    unreadable: u64,
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
        Self::read_as(ports, dead_letters, false).await
    }

    async fn read_as(ports: &Ports, dead_letters: &str, numbers_only: bool) -> Result<Self, ReplayError> {
        let mut marks = Self {
            ports: ports.clone(),
            dead_letters: dead_letters.into(),
            topic_id: None,
            starts: Vec::new(),
            partition: TopicPartition::new(marks_topic(dead_letters), 0),
            marks_id: None,
            position: 0,
            numbers_only,
            index: Index::new(numbers_only),
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
        let anew = self.topic_id != before.0 || before.1.is_some_and(|id| Some(id) != self.marks_id);
        if anew {
            *self = Self::read_as(&self.ports, &self.dead_letters, self.numbers_only).await?;
            return Ok(());
        }
        self.read_on().await
    }

    /// Asks what the topics are now.
    async fn look(&mut self) -> Result<(), ReplayError> {
        let names = vec![self.dead_letters.to_string(), self.partition.topic().to_owned()];
        let mut found = self.ports.admin.topics(names).await?.into_iter();
        let (dead_letters, marks) = (found.next().flatten(), found.next().flatten());
        let Some(dead_letters) = dead_letters else {
            return Err(ReplayError::NoSuchTopic { topic: self.dead_letters.to_string() });
        };
        let partition = |number| TopicPartition::new(Arc::clone(&self.dead_letters), number);
        let starts = (0..dead_letters.partitions).map(|number| (partition(number), OffsetSpec::Earliest)).collect();
        self.starts = self.ports.admin.offsets(starts).await?;
        self.topic_id = dead_letters.id;
        self.marks_id = marks.map(|marks| marks.id);
        Ok(())
    }

    async fn read_on(&mut self) -> Result<(), ReplayError> {
        let Some(topic_id) = self.marks_id else { return Ok(()) };
        let asked = [OffsetSpec::Earliest, OffsetSpec::Latest].map(|spec| (self.partition.clone(), spec)).to_vec();
        let offsets = self.ports.admin.offsets(asked).await?;
        let [start, end] = offsets[..] else { return Ok(()) };
        let span = Span { partition: self.partition.clone(), topic_id, start: start.max(self.position), end };
        let before = self.unreadable;
        let mut reader = RangeReader::new(&self.ports, [span], FEED_BYTES);
        while let Some(piece) = reader.next().await {
            for record in piece?.iter() {
                self.take(&record);
            }
        }
        // Where the last ones are compacted away or of an aborted transaction.
        self.position = self.position.max(end);
        if self.unreadable > before {
            tracing::warn!(
                topic = self.partition.topic(),
                count = self.unreadable - before,
                "records that are no replay marks of version 1 were ignored: were they written by a later version of Bezoar?"
            );
        }
        Ok(())
    }

    /// Where to read on from, for a reader that goes on; `None` where there is no marks topic yet.
    pub(crate) fn rest(&self) -> Option<Span> {
        let topic_id = self.marks_id?;
        Some(Span { partition: self.partition.clone(), topic_id, start: self.position, end: i64::MAX })
    }

    /// Takes the next record of the marks topic; `None` where it says nothing of a letter that is there.
    pub(crate) fn take(&mut self, record: &Record) -> Option<Applied> {
        self.position = record.offset() + 1;
        let place = record.key().and_then(|key| Place::of_key(key, &self.dead_letters));
        let mark = record.value().map(Mark::from_json);
        let (Some(place), Some(Some(_)) | None) = (place, &mark) else {
            self.unreadable += 1;
            return None;
        };
        let mark = mark.flatten();
        let start = usize::try_from(place.partition).ok().and_then(|partition| self.starts.get(partition));
        if start.is_none_or(|start| place.offset < *start) {
            return None;
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

    /// The dead-letter topic.
    pub(crate) fn dead_letters(&self) -> &Arc<str> {
        &self.dead_letters
    }

    /// The id of the dead-letter topic.
    pub(crate) fn topic_id(&self) -> Option<Uuid> {
        self.topic_id
    }

    /// The first offset of each partition of the dead-letter topic, when it was looked at last.
    pub(crate) fn starts(&self) -> &[i64] {
        &self.starts
    }

    /// The offset after the last mark that was read.
    pub(crate) fn position(&self) -> i64 {
        self.position
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

impl DerefMut for Marks {
    fn deref_mut(&mut self) -> &mut Index {
        &mut self.index
    }
}

/// How many letters are resolved, and nothing else: next to no memory.
#[derive(Debug)]
pub(crate) struct Resolved(Marks);

impl Resolved {
    /// As [`Marks::read`].
    pub(crate) async fn read(ports: &Ports, dead_letters: &str) -> Result<Self, ReplayError> {
        Marks::read_as(ports, dead_letters, true).await.map(Self)
    }

    /// As [`Marks::refresh`].
    pub(crate) async fn refresh(&mut self) -> Result<(), ReplayError> {
        self.0.refresh().await
    }

    /// How many letters of a range are resolved.
    pub(crate) fn resolved(&self, partition: i32, range: std::ops::Range<i64>) -> u64 {
        self.0.index.resolved(partition, range)
    }

    /// The first offset from `from` on that is not resolved, at most `end`.
    pub(crate) fn first_unresolved(&self, partition: i32, from: i64, end: i64) -> i64 {
        self.0.index.first_unresolved(partition, from, end)
    }
}
