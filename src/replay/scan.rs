use std::ops::ControlFlow;
use std::sync::Arc;

use uuid::Uuid;

use super::error::ReplayError;
use super::filter::Filter;
use super::letters::DeadLetters;
use super::marks::{Index, Marks, SUFFIX};
use super::reading::{Piece, RangeReader, Span};
use super::sight::Sight;
use crate::broker::{OffsetSpec, Ports, TopicMetadata};
use crate::record::TopicPartition;

/// How much is fetched ahead per partition, in bytes.
const FEED_BYTES: usize = 4 << 20;
/// How much is fetched ahead for all partitions of a topic together, at most; each has at least [`FEED_LEAST`].
const FEEDS_BYTES: usize = 64 << 20;
const FEED_LEAST: usize = 256 << 10;

/// A dead-letter topic as it was found.
pub(super) struct Topic {
    pub(super) name: Arc<str>,
    pub(super) id: Option<Uuid>,
    pub(super) partitions: i32,
}

/// Takes the dead letters that a filter means, of each partition in ascending order.
pub(super) trait Collect: Send {
    /// One of them.
    fn take(&mut self, sight: Sight<'_>) -> ControlFlow<()>;

    /// Those that were taken since the last call are about to go from memory.
    fn end_piece(&mut self) {}
}

/// What came of going through a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gone {
    /// How many ranges of the log were damaged, and passed over.
    pub(super) unreadable: u64,
    /// Whether the collector wants no more.
    pub(super) stopped: bool,
}

impl Topic {
    /// Looks at the topic: whether it is there, may be read, and is one of dead letters.
    pub(super) async fn find(ports: &Ports, name: &Arc<str>) -> Result<Self, ReplayError> {
        let found = ports.admin.topics(vec![name.to_string()]).await?.pop().flatten();
        let Some(TopicMetadata { id, partitions, operations, .. }) = found else {
            return Err(ReplayError::NoSuchTopic { topic: name.to_string() });
        };
        if operations.is_some_and(|operations| !operations.may_read()) {
            return Err(ReplayError::NotAllowed { topic: name.to_string() });
        }
        if let Some(dead_letters) = name.strip_suffix(SUFFIX).filter(|rest| !rest.is_empty())
            && is_compacted(ports, name).await
        {
            return Err(ReplayError::ReplaysTopic { topic: name.to_string(), dead_letters: dead_letters.to_owned() });
        }
        Ok(Self { name: Arc::clone(name), id, partitions })
    }

    /// What there is to be read now, of each partition: all up to the end, from `since` on where that is given.
    pub(super) async fn spans(&self, ports: &Ports, since: Option<i64>) -> Result<Vec<Span>, ReplayError> {
        let of_all = |spec: OffsetSpec| {
            (0..self.partitions).map(move |number| (TopicPartition::new(Arc::clone(&self.name), number), spec))
        };
        // What was published before 1970 is nobody's question, and the protocol has no way to ask it.
        let start = since.filter(|since| *since > 0).map_or(OffsetSpec::Earliest, OffsetSpec::Timestamp);
        let asked = of_all(start).chain(of_all(OffsetSpec::Latest)).collect();
        let mut starts = ports.admin.offsets(asked).await?;
        let ends = starts.split_off(starts.len() / 2);
        let bounds = starts.into_iter().zip(ends);
        let spans = of_all(start).zip(bounds).map(|((partition, _), (start, end))| Span {
            partition,
            topic_id: self.id,
            start,
            end,
        });
        Ok(spans.collect())
    }

    /// Goes through `spans` and hands over what the filter means.
    pub(super) async fn go_through(
        &self,
        ports: &Ports,
        spans: Vec<Span>,
        (filter, marks): (&Filter, &Index),
        collector: &mut impl Collect,
    ) -> Result<Gone, ReplayError> {
        let feed_bytes = (FEEDS_BYTES / spans.len().max(1)).clamp(FEED_LEAST, FEED_BYTES);
        let mut reader = RangeReader::new(ports, spans, feed_bytes);
        let mut gone = Gone { unreadable: 0, stopped: false };
        while let Some(piece) = reader.next().await {
            let piece = piece?;
            if is_damaged(&piece) {
                gone.unreadable += 1;
                continue;
            }
            let flow = hand_over(&piece, filter, marks, collector);
            collector.end_piece();
            if flow.is_break() {
                gone.stopped = true;
                break;
            }
        }
        Ok(gone)
    }
}

async fn is_compacted(ports: &Ports, topic: &str) -> bool {
    // Who may not ask is told by the name alone.
    let policy = ports.admin.topic_config(topic.to_owned(), "cleanup.policy".to_owned()).await;
    policy.map_or(true, |policy| policy.is_none_or(|policy| policy.contains("compact")))
}

/// Whether the piece stands for a range of the log that cannot be read; that is told to the log.
pub(super) fn is_damaged(piece: &Piece) -> bool {
    let batch = &piece.batch;
    let Some(reason) = batch.damage() else { return false };
    let offset = batch.get(0).map(|record| record.offset());
    let (partition, next) = (batch.partition(), batch.next_offset());
    tracing::warn!(%partition, offset, next, "these offsets cannot be read and are left out: {reason}");
    true
}

fn hand_over(piece: &Piece, filter: &Filter, marks: &Index, collector: &mut impl Collect) -> ControlFlow<()> {
    for record in piece.iter() {
        let sight = Sight::new(&record, marks);
        if sight.fits(filter) {
            collector.take(sight)?;
        }
    }
    ControlFlow::Continue(())
}

impl DeadLetters {
    /// Goes through one topic from its start, or from the filter's `since`, to the end that it has now.
    pub(super) async fn scan(
        &self,
        name: &Arc<str>,
        filter: &Filter,
        collector: &mut impl Collect,
    ) -> Result<Gone, ReplayError> {
        let topic = Topic::find(&self.ports, name).await?;
        let marks = Marks::read(&self.ports, name).await?;
        // The ends after the marks: what a run resolves meanwhile may still be told as unresolved, never the reverse.
        let spans = topic.spans(&self.ports, filter.since).await?;
        topic.go_through(&self.ports, spans, (filter, &marks), collector).await
    }
}
