//! Encodes the batches of a produce request.

use bytes::{Bytes, BytesMut};

use super::line::{Body, Stamp};
use crate::broker::batch::BatchWriter;
use crate::record::ProducerRecord;

/// The bytes of a batch with its number.
pub(super) fn encode(body: &mut Body<ProducerRecord>, stamp: Option<Stamp>, now_millis: i64) -> Bytes {
    if let Some((known, bytes)) = &body.encoded
        && *known == stamp
    {
        return bytes.clone();
    }
    let mut writer = BatchWriter::new();
    for record in &body.records {
        writer = writer.timestamp(record.timestamp.unwrap_or(now_millis)).record(
            record.key.as_deref(),
            record.value.as_deref(),
            record.headers.clone(),
        );
    }
    if let Some(stamp) = stamp {
        writer = writer.producer(stamp.producer_id, stamp.epoch, stamp.sequence);
    }
    let bytes = writer.build();
    body.encoded = Some((stamp, bytes.clone()));
    bytes
}

/// How many bytes a record takes in a batch at most.
pub(super) fn size_bound(record: &ProducerRecord) -> usize {
    let headers: usize =
        record.headers.iter().map(|h| h.name.len() + h.value.as_ref().map_or(0, |v| v.len()) + 10).sum();
    record.key.as_ref().map_or(0, |k| k.len()) + record.value.as_ref().map_or(0, |v| v.len()) + headers + 40
}
