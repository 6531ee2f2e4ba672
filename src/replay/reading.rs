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

/// How long reading may fail without a break before that is an error: people wait for the answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads spans of partitions side by side; in memory are at most as many bytes per partition as its feed may hold, and one
/// batch. A source reads each partition once at a time: two readers need two sources.
pub(crate) struct RangeReader {
    source: Arc<dyn Source>,
    open: VecDeque<Reading>,
    feed_bytes: usize,
    shared: Arc<Shared>,
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
}

/// Records that were read, in offset order.
pub(crate) struct Piece {
    pub(crate) batch: RecordBatch,
    /// Which of its records lie in the span.
    pub(crate) records: Range<usize>,
}

impl Piece {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Record> + '_ {
        self.records.clone().filter_map(|index| self.batch.get(index))
    }
}

impl RangeReader {
    /// Starts to read; `feed_bytes` is how much is fetched ahead per partition.
    pub(crate) fn new(ports: &Ports, spans: impl IntoIterator<Item = Span>, feed_bytes: usize) -> Self {
        let source = Arc::clone(&ports.source);
        let mut reader = Self { source, open: VecDeque::new(), feed_bytes, shared: Arc::default() };
        for span in spans.into_iter().filter(|span| span.start < span.end) {
            reader.add(span);
        }
        reader
    }

    /// The next records of some partition; `None` once all spans are read.
    pub(crate) async fn next(&mut self) -> Option<Result<Piece, ReplayError>> {
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
            if self.open.is_empty() {
                return None;
            }
            if let Some(piece) = self.take() {
                return Some(Ok(piece));
            }
            if self.open.is_empty() {
                return None;
            }
            match self.deadline() {
                None => ready.await,
                Some((deadline, error)) => {
                    if timeout_at(deadline, ready).await.is_err() {
                        self.close();
                        return Some(Err(error.into()));
                    }
                }
            }
        }
    }

    fn add(&mut self, span: Span) {
        let (shared, name) = (Arc::clone(&self.shared), span.partition.clone());
        let feed = Arc::new(Feed::new(span.partition.clone(), self.feed_bytes, move |problem| {
            shared.problems.lock().unwrap_or_else(PoisonError::into_inner).push_back((name.clone(), problem));
            shared.ready.notify_one();
        }));
        let shared = Arc::clone(&self.shared);
        feed.on_ready(move || shared.ready.notify_one());
        self.source.add(span.partition.clone(), span.topic_id, span.start, Arc::clone(&feed));
        self.open.push_back(Reading { span, feed, failing: None });
    }

    fn problem(&self) -> Option<(TopicPartition, SourceProblem)> {
        self.shared.problems.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Takes the next batch that has records in its span, of each partition in turn.
    fn take(&mut self) -> Option<Piece> {
        let mut untouched = self.open.len();
        while untouched > 0
            && let Some(mut reading) = self.open.pop_front()
        {
            let Some(batch) = reading.feed.front() else {
                self.open.push_back(reading);
                untouched -= 1;
                continue;
            };
            reading.feed.pop_front();
            let records = batch.index_of(reading.span.start)..batch.index_of(reading.span.end);
            reading.span.start = reading.span.start.max(batch.next_offset());
            if reading.span.start < reading.span.end {
                self.open.push_back(reading);
            } else {
                self.source.remove(&reading.span.partition);
                reading.feed.close();
            }
            if !records.is_empty() {
                return Some(Piece { batch, records });
            }
            untouched = self.open.len();
        }
        None
    }

    fn meet(&mut self, partition: &TopicPartition, problem: SourceProblem) -> Result<(), ReplayError> {
        let Some(index) = self.open.iter().position(|reading| reading.span.partition == *partition) else {
            return Ok(());
        };
        let reading = &mut self.open[index];
        match problem {
            SourceProblem::Retrying(error) => reading.failing = Some((Instant::now(), error)),
            SourceProblem::Recovered => reading.failing = None,
            // What was to be read first has gone by retention meanwhile.
            SourceProblem::OffsetOutOfRange { asked, log_start: Some(start), .. } if start > asked => {
                let Some(Reading { span, feed, .. }) = self.open.remove(index) else { return Ok(()) };
                // What it holds has gone from the log as well.
                feed.close();
                self.source.remove(partition);
                if start < span.end {
                    self.add(Span { start, ..span });
                }
            }
            SourceProblem::Failed(error) => return Err(error.into()),
            problem => {
                let partition = partition.clone();
                return Err(ReplayError::Changed { partition, problem: format!("{problem:?}") });
            }
        }
        Ok(())
    }

    /// Until when records are waited for, and the error past that; `None` while nothing fails.
    fn deadline(&self) -> Option<(Instant, BrokerError)> {
        let failing = self.open.iter().filter_map(|reading| reading.failing.as_ref());
        failing.min_by_key(|(since, _)| *since).map(|(since, error)| (*since + PATIENCE, error.clone()))
    }

    fn close(&mut self) {
        for reading in self.open.drain(..) {
            self.source.remove(&reading.span.partition);
            reading.feed.close();
        }
    }
}

impl Drop for RangeReader {
    fn drop(&mut self) {
        self.close();
    }
}
