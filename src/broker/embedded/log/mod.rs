//! The log of one partition.

mod batch;
mod compaction;
mod epochs;
mod producers;
mod search;
mod transactions;

use std::cmp::Ordering;
use std::collections::VecDeque;

use batch::Batch;
pub(crate) use batch::keys;
use bytes::{Bytes, BytesMut};
use epochs::Epochs;
use kafka_protocol::ResponseError;
use producers::{Producers, Verdict};
pub(crate) use transactions::Aborted;
use transactions::Transactions;

use crate::broker::batch::{BatchHeader, BatchWriter};

/// Record batches of one partition, as raw bytes in ascending offset order.
#[derive(Debug, Default)]
pub(crate) struct Log {
    batches: VecDeque<Batch>,
    start: i64,
    end: i64,
    epochs: Epochs,
    producers: Producers,
    transactions: Transactions,
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
        self.transactions.first_open().map_or(self.end, |first| first.max(self.start))
    }

    /// The epoch of the partition's leader.
    pub(crate) fn leader_epoch(&self) -> i32 {
        self.epochs.current()
    }

    /// The leader epoch in which the record at `offset` was written.
    pub(crate) fn epoch_at(&self, offset: i64) -> i32 {
        self.epochs.at(offset)
    }

    /// The largest leader epoch up to `epoch` that the log knows, and the offset at which it ended; `None` where the
    /// epoch is not known or lies in the future.
    pub(crate) fn end_of_epoch(&self, epoch: i32) -> Option<(i32, i64)> {
        self.epochs.end_of(epoch, self.end)
    }

    /// Compares the leader epoch that a client knows (-1 where it says nothing) with that of the leader.
    pub(crate) fn check_leader_epoch(&self, known: i32) -> Result<(), ResponseError> {
        match known.cmp(&self.leader_epoch()) {
            _ if known < 0 => Ok(()),
            Ordering::Less => Err(ResponseError::FencedLeaderEpoch),
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(ResponseError::UnknownLeaderEpoch),
        }
    }

    /// Begins the next leader epoch.
    pub(crate) fn bump_epoch(&mut self) {
        self.epochs.begin_next(self.end);
    }

    /// Loses all batches with records at or after `offset`, as an unclean change of leaders does, and begins the next
    /// leader epoch. A batch that `offset` would cut is lost whole.
    pub(crate) fn truncate(&mut self, offset: i64) {
        let mut end = offset.clamp(self.start, self.end);
        while let Some(last) = self.batches.back().filter(|last| last.last_offset() >= end) {
            end = end.min(last.header.base_offset).max(self.start);
            self.batches.pop_back();
        }
        self.end = end;
        self.bump_epoch();
        self.producers = Producers::default();
        self.transactions.cut_off(end);
        for batch in &self.batches {
            if batch.header.is_control() {
                self.producers.fence(&batch.header);
            } else {
                self.producers.note(&batch.header, batch.header.base_offset);
            }
            self.transactions.note_again(&batch.header);
        }
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
        header.set_base(&mut bytes, self.end, self.leader_epoch());
        if let Some(now) = append_time {
            header.set_append_time(&mut bytes, now);
        }
        let batch = Batch { header, bytes: bytes.freeze() };
        self.end = batch.last_offset() + 1;
        self.transactions.note(&batch.header, &batch.bytes);
        if batch.header.is_control() {
            self.producers.fence(&batch.header);
        }
        self.batches.push_back(batch);
        header.base_offset
    }

    /// Appends the marker that ends a producer's transaction; batches of older epochs are refused from then on.
    pub(crate) fn mark(&mut self, producer_id: i64, epoch: i16, committed: bool, wall_millis: i64) {
        // A version and a type (0 for an abort), two bytes each; the value is a version and the coordinator's epoch.
        let key = [0, 0, 0, u8::from(committed)];
        let marker = BatchWriter::new()
            .timestamp(wall_millis)
            .producer(producer_id, epoch, -1)
            .transactional()
            .control()
            .record(Some(&key), Some(&[0; 6]), Vec::new())
            .build();
        if let Ok(header) = BatchHeader::check(&marker) {
            self.append(header, &marker, None);
        }
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
        self.epochs.cut_before(self.start);
    }

    /// Moves the start to any `offset` that is not below it; past the end, the end moves along and nothing is left.
    pub(crate) fn set_start(&mut self, offset: i64) {
        self.end = self.end.max(offset);
        self.delete_before(offset);
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

    fn readable(&self, offset: i64, limit: i64) -> impl Iterator<Item = &Batch> {
        let first = self.batches.partition_point(|batch| batch.last_offset() < offset);
        self.batches.range(first..).take_while(move |batch| batch.header.base_offset < limit)
    }
}
