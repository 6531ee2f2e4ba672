use bytes::Bytes;

use super::header::{BatchHeader, HEADER_LENGTH};
use super::varint::{read_run, read_varint};
use crate::record::Header;

/// A record as it lies in the embedded broker's log, nothing lost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredRecord {
    /// Its offset.
    pub offset: i64,
    /// Its timestamp in milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// Its key; `None` is null.
    pub key: Option<Bytes>,
    /// Its value; `None` is null.
    pub value: Option<Bytes>,
    /// Its headers, in order, duplicates and nulls included.
    pub headers: Vec<Header>,
    /// Whether it is a control record (a transaction marker), which clients never show their users.
    pub control: bool,
    /// Whether it was written in a transaction.
    pub transactional: bool,
    /// The producer that wrote it; -1 for one without idempotence.
    pub producer_id: i64,
}

/// A record within its batch, borrowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawRecord<'a> {
    pub(crate) offset_delta: i64,
    pub(crate) timestamp: i64,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    headers: &'a [u8],
}

impl RawRecord<'_> {
    /// An owned copy; `batch` is the header of the batch that it lies in.
    pub(crate) fn to_stored(self, batch: &BatchHeader) -> StoredRecord {
        let mut rest = self.headers;
        let mut headers = Vec::new();
        for _ in 0..read_varint(&mut rest).unwrap_or(0) {
            let Some((name, value)) = read_header(&mut rest) else { break };
            headers.push(Header { name: Bytes::copy_from_slice(name), value: value.map(Bytes::copy_from_slice) });
        }
        StoredRecord {
            offset: batch.base_offset + self.offset_delta,
            timestamp: self.timestamp,
            key: self.key.map(Bytes::copy_from_slice),
            value: self.value.map(Bytes::copy_from_slice),
            headers,
            control: batch.is_control(),
            transactional: batch.is_transactional(),
            producer_id: batch.producer_id,
        }
    }
}

/// The records of an uncompressed batch, or `None` where its bytes are not as many well-formed records as it states,
/// in ascending order within its range of offsets.
pub(crate) fn raw_records<'a>(batch: &'a [u8], header: &BatchHeader) -> Option<Vec<RawRecord<'a>>> {
    let mut rest = batch.get(HEADER_LENGTH..header.size)?;
    let mut records = Vec::new();
    let mut next_delta = 0;
    for _ in 0..header.count {
        let record = read_record(&mut rest, header)?;
        if !(next_delta..=i64::from(header.last_offset_delta)).contains(&record.offset_delta) {
            return None;
        }
        next_delta = record.offset_delta + 1;
        records.push(record);
    }
    rest.is_empty().then_some(records)
}

fn read_record<'a>(rest: &mut &'a [u8], batch: &BatchHeader) -> Option<RawRecord<'a>> {
    let mut body = read_run(rest)??;
    let (_attributes, after) = body.split_first()?;
    body = after;
    let timestamp_delta = read_varint(&mut body)?;
    let offset_delta = read_varint(&mut body)?;
    let key = read_run(&mut body)?;
    let value = read_run(&mut body)?;
    let headers = body;
    for _ in 0..usize::try_from(read_varint(&mut body)?).ok()? {
        read_header(&mut body)?;
    }
    let timestamp =
        if batch.is_append_time() { batch.max_timestamp } else { batch.base_timestamp.wrapping_add(timestamp_delta) };
    body.is_empty().then_some(RawRecord { offset_delta, timestamp, key, value, headers })
}

fn read_header<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], Option<&'a [u8]>)> {
    let name = read_run(rest)??;
    Some((name, read_run(rest)?))
}
