use std::fmt;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

use super::headers::{HeaderRef, Headers, encode_headers};
use super::position::{RecordId, TopicPartition};

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
    damage: Option<Box<str>>,
}

/// Where one record lies in the buffer.
struct Span {
    offset: i64,
    timestamp: i64,
    key: Slice,
    value: Slice,
    headers: Slice,
}

/// A range of the buffer; `NULL` is Kafka's null, which differs from an empty range.
#[derive(Clone, Copy)]
struct Slice {
    start: u32,
    length: u32,
}

const NULL: u32 = u32::MAX;

impl Slice {
    fn of(self, buffer: &Bytes) -> Option<&[u8]> {
        (self.length != NULL).then(|| &buffer[self.start as usize..(self.start + self.length) as usize])
    }
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
        let none = Slice { start: 0, length: NULL };
        let value = Slice { start: 0, length: raw.len() as u32 };
        let headers = Slice { start: 0, length: 0 };
        let spans = vec![Span { offset, timestamp: -1, key: none, value, headers }];
        let damage = Some(reason.into());
        Self { data: Arc::new(BatchData { partition, topic_id, buffer: raw, spans, next_offset, damage }) }
    }

    /// Why the range of the log that this batch stands for cannot be read; `None` for ordinary records.
    pub fn damage(&self) -> Option<&str> {
        self.data.damage.as_deref()
    }

    /// How many records the batch holds; may be 0 where a range of the log holds none (markers, compacted gaps).
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

    /// What the batch costs in memory, in bytes; feeds are bounded by it.
    pub fn cost(&self) -> usize {
        self.data.buffer.len() + self.data.spans.len() * size_of::<Span>() + size_of::<BatchData>()
    }

    /// The record at `index`, or `None` past the end.
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

/// Collects records into a [`RecordBatch`]; for broker adapters and tests.
#[derive(Debug)]
pub struct RecordBatchBuilder {
    partition: TopicPartition,
    topic_id: Option<Uuid>,
    buffer: BytesMut,
    spans: Vec<Span>,
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Span({})", self.offset)
    }
}

impl RecordBatchBuilder {
    /// Starts a batch for `partition`; `topic_id` as the broker gave it, if it did.
    pub fn new(partition: TopicPartition, topic_id: Option<Uuid>) -> Self {
        Self { partition, topic_id, buffer: BytesMut::new(), spans: Vec::new() }
    }

    /// Appends a record. `timestamp` is in milliseconds since the Unix epoch; offsets must ascend.
    pub fn push<'a>(
        &mut self,
        offset: i64,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl ExactSizeIterator<Item = HeaderRef<'a>>,
    ) {
        let key = self.put(key);
        let value = self.put(value);
        let start = self.buffer.len();
        encode_headers(&mut self.buffer, headers);
        let headers = Slice { start: start as u32, length: (self.buffer.len() - start) as u32 };
        self.spans.push(Span { offset, timestamp, key, value, headers });
    }

    fn put(&mut self, bytes: Option<&[u8]>) -> Slice {
        let start = self.buffer.len() as u32;
        match bytes {
            Some(bytes) => {
                self.buffer.put_slice(bytes);
                Slice { start, length: bytes.len() as u32 }
            }
            None => Slice { start, length: NULL },
        }
    }

    /// Ends the batch. `next_offset` is the offset after the range of the log that was read for it.
    pub fn build(self, next_offset: i64) -> RecordBatch {
        let last = self.spans.last().map_or(next_offset, |span| span.offset + 1);
        RecordBatch {
            data: Arc::new(BatchData {
                partition: self.partition,
                topic_id: self.topic_id,
                buffer: self.buffer.freeze(),
                spans: self.spans,
                next_offset: next_offset.max(last),
                damage: None,
            }),
        }
    }
}

/// One record as Kafka stores it: a cheap view of its batch. Key and value tell null (`None`) from empty.
#[derive(Clone)]
pub struct Record {
    data: Arc<BatchData>,
    index: u32,
}

impl Record {
    fn span(&self) -> &Span {
        &self.data.spans[self.index as usize]
    }

    /// The partition it was read from.
    pub fn partition(&self) -> &TopicPartition {
        &self.data.partition
    }

    /// Its offset.
    pub fn offset(&self) -> i64 {
        self.span().offset
    }

    /// Its timestamp in milliseconds since the Unix epoch; may be negative.
    pub fn timestamp(&self) -> i64 {
        self.span().timestamp
    }

    /// Its key.
    pub fn key(&self) -> Option<&[u8]> {
        self.span().key.of(&self.data.buffer)
    }

    /// Its value; `None` is a tombstone.
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
    pub fn headers(&self) -> Headers<'_> {
        Headers::from_encoded(self.span().headers.of(&self.data.buffer).unwrap_or_default())
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
