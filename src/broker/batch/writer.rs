use bytes::{BufMut, Bytes, BytesMut};

use super::codec::{Compression, compress};
use super::fields::RecordFields;
use super::header::{BatchHeader, HEADER_LENGTH};
use crate::record::Header;

/// Writes one record batch of magic 2, of any kind that Kafka may hold: for tests that lay down what a producer
/// would not send (transaction markers, batches emptied by compaction, duplicate headers, null header values).
///
/// ```
/// use bezoar::embedded::BatchWriter;
/// use bezoar::record::Header;
///
/// let batch = BatchWriter::new()
///     .record(Some(b"key"), Some(b"value"), vec![Header::null("seen"), Header::new("seen", "twice")])
///     .last_offset_delta(9) // compaction removed nine records after it
///     .build();
/// assert_eq!(batch[16], 2);
/// ```
#[derive(Debug, Clone)]
pub struct BatchWriter {
    records: Vec<Entry>,
    attributes: i16,
    last_offset_delta: Option<i32>,
    timestamp: i64,
    producer: (i64, i16, i32),
    compression: Compression,
}

#[derive(Debug, Clone)]
struct Entry {
    offset_delta: i32,
    timestamp: i64,
    key: Option<Bytes>,
    value: Option<Bytes>,
    headers: Vec<Header>,
}

impl Default for BatchWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchWriter {
    /// An empty batch of a producer without idempotence; its timestamps are 0 until [`timestamp`](Self::timestamp).
    pub fn new() -> Self {
        Self {
            records: Vec::new(),
            attributes: 0,
            last_offset_delta: None,
            timestamp: 0,
            producer: (-1, -1, -1),
            compression: Compression::None,
        }
    }

    /// A transaction marker: the control batch that ends the transaction of a producer.
    pub fn marker(producer_id: i64, producer_epoch: i16, committed: bool) -> Self {
        let mut key = BytesMut::new();
        key.put_i16(0);
        key.put_i16(i16::from(committed));
        let mut value = BytesMut::new();
        value.put_i16(0);
        value.put_i32(0);
        Self::new().producer(producer_id, producer_epoch, -1).transactional().control().record(
            Some(&key),
            Some(&value),
            Vec::new(),
        )
    }

    /// Sets the timestamp of the records that follow, in milliseconds since the Unix epoch.
    pub fn timestamp(mut self, millis: i64) -> Self {
        self.timestamp = millis;
        self
    }

    /// Appends a record at the offset after the last one; `None` is null.
    pub fn record(self, key: Option<&[u8]>, value: Option<&[u8]>, headers: Vec<Header>) -> Self {
        let offset_delta = self.records.last().map_or(0, |last| last.offset_delta + 1);
        self.record_at(offset_delta, key, value, headers)
    }

    /// Appends a record at `offset_delta` after the start of the batch: between it and the one before lies a gap, as
    /// compaction leaves it.
    pub fn record_at(
        mut self,
        offset_delta: i32,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: Vec<Header>,
    ) -> Self {
        let (key, value) = (key.map(Bytes::copy_from_slice), value.map(Bytes::copy_from_slice));
        self.records.push(Entry { offset_delta, timestamp: self.timestamp, key, value, headers });
        self
    }

    /// Lets the batch cover offsets up to `delta` after its start, though it holds no record there. Default: up to
    /// its last record; 0 for a batch without any.
    pub fn last_offset_delta(mut self, delta: i32) -> Self {
        self.last_offset_delta = Some(delta);
        self
    }

    /// Sets the producer's id, epoch and the sequence number of the first record; -1 each for none.
    pub fn producer(mut self, id: i64, epoch: i16, base_sequence: i32) -> Self {
        self.producer = (id, epoch, base_sequence);
        self
    }

    /// Marks the batch as part of a transaction.
    pub fn transactional(self) -> Self {
        self.attributes(1 << 4)
    }

    /// Marks the batch as one of control records.
    pub fn control(self) -> Self {
        self.attributes(1 << 5)
    }

    /// Compresses the records, unless that does not make them smaller.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Adds bits to the batch's attributes: 0 to 2 compression (which this alone does not do), 3 timestamp type,
    /// 4 transactional, 5 control.
    pub fn attributes(mut self, bits: i16) -> Self {
        self.attributes |= bits;
        self
    }

    /// The bytes of the batch, at base offset 0, with length and CRC set.
    pub fn build(self) -> Bytes {
        let base_timestamp = self.records.first().map_or(self.timestamp, |first| first.timestamp);
        let max_timestamp = self.records.iter().map(|record| record.timestamp).max().unwrap_or(self.timestamp);
        let last_record = self.records.last().map_or(0, |last| last.offset_delta);
        let (producer_id, producer_epoch, base_sequence) = self.producer;
        let mut batch = BytesMut::zeroed(HEADER_LENGTH);
        for record in &self.records {
            RecordFields {
                offset_delta: record.offset_delta,
                timestamp_delta: record.timestamp.wrapping_sub(base_timestamp),
                key: record.key.as_deref(),
                value: record.value.as_deref(),
                headers: &record.headers,
            }
            .put(&mut batch);
        }
        let mut attributes = self.attributes;
        if let Some(compressed) = compress(self.compression, &batch[HEADER_LENGTH..]) {
            attributes |= self.compression.codec();
            batch.truncate(HEADER_LENGTH);
            batch.extend_from_slice(&compressed);
        }
        let header = BatchHeader {
            attributes,
            last_offset_delta: self.last_offset_delta.unwrap_or(last_record),
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            count: self.records.len() as i32,
            ..BatchHeader::empty(batch.len())
        };
        header.write(&mut batch);
        batch.freeze()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::header::BatchHeader;
    use super::super::records::raw_records;
    use super::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..40)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            records in prop::collection::vec(
                (1i32..4, prop::option::of(bytes()), prop::option::of(bytes()), -1_000_000i64..1_000_000,
                 prop::collection::vec((bytes(), prop::option::of(bytes())), 0..4)), 0..12),
            spare in 0i32..5,
        ) {
            let mut writer = BatchWriter::new();
            let mut delta = -1;
            let mut expected = Vec::new();
            for (step, key, value, timestamp, headers) in records {
                delta += step;
                let headers: Vec<Header> = headers
                    .into_iter()
                    .map(|(name, value)| Header { name: name.into(), value: value.map(Bytes::from) })
                    .collect();
                writer = writer.timestamp(timestamp).record_at(delta, key.as_deref(), value.as_deref(), headers.clone());
                expected.push((i64::from(delta), timestamp, key, value, headers));
            }
            let batch = writer.last_offset_delta(delta.max(0) + spare).build();
            let header = BatchHeader::check(&batch).unwrap();
            prop_assert_eq!(header.size, batch.len());
            let read: Vec<_> = raw_records(&batch, &header)
                .unwrap()
                .into_iter()
                .map(|record| record.to_stored(&header))
                .map(|r| (r.offset, r.timestamp, r.key.map(Vec::from), r.value.map(Vec::from), r.headers))
                .collect();
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn a_changed_byte_is_noticed(index in 12usize..90, flip in 1u8..) {
            let batch = BatchWriter::new().record(Some(b"key"), Some(&[7; 40]), Vec::new()).build();
            let mut changed = batch.to_vec();
            let index = index % changed.len();
            changed[index] ^= flip;
            // Base offset and leader epoch are the broker's, and outside of the CRC.
            prop_assert_eq!(BatchHeader::check(&changed).is_ok(), index < 8 || (12..16).contains(&index));
        }

        #[test]
        fn garbage_is_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(BatchHeader::check(&bytes).is_err());
        }
    }
}
