use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use uuid::Uuid;

use super::ledger::Ledger;
use crate::broker::Ports;
use crate::record::{RecordId, TopicPartition};
use crate::replay::entry::Entry;
use crate::replay::filter::Filter;
use crate::replay::marks::Index;
use crate::replay::reading::{Piece, RangeReader, Span};
use crate::replay::scan::{Topic, is_damaged};
use crate::replay::sight::Sight;
use crate::replay::{ReplayError, Selection, State, States};

/// How much is fetched ahead per partition, in bytes.
const FEED_BYTES: usize = 1 << 20;
/// Letters of one partition that are no farther apart than this are fetched together.
const NEAR: i64 = 500;

/// The letters that are meant, in the order in which they are to be sent.
///
/// Partition number by partition number: a record's dead letters have its partition in all topics that its failures lead to.
/// Within one, the topics are merged by source offset, so that records of one source partition come in their order as far as
/// each topic has them in it.
pub(super) struct Letters {
    ports: Ports,
    lanes: VecDeque<Vec<Stream>>,
    /// What is meant, whatever became of it: that is looked at when its turn comes, since other runs go on.
    filter: Filter,
    states: States,
    unreadable: u64,
}

/// What is read of one partition.
struct Stream {
    topic: usize,
    partition: TopicPartition,
    topic_id: Option<Uuid>,
    spans: VecDeque<Span>,
    /// The places that are meant; `None` for all in the spans.
    wanted: Option<BTreeSet<i64>>,
    reader: Option<RangeReader>,
    piece: Option<(Piece, Range<usize>)>,
    head: Option<Letter>,
}

/// A letter that is meant.
pub(super) enum Letter {
    /// The number of its topic among those that are replayed, and what it is. Its state is to be looked up.
    There(usize, Box<Entry>),
    /// There is none at this place.
    Missing(RecordId),
}

impl Letters {
    /// Looks up what there is to be read now: so what a replay adds, since its record fails again, is not read.
    pub(super) async fn find(
        (ports, ledger): (&Ports, &Ledger),
        selection: &Selection,
        again: bool,
    ) -> Result<Self, ReplayError> {
        let mut lanes: BTreeMap<i32, Vec<Stream>> = BTreeMap::new();
        let filter = match selection {
            Selection::Matching(filter) if again && filter.states == States::Unresolved => {
                Filter { states: States::All, ..filter.clone() }
            }
            Selection::Matching(filter) => filter.clone(),
            Selection::These(_) => Filter { states: States::All, ..Filter::default() },
        };
        for (number, name) in ledger.topics().enumerate() {
            let topic = Topic::find(ports, name).await?;
            let mut wanted = wanted(selection, &topic)?;
            for mut span in topic.spans(ports, filter.since).await? {
                let at = span.partition.clone();
                let partition = at.partition();
                let (wanted, spans) = match &mut wanted {
                    None => {
                        if filter.states == States::Unresolved {
                            let marks = ledger.marks(number);
                            span.start = marks.first_unresolved(partition, span.start, span.end);
                        }
                        (None, VecDeque::from([span]))
                    }
                    Some(wanted) => {
                        let Some(offsets) = wanted.remove(&partition) else { continue };
                        let spans = near(&offsets, &span);
                        (Some(offsets), spans)
                    }
                };
                let stream = Stream::new((number, topic.id), at, (spans, wanted));
                lanes.entry(partition).or_default().push(stream);
            }
            // Partitions that the topic does not have.
            for (partition, offsets) in wanted.into_iter().flatten() {
                let at = TopicPartition::new(Arc::clone(name), partition);
                let stream = Stream::new((number, topic.id), at, (VecDeque::new(), Some(offsets)));
                lanes.entry(partition).or_default().push(stream);
            }
        }
        let lanes = lanes.into_values().collect();
        let states = filter.states;
        let filter = Filter { states: States::All, ..filter };
        Ok(Self { ports: ports.clone(), lanes, filter, states, unreadable: 0 })
    }

    /// The next letter; `None` after the last. Nothing is lost where the future is dropped.
    pub(super) async fn next(&mut self) -> Result<Option<Letter>, ReplayError> {
        while let Some(lane) = self.lanes.front_mut() {
            for stream in lane.iter_mut() {
                stream.fill(&self.ports, &self.filter, &mut self.unreadable).await?;
            }
            lane.retain(|stream| stream.head.is_some());
            let first = lane.iter_mut().min_by(|one, other| order(&one.head).cmp(&order(&other.head)));
            if let Some(stream) = first {
                return Ok(stream.head.take());
            }
            self.lanes.pop_front();
        }
        Ok(None)
    }

    /// Whether letters in this state are meant.
    pub(super) fn include(&self, state: &State) -> bool {
        self.states.include(state.is_resolved())
    }

    /// How many ranges of the logs were damaged.
    pub(super) fn unreadable(&self) -> u64 {
        self.unreadable
    }
}

/// The places of a topic that are named, by partition; `None` for all.
fn wanted(selection: &Selection, topic: &Topic) -> Result<Option<BTreeMap<i32, BTreeSet<i64>>>, ReplayError> {
    let Selection::These(places) = selection else { return Ok(None) };
    let mut wanted: BTreeMap<i32, BTreeSet<i64>> = BTreeMap::new();
    for place in places.iter().filter(|place| place.partition.topic() == &*topic.name) {
        if let (Some(asked), Some(found)) = (place.topic_id, topic.id)
            && asked != found
        {
            return Err(ReplayError::OtherTopic { at: place.to_string(), asked, found });
        }
        wanted.entry(place.partition.partition()).or_default().insert(place.offset);
    }
    Ok(Some(wanted))
}

/// What is to be fetched for some offsets of a partition, as far as there is anything.
fn near(offsets: &BTreeSet<i64>, all: &Span) -> VecDeque<Span> {
    let mut spans: VecDeque<Span> = VecDeque::new();
    for &offset in offsets.range(all.start..all.end.max(all.start)) {
        match spans.back_mut() {
            Some(last) if offset - last.end <= NEAR => last.end = offset + 1,
            _ => spans.push_back(Span { start: offset, end: offset + 1, ..all.clone() }),
        }
    }
    spans
}

/// By what letters of one partition number are merged.
fn order(letter: &Option<Letter>) -> Option<(Option<&str>, Option<i32>, Option<i64>)> {
    match letter {
        Some(Letter::There(_, entry)) => {
            let origin = &entry.letter.origin;
            Some((origin.topic.as_deref(), origin.partition, origin.offset))
        }
        _ => None,
    }
}

impl Stream {
    fn new(
        (topic, topic_id): (usize, Option<Uuid>),
        partition: TopicPartition,
        (spans, wanted): (VecDeque<Span>, Option<BTreeSet<i64>>),
    ) -> Self {
        Self { topic, partition, topic_id, spans, wanted, reader: None, piece: None, head: None }
    }

    /// Goes on to the next letter that is meant, if it is not there yet.
    async fn fill(&mut self, ports: &Ports, filter: &Filter, unreadable: &mut u64) -> Result<(), ReplayError> {
        let unmarked = Index::default();
        while self.head.is_none() {
            if let Some((piece, left)) = &mut self.piece {
                let record = left.next().and_then(|index| piece.batch.get(index));
                let Some(record) = record else {
                    self.piece = None;
                    continue;
                };
                let named = self.wanted.as_mut().is_none_or(|wanted| wanted.remove(&record.offset()));
                let sight = Sight::new(&record, &unmarked);
                if named && sight.fits(filter) {
                    self.head = Some(Letter::There(self.topic, Box::new(sight.into_entry())));
                }
                continue;
            }
            if self.reader.is_none() {
                let Some(span) = self.spans.front() else {
                    self.head = self.missing();
                    return Ok(());
                };
                self.reader = Some(RangeReader::new(ports, [span.clone()], FEED_BYTES));
            }
            let Some(reader) = &mut self.reader else { continue };
            match reader.next().await {
                Some(piece) => {
                    let piece = piece?;
                    if is_damaged(&piece) {
                        *unreadable += 1;
                        continue;
                    }
                    let records = piece.records.clone();
                    self.piece = Some((piece, records));
                }
                None => {
                    self.reader = None;
                    self.spans.pop_front();
                }
            }
        }
        Ok(())
    }

    /// The next of the places that are named and were not there, when all is read.
    fn missing(&mut self) -> Option<Letter> {
        let offset = self.wanted.as_mut()?.pop_first()?;
        Some(Letter::Missing(RecordId { topic_id: self.topic_id, partition: self.partition.clone(), offset }))
    }
}
