//! The log of one partition.

mod producers;
mod transactions;

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;
use producers::{Producers, Verdict};
pub(crate) use transactions::Aborted;
use transactions::Transactions;

use crate::broker::batch::{BatchHeader, StoredRecord, raw_records};

/// The only epoch that leaders of the embedded broker ever have.
pub(crate) const LEADER_EPOCH: i32 = 0;

/// Record batches of one partition, as raw bytes in ascending offset order.
#[derive(Debug, Default)]
pub(crate) struct Log {
    batches: VecDeque<Batch>,
    start: i64,
    end: i64,
    producers: Producers,
    transactions: Transactions,
}

#[derive(Debug)]
struct Batch {
    header: BatchHeader,
    bytes: Bytes,
}

impl Batch {
    fn last_offset(&self) -> i64 {
        self.header.base_offset + i64::from(self.header.last_offset_delta)
    }

    fn records(&self) -> Option<impl Iterator<Item = StoredRecord> + '_> {
        if self.header.is_compressed() {
            return None;
        }
        Some(raw_records(&self.bytes, &self.header)?.into_iter().map(|record| record.to_stored(&self.header)))
    }
}

/// What became of a produced batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    /// It was appended at this offset.
    At(i64),
    /// It is one of the producer's last, which was appended at this offset.
    Before(i64),
}

impl Log {
    /// The first offset that can be read.
    pub(crate) fn start(&self) -> i64 {
        self.start
    }

    /// The offset that the next record will get.
    pub(crate) fn end(&self) -> i64 {
        self.end
    }

    /// The offset below which no transaction is undecided.
    pub(crate) fn last_stable(&self) -> i64 {
        self.transactions.first_open().unwrap_or(self.end)
    }

    /// Appends a batch that a producer sent, if its epoch and sequence numbers are right. `append_time`, in
    /// milliseconds since the Unix epoch, replaces its timestamps where the topic wants that.
    pub(crate) fn produce(
        &mut self,
        header: BatchHeader,
        bytes: &[u8],
        append_time: Option<i64>,
    ) -> Result<Appended, ResponseError> {
        match self.producers.judge(&header)? {
            Verdict::Duplicate(offset) => Ok(Appended::Before(offset)),
            Verdict::New => {
                self.producers.note(&header, self.end);
                Ok(Appended::At(self.append(header, bytes, append_time)))
            }
        }
    }

    /// Appends a batch, whatever its producer, and returns its offset.
    pub(crate) fn append(&mut self, mut header: BatchHeader, bytes: &[u8], append_time: Option<i64>) -> i64 {
        let mut bytes = BytesMut::from(&bytes[..header.size]);
        header.set_base(&mut bytes, self.end, LEADER_EPOCH);
        if let Some(now) = append_time {
            header.set_append_time(&mut bytes, now);
        }
        let batch = Batch { header, bytes: bytes.freeze() };
        self.end = batch.last_offset() + 1;
        self.transactions.note(&batch.header, &batch.bytes);
        self.batches.push_back(batch);
        header.base_offset
    }

    /// Leaves `count` offsets without any batch, as compaction does.
    pub(crate) fn skip(&mut self, count: i64) {
        self.end += count.max(0);
    }

    /// Moves the start forward to `offset`; batches wholly below it are dropped.
    pub(crate) fn delete_before(&mut self, offset: i64) {
        self.start = self.start.max(offset.min(self.end));
        while self.batches.front().is_some_and(|batch| batch.last_offset() < self.start) {
            self.batches.pop_front();
        }
    }

    /// How many bytes can be read from `offset` up to `limit`, as far as `most` bytes are asked for.
    pub(crate) fn available(&self, offset: i64, limit: i64, most: usize) -> usize {
        let mut size = 0;
        for batch in self.readable(offset, limit) {
            size += batch.bytes.len();
            if size >= most {
                return most;
            }
        }
        size
    }

    /// The bytes from the batch with `offset` on, of batches that begin below `limit`: `most` of them, whereby the
    /// last batch may be cut off as in Kafka. With `whole_first` the first batch comes whole whatever its size; without
    /// it nothing comes where that would be cut.
    pub(crate) fn read(&self, offset: i64, limit: i64, most: usize, whole_first: bool) -> Bytes {
        let mut batches = self.readable(offset, limit);
        let Some(first) = batches.next() else { return Bytes::new() };
        if first.bytes.len() >= most {
            return if whole_first || first.bytes.len() == most { first.bytes.clone() } else { Bytes::new() };
        }
        let Some(second) = batches.next() else { return first.bytes.clone() };
        let mut bytes = BytesMut::from(&first.bytes[..]);
        for batch in std::iter::once(second).chain(batches) {
            let room = most - bytes.len();
            bytes.extend_from_slice(&batch.bytes[..batch.bytes.len().min(room)]);
            if bytes.len() == most {
                break;
            }
        }
        bytes.freeze()
    }

    /// The aborted transactions with records from `offset` up to `end`.
    pub(crate) fn aborted(&self, offset: i64, end: i64) -> Vec<Aborted> {
        self.transactions.aborted(offset, end)
    }

    /// Offset and timestamp of the first record with `timestamp` or a later one, below `limit`. Of a compressed batch
    /// the first offset is taken, since it is not unpacked.
    pub(crate) fn find_by_time(&self, timestamp: i64, limit: i64) -> Option<(i64, i64)> {
        self.readable(self.start, limit).filter(|batch| batch.header.max_timestamp >= timestamp).find_map(|batch| {
            match batch.records() {
                Some(mut records) => records
                    .find(|record| record.timestamp >= timestamp && record.offset >= self.start)
                    .map(|record| (record.offset, record.timestamp)),
                None => Some((batch.header.base_offset.max(self.start), batch.header.max_timestamp)),
            }
        })
    }

    /// Offset and timestamp of the record with the largest timestamp.
    pub(crate) fn latest_by_time(&self) -> Option<(i64, i64)> {
        let largest = self.batches.iter().map(|batch| batch.header.max_timestamp).max()?;
        self.find_by_time(largest, self.end)
    }

    /// All records from the start on, control records included; `None` where a batch is compressed.
    pub(crate) fn records(&self) -> Option<Vec<StoredRecord>> {
        let mut all = Vec::new();
        for batch in &self.batches {
            all.extend(batch.records()?.filter(|record| record.offset >= self.start));
        }
        Some(all)
    }

    fn readable(&self, offset: i64, limit: i64) -> impl Iterator<Item = &Batch> {
        let first = self.batches.partition_point(|batch| batch.last_offset() < offset);
        self.batches.range(first..).take_while(move |batch| batch.header.base_offset < limit)
    }
}
