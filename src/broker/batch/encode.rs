use bytes::{BufMut, BytesMut};

use super::codec::{Compression, compress};
use super::fields::RecordFields;
use super::header::{BatchHeader, HEADER_LENGTH};
use crate::record::ProducerRecord;
use crate::record::varint::VARINT_MAX;

/// Who sends a batch: the id and epoch of the producer, and the sequence number of the first record.
pub(crate) type Sender = (i64, i16, i32);

/// The sender of a batch without idempotence.
pub(crate) const NOBODY: Sender = (-1, -1, -1);

/// Encodes `records` as one batch of magic 2. Records without a timestamp get `now_millis`.
pub(crate) fn encode(
    records: &[ProducerRecord],
    now_millis: i64,
    compression: Compression,
    (producer_id, producer_epoch, base_sequence): Sender,
) -> BytesMut {
    let size = records.iter().map(size_bound).sum::<usize>();
    let mut batch = BytesMut::with_capacity(HEADER_LENGTH + size);
    batch.put_bytes(0, HEADER_LENGTH);
    let base_timestamp = records.first().map_or(now_millis, |first| first.timestamp.unwrap_or(now_millis));
    let mut max_timestamp = base_timestamp;
    for (offset_delta, record) in (0..).zip(records) {
        let timestamp = record.timestamp.unwrap_or(now_millis);
        max_timestamp = max_timestamp.max(timestamp);
        RecordFields {
            offset_delta,
            timestamp_delta: timestamp.wrapping_sub(base_timestamp),
            key: record.key.as_deref(),
            value: record.value.as_deref(),
            headers: &record.headers,
        }
        .put(&mut batch);
    }
    let mut attributes = 0;
    if let Some(compressed) = compress(compression, &batch[HEADER_LENGTH..]) {
        attributes = compression.codec();
        batch.truncate(HEADER_LENGTH);
        batch.put_slice(&compressed);
    }
    let header = BatchHeader {
        attributes,
        last_offset_delta: records.len().saturating_sub(1) as i32,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count: records.len() as i32,
        ..BatchHeader::empty(batch.len())
    };
    header.write(&mut batch);
    batch
}

/// Writes another sender into an encoded batch, and renews its CRC.
pub(crate) fn stamp(batch: &mut [u8], (producer_id, producer_epoch, base_sequence): Sender) {
    BatchHeader::write_producer(batch, producer_id, producer_epoch, base_sequence);
}

/// How many bytes a record takes in a batch that is not compressed, at most; the batch itself takes 61 more.
pub(crate) fn size_bound(record: &ProducerRecord) -> usize {
    // Lengths of record, key and value and the count of headers, of 5 bytes each at most; 5 for the offset; the attributes.
    const OTHERS: usize = 5 * 5 + VARINT_MAX + 1;
    let length = |bytes: Option<&bytes::Bytes>| bytes.map_or(0, |bytes| bytes.len());
    let headers = record.headers.iter().map(|header| 10 + header.name.len() + length(header.value.as_ref()));
    OTHERS + length(record.key.as_ref()) + length(record.value.as_ref()) + headers.sum::<usize>()
}
