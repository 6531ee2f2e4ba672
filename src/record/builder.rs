use bytes::{BufMut, BytesMut};
use uuid::Uuid;

use super::batch::RecordBatch;
use super::headers::{HeaderRef, encode_headers};
use super::position::TopicPartition;
use super::span::{LARGEST_BUFFER, Slice, Span};

/// Collects records into a [`RecordBatch`]; for broker adapters and tests.
#[derive(Debug)]
pub struct RecordBatchBuilder {
    partition: TopicPartition,
    topic_id: Option<Uuid>,
    buffer: BytesMut,
    spans: Vec<Span>,
    leader_epoch: Option<i32>,
}

impl RecordBatchBuilder {
    /// Starts a batch for `partition`; `topic_id` as the broker gave it, if it did.
    pub fn new(partition: TopicPartition, topic_id: Option<Uuid>) -> Self {
        Self { partition, topic_id, buffer: BytesMut::new(), spans: Vec::new(), leader_epoch: None }
    }

    /// Gives the epoch of the leader that appended the records; not known by default.
    pub fn leader_epoch(mut self, epoch: Option<i32>) -> Self {
        self.leader_epoch = epoch;
        self
    }

    /// Sets memory aside for keys, values and headers of `bytes` in all, and a few bytes more per record. What is set aside
    /// counts for the batch's cost.
    pub fn reserve(mut self, records: usize, bytes: usize) -> Self {
        self.buffer.reserve(bytes + 8 * records);
        self.spans.reserve(records);
        self
    }

    /// Appends a record. `timestamp` is in milliseconds since the Unix epoch; offsets must ascend.
    ///
    /// # Panics
    /// If the records of the batch come to 4 GiB or more; no broker sends that many at once.
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
        encode_headers(&mut self.buffer, headers);
        assert!(self.buffer.len() <= LARGEST_BUFFER, "a batch holds less than 4 GiB");
        self.spans.push(Span { offset, timestamp, key, value });
    }

    fn put(&mut self, bytes: Option<&[u8]>) -> Slice {
        let start = self.buffer.len();
        self.buffer.put_slice(bytes.unwrap_or_default());
        Slice::new(start, bytes.map(<[u8]>::len))
    }

    /// Ends the batch. `next_offset` is the offset after the range of the log that was read for it.
    pub fn build(self, next_offset: i64) -> RecordBatch {
        let held = self.buffer.capacity();
        let buffer = (self.buffer.freeze(), held);
        RecordBatch::from_spans(self.partition, self.topic_id, buffer, self.spans, next_offset, self.leader_epoch)
    }
}
