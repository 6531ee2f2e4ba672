use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::error::ReplayError;
use crate::broker::{BrokerError, Feed, Ports, Source, SourceProblem};
use crate::record::{Record, RecordBatch, TopicPartition};

/// What is to be read of a partition: offsets from `start` up to `end`, exclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) partition: TopicPartition,
    pub(crate) topic_id: Option<Uuid>,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

impl Span {
    /// The end of a span that is read for as long as somebody wants it.
    pub(crate) const ENDLESS: i64 = i64::MAX;
}

/// How long reading may fail, or say nothing, without a break before that is an error: people wait for the answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a log must have nothing more to read, below the end of a span, before the rest counts as undecided: records of
/// an open transaction. Most are decided in less.
const UNDECIDED: Duration = Duration::from_secs(1);
/// How often that is looked at while nothing comes.
const LOOK: Duration = Duration::from_millis(100);

/// Reads spans of partitions side by side; in memory are at most as many bytes per partition as its feed may hold, and one
/// batch. A source reads each partition once at a time: two readers need two sources.
///
/// A span ends at its end, or where committed records end: what an open transaction wrote is nobody's yet. Retention that
/// overtakes the reader lets it go on where the log begins then.
pub(crate) struct RangeReader {
    source: Arc<dyn Source>,
    open: VecDeque<Reading>,
    feed_bytes: usize,
    shared: Arc<Shared>,
    has_left: bool,
}

#[derive(Default)]
struct Shared {
    ready: Notify,
    problems: Mutex<VecDeque<(TopicPartition, SourceProblem)>>,
}

struct Reading {
    span: Span,
    feed: Arc<Feed>,
    /// Since when reading has failed, and why.
    failing: Option<(Instant, BrokerError)>,
    /// Since when there is nothing more to read below the end of the span.
    drained: Option<Instant>,
    /// Where the log begins now, where what was asked for has gone.
    moved_to: Option<i64>,
}

/// What came of a look at the feeds.
enum Taken {
    Piece(Piece),
    /// Batches without records in their span.
    Progress,
    Nothing,
}

/// Records that were read, in offset order.
pub(crate) struct Piece {
    pub(crate) batch: RecordBatch,
    /// Which of its records lie in the span.
    pub(crate) records: Range<usize>,
}

impl Piece {
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Record> + '_ {
        self.records.clone().filter_map(|index| self.batch.get(index))
    }
}

impl RangeReader {
    /// Starts to read; `feed_bytes` is how much is fetched ahead per partition.
    pub(crate) fn new(ports: &Ports, spans: impl IntoIterator<Item = Span>, feed_bytes: usize) -> Self {
        let source = Arc::clone(&ports.source);
        let mut reader = Self { source, open: VecDeque::new(), feed_bytes, shared: Arc::default(), has_left: false };
        for span in spans.into_iter().filter(|span| span.start < span.end) {
            reader.add(span);
        }
        reader
    }

    /// The next records of some partition; `None` once all spans are read. Nothing is lost where the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Result<Piece, ReplayError>> {
        let mut since = Instant::now();
        loop {
            // Before the look at the feeds, so that nothing is missed in between.
            let shared = Arc::clone(&self.shared);
            let ready = shared.ready.notified();
            while let Some((partition, problem)) = self.problem() {
                if let Err(error) = self.meet(&partition, problem) {
                    self.close();
                    return Some(Err(error));
                }
            }
            match self.take() {
                Taken::Piece(piece) => return Some(Ok(piece)),
                Taken::Progress => since = Instant::now(),
                Taken::Nothing => {}
            }
            self.end_undecided();
            if self.open.is_empty() {
                return None;
            }
            let Some((deadline, error)) = self.deadline(since) else {
                ready.await;
                continue;
            };
            let _ = timeout_at(deadline.min(Instant::now() + LOOK), ready).await;
            if Instant::now() >= deadline {
                self.close();
                return Some(Err(error));
            }
        }
    }

    /// Whether something was left unread since it was not decided.
    pub(crate) fn has_left(&self) -> bool {
        self.has_left
    }

    fn add(&mut self, span: Span) {
        let (shared, name) = (Arc::clone(&self.shared), span.partition.clone());
        let feed = Feed::new(span.partition.clone(), self.feed_bytes, move |problem| {
            shared.problems.lock().unwrap_or_else(PoisonError::into_inner).push_back((name.clone(), problem));
            shared.ready.notify_one();
        });
        let feed = Arc::new(feed.until(span.end));
        let shared = Arc::clone(&self.shared);
        feed.on_ready(move || shared.ready.notify_one());
        self.source.add(span.partition.clone(), span.topic_id, span.start, Arc::clone(&feed));
        self.open.push_back(Reading { span, feed, failing: None, drained: None, moved_to: None });
    }

    fn problem(&self) -> Option<(TopicPartition, SourceProblem)> {
        self.shared.problems.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Takes the next batch that has records in its span, of each partition in turn.
    fn take(&mut self) -> Taken {
        let (mut untouched, mut progress) = (self.open.len(), false);
        while untouched > 0
            && let Some(mut reading) = self.open.pop_front()
        {
            let Some(batch) = reading.feed.front() else {
                match reading.moved_to {
                    // All that was fetched before is taken.
                    Some(start) => {
                        self.end(&reading);
                        if start < reading.span.end {
                            self.add(Span { start, ..reading.span });
                        }
                    }
                    None => self.open.push_back(reading),
                }
                untouched -= 1;
                continue;
            };
            reading.feed.pop_front();
            (progress, reading.drained) = (true, None);
            let records = batch.index_of(reading.span.start)..batch.index_of(reading.span.end);
            reading.span.start = reading.span.start.max(batch.next_offset());
            if reading.span.start < reading.span.end {
                self.open.push_back(reading);
            } else {
                self.end(&reading);
            }
            if !records.is_empty() {
                return Taken::Piece(Piece { batch, records });
            }
            untouched = self.open.len();
        }
        if progress { Taken::Progress } else { Taken::Nothing }
    }

    fn meet(&mut self, partition: &TopicPartition, problem: SourceProblem) -> Result<(), ReplayError> {
        let Some(reading) = self.open.iter_mut().find(|reading| reading.span.partition == *partition) else {
            return Ok(());
        };
        let problem = match problem {
            // Nobody grants a right while somebody waits for an answer.
            SourceProblem::Retrying(error) if error.code().is_some_and(|code| code.is_authorization()) => {
                return Err(error.into());
            }
            SourceProblem::Retrying(error) => {
                tracing::warn!(%partition, "reading fails for now, trying again: {error}");
                reading.failing = Some((Instant::now(), error));
                return Ok(());
            }
            SourceProblem::Recovered => {
                reading.failing = None;
                return Ok(());
            }
            // What was to be read next has gone by retention.
            SourceProblem::OffsetOutOfRange { asked, log_start: Some(start), .. } if start > asked => {
                reading.moved_to = Some(start);
                return Ok(());
            }
            SourceProblem::Failed(error) => return Err(error.into()),
            SourceProblem::TopicRecreated => "the topic was deleted and created anew".to_owned(),
            SourceProblem::LogTruncated { diverged_at, .. } => {
                format!("the log was cut back to offset {diverged_at} by a change of its leader")
            }
            SourceProblem::OffsetOutOfRange { asked, .. } => format!("offset {asked} is no longer in the log"),
        };
        Err(ReplayError::Changed { partition: partition.clone(), problem })
    }

    /// Ends spans whose rest cannot be read: it was not decided when the broker last answered, long after the end was asked
    /// for.
    fn end_undecided(&mut self) {
        let now = Instant::now();
        for index in (0..self.open.len()).rev() {
            let Reading { span, feed, drained, .. } = &mut self.open[index];
            let nothing_more = feed.log_end().is_some_and(|end| end <= span.start) && feed.front().is_none();
            if !nothing_more || span.end == Span::ENDLESS {
                *drained = None;
            } else if now >= *drained.get_or_insert(now) + UNDECIDED {
                let Span { partition, start, end, .. } = span;
                tracing::warn!(%partition, start, end, "these offsets are not read: a transaction there is still open");
                self.has_left = true;
                if let Some(reading) = self.open.remove(index) {
                    self.end(&reading);
                }
            }
        }
    }

    /// Until when records are waited for, and the error past that: of failures, or of nothing that has come `since`. `None`
    /// where spans have no end: they are waited for through anything.
    fn deadline(&self, since: Instant) -> Option<(Instant, ReplayError)> {
        let bounded = || self.open.iter().filter(|reading| reading.span.end != Span::ENDLESS);
        let failing = bounded().filter_map(|reading| reading.failing.as_ref()).min_by_key(|(since, _)| *since);
        if let Some((since, error)) = failing {
            return Some((*since + PATIENCE, error.clone().into()));
        }
        let Span { partition, start, end, .. } = bounded().next()?.span.clone();
        Some((since + PATIENCE, ReplayError::Stalled { partition, offset: start, end }))
    }

    fn end(&self, reading: &Reading) {
        self.source.remove(&reading.span.partition);
        reading.feed.close();
    }

    fn close(&mut self) {
        while let Some(reading) = self.open.pop_front() {
            self.end(&reading);
        }
    }
}

impl Drop for RangeReader {
    fn drop(&mut self) {
        self.close();
    }
}
