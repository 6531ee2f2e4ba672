use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::headers::{Header, Headers};
use super::position::{RecordId, TopicPartition};
use super::span::{LARGEST_BUFFER, Slice, Span};

/// Records of one partition in ascending offset order, all views of one shared buffer. Cheap to clone.
#[derive(Clone)]
pub struct RecordBatch {
    data: Arc<BatchData>,
}

struct BatchData {
    partition: TopicPartition,
    topic_id: Option<Uuid>,
    buffer: Bytes,
    spans: Vec<Span>,
    next_offset: i64,
    leader_epoch: Option<i32>,
    damage: Option<Box<str>>,
    /// The bytes that the buffer holds in memory: at least its length.
    held: usize,
}

impl RecordBatch {
    /// The partition that the records were read from.
    pub fn partition(&self) -> &TopicPartition {
        &self.data.partition
    }

    /// A range of the log, from `offset` up to `next_offset`, whose bytes `raw` cannot be read as records, and why. It holds
    /// one record, which stands for the range: the raw bytes are its value.
    pub fn damaged(
        partition: TopicPartition,
        topic_id: Option<Uuid>,
        (offset, next_offset): (i64, i64),
        raw: Bytes,
        reason: impl Into<Box<str>>,
    ) -> Self {
        let raw = raw.slice(..raw.len().min(LARGEST_BUFFER));
        let value = Slice::new(0, Some(raw.len()));
        let spans = vec![Span { offset, timestamp: -1, key: Slice::new(0, None), value }];
        let damage = Some(reason.into());
        let held = raw.len();
        let leader_epoch = None;
        Self {
            data: Arc::new(BatchData {
                partition,
                topic_id,
                buffer: raw,
                spans,
                next_offset,
                leader_epoch,
                damage,
                held,
            }),
        }
    }

    /// Records that lie in `buffer`, which holds `held` bytes in memory, at `spans`, whose offsets ascend. `next_offset` is
    /// that after the range of the log that was read for it, `leader_epoch` the epoch of all of it.
    pub(crate) fn from_spans(
        partition: TopicPartition,
        topic_id: Option<Uuid>,
        (buffer, held): (Bytes, usize),
        spans: Vec<Span>,
        next_offset: i64,
        leader_epoch: Option<i32>,
    ) -> Self {
        let next_offset = spans.last().map_or(next_offset, |last| next_offset.max(last.offset + 1));
        let damage = None;
        Self {
            data: Arc::new(BatchData { partition, topic_id, buffer, spans, next_offset, leader_epoch, damage, held }),
        }
    }

    /// The epoch of the leader that appended what this batch covers, to be committed with an offset that lies in it or after
    /// it (KIP-320). `None` where the adapter or the broker does not tell, or the range cannot be read.
    pub fn leader_epoch(&self) -> Option<i32> {
        self.data.leader_epoch
    }

    /// Why the range of the log that this batch stands for cannot be read; `None` for ordinary records.
    pub fn damage(&self) -> Option<&str> {
        self.data.damage.as_deref()
    }

    /// How many records the batch holds; may be 0 where a range of the log holds none (markers, compacted gaps).
    #[inline]
    pub fn len(&self) -> usize {
        self.data.spans.len()
    }

    /// Whether the batch holds no records.
    pub fn is_empty(&self) -> bool {
        self.data.spans.is_empty()
    }

    /// The offset after the range of the log that this batch covers; at least one past its last record.
    pub fn next_offset(&self) -> i64 {
        self.data.next_offset
    }

    /// What the batch costs in memory, in bytes; feeds are bounded by it. Of a buffer that it shares with other batches,
    /// its own part.
    pub fn cost(&self) -> usize {
        self.data.held + self.data.spans.capacity() * size_of::<Span>() + size_of::<BatchData>()
    }

    /// The record at `index`, or `None` past the end.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Record> {
        (index < self.len()).then(|| Record { data: Arc::clone(&self.data), index: index as u32 })
    }

    /// The index of the first record at or above `offset`; the length where there is none.
    pub fn index_of(&self, offset: i64) -> usize {
        self.data.spans.partition_point(|span| span.offset < offset)
    }

    /// All records, first to last.
    pub fn iter(&self) -> impl Iterator<Item = Record> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl fmt::Debug for RecordBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordBatch({}, {} records, next offset {})", self.partition(), self.len(), self.next_offset())
    }
}

/// One record as Kafka stores it: a cheap view of its batch. Key and value tell null (`None`) from empty.
#[derive(Clone)]
pub struct Record {
    data: Arc<BatchData>,
    index: u32,
}

impl Record {
    #[inline]
    fn span(&self) -> &Span {
        &self.data.spans[self.index as usize]
    }

    /// If it stands for a range of the log that cannot be read: the offset after the range, and why.
    pub(crate) fn unreadable(&self) -> Option<(i64, &str)> {
        self.data.damage.as_deref().map(|reason| (self.data.next_offset, reason))
    }

    /// The partition it was read from.
    pub fn partition(&self) -> &TopicPartition {
        &self.data.partition
    }

    /// Its offset.
    #[inline]
    pub fn offset(&self) -> i64 {
        self.span().offset
    }

    /// Its timestamp in milliseconds since the Unix epoch; may be negative.
    #[inline]
    pub fn timestamp(&self) -> i64 {
        self.span().timestamp
    }

    /// Its key.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        self.span().key.of(&self.data.buffer)
    }

    /// Its value; `None` is a tombstone.
    #[inline]
    pub fn value(&self) -> Option<&[u8]> {
        self.span().value.of(&self.data.buffer)
    }

    /// Its key as an owned slice of the shared buffer, without copying.
    pub fn key_bytes(&self) -> Option<Bytes> {
        self.key().map(|key| self.data.buffer.slice_ref(key))
    }

    /// Its value as an owned slice of the shared buffer, without copying.
    pub fn value_bytes(&self) -> Option<Bytes> {
        self.value().map(|value| self.data.buffer.slice_ref(value))
    }

    /// Its headers, in order.
    #[inline]
    pub fn headers(&self) -> Headers<'_> {
        Headers::from_encoded(self.span().headers(&self.data.buffer))
    }

    /// Its headers as owned slices of the shared buffer, without copying.
    pub(crate) fn owned_headers(&self) -> impl Iterator<Item = Header> + '_ {
        let slice = |bytes: &[u8]| self.data.buffer.slice_ref(bytes);
        self.headers().iter().map(move |header| Header { name: slice(header.name), value: header.value.map(slice) })
    }

    /// What identifies it for good.
    pub fn id(&self) -> RecordId {
        RecordId { topic_id: self.data.topic_id, partition: self.data.partition.clone(), offset: self.offset() }
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({}/{})", self.partition(), self.offset())
    }
}
