use std::collections::VecDeque;
use std::sync::Arc;

use super::duplicates::Duplicates;
use super::entry::Entry;
use super::error::ReplayError;
use super::filter::Filter;
use super::letters::DeadLetters;
use super::marks::Marks;
use super::reading::{Piece, RangeReader, Span};
use super::scan::{Topic, is_damaged};
use super::sight::Sight;

/// How much is fetched ahead per partition, in bytes.
const FEED_BYTES: usize = 1 << 20;

/// Dead letters as they come. Made by [`DeadLetters::follow`]; dropping it ends the reading.
pub struct Follow {
    reader: RangeReader,
    filter: Filter,
    marks: Vec<(Arc<str>, Marks)>,
    duplicates: Duplicates,
    piece: VecDeque<Entry>,
}

impl Follow {
    /// The next one, as long as that takes. Nothing is lost where the future is dropped.
    ///
    /// A broker that is away is waited for.
    ///
    /// # Errors
    /// Reading cannot go on, as where the topic was deleted and created anew. Nothing comes after that.
    pub async fn next(&mut self) -> Result<Entry, ReplayError> {
        loop {
            if let Some(entry) = self.piece.pop_front() {
                return Ok(entry);
            }
            match self.reader.next().await {
                Some(piece) => self.take(&piece?),
                // Nothing is read: there are no partitions, or reading has failed before.
                None => std::future::pending().await,
            }
        }
    }

    fn take(&mut self, piece: &Piece) {
        if is_damaged(piece) {
            return;
        }
        let topic = piece.batch.partition().topic();
        let Some((_, marks)) = self.marks.iter().find(|(name, _)| **name == *topic) else { return };
        for record in piece.iter() {
            let sight = Sight::new(&record, marks);
            if sight.fits(&self.filter) {
                let mut entry = sight.into_entry();
                self.duplicates.mark(&mut entry);
                self.piece.push_back(entry);
            }
        }
    }
}

impl std::fmt::Debug for Follow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follow").field("filter", &self.filter).finish_non_exhaustive()
    }
}

impl DeadLetters {
    /// Dead letters that fit as they come, of all topics at once: from now on, or from the filter's `since` on where it has one.
    ///
    /// What became of them is as it was when this began: what came since is unresolved. Partitions that a topic is given later
    /// are not followed.
    ///
    /// # Errors
    /// As for [`list`](Self::list).
    pub async fn follow(&self, filter: &Filter) -> Result<Follow, ReplayError> {
        let (mut spans, mut marks) = (Vec::new(), Vec::new());
        for name in &self.topics {
            let topic = Topic::find(&self.ports, name).await?;
            marks.push((Arc::clone(name), Marks::read(&self.ports, name).await?));
            let found = topic.spans(&self.ports, filter.since).await?.into_iter();
            spans.extend(found.map(|span| {
                let start = if filter.since.is_some() { span.start } else { span.end };
                Span { start, end: Span::ENDLESS, ..span }
            }));
        }
        let reader = RangeReader::new(&self.ports, spans, FEED_BYTES);
        let (filter, duplicates) = (filter.clone(), Duplicates::default());
        Ok(Follow { reader, filter, marks, duplicates, piece: VecDeque::new() })
    }
}
