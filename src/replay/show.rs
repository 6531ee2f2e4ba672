use super::entry::Entry;
use super::error::ReplayError;
use super::letters::DeadLetters;
use super::marks::Marks;
use super::reading::{RangeReader, Span};
use super::scan::Topic;
use super::sight::{Sight, apart};
use crate::record::RecordId;

/// How much is fetched for one dead letter, unless it is larger, in bytes.
const FEED_BYTES: usize = 64 << 10;

impl DeadLetters {
    /// One dead letter by its own place, of whatever topic. The topic's id is not looked at where `at` has none.
    ///
    /// # Errors
    /// Each its own: a topic or partition that does not exist, a topic of another id, an offset before the log's start or after
    /// its end, an offset without a record, a damaged one.
    pub async fn show(&self, at: &RecordId) -> Result<Entry, ReplayError> {
        let topic = Topic::find(&self.ports, &at.partition.shared_topic()).await?;
        if let (Some(asked), Some(found)) = (at.topic_id, topic.id)
            && asked != found
        {
            return Err(ReplayError::OtherTopic { at: at.to_string(), asked, found });
        }
        let number = at.partition.partition();
        let spans = topic.spans(&self.ports, None).await?;
        let Some(Span { start, end, .. }) = usize::try_from(number).ok().and_then(|number| spans.get(number)) else {
            return Err(ReplayError::NoSuchPartition { at: at.partition.clone(), partitions: topic.partitions });
        };
        if at.offset < *start {
            return Err(ReplayError::Gone { at: at.to_string(), log_start: *start });
        }
        if at.offset >= *end {
            return Err(ReplayError::BeyondEnd { at: at.to_string(), log_end: *end });
        }
        let partition = at.partition.clone();
        let span = Span { partition, topic_id: topic.id, start: at.offset, end: at.offset + 1 };
        let mut reader = RangeReader::new(&self.ports, [span], FEED_BYTES);
        let Some(piece) = reader.next().await else {
            return Err(ReplayError::NoSuchLetter { at: at.to_string() });
        };
        let piece = piece?;
        if let Some(reason) = piece.batch.damage() {
            return Err(ReplayError::Unreadable { at: at.to_string(), reason: reason.to_owned() });
        }
        let Some(record) = piece.iter().next() else {
            return Err(ReplayError::NoSuchLetter { at: at.to_string() });
        };
        let record = apart(&record);
        drop((piece, reader));
        let marks = Marks::read(&self.ports, &topic.name).await?;
        Ok(Sight::new(&record, &marks).into_entry())
    }
}
