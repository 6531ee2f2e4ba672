use bytes::Bytes;

use super::header::{BatchHeader, HEADER_LENGTH};
use super::walk::walk;
use crate::record::{Header, Headers, Span};

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
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) headers: Headers<'a>,
}

impl RawRecord<'_> {
    /// An owned copy; `batch` is the header of the batch that it lies in.
    pub(crate) fn to_stored(self, batch: &BatchHeader) -> StoredRecord {
        StoredRecord {
            offset: self.offset,
            timestamp: self.timestamp,
            key: self.key.map(Bytes::copy_from_slice),
            value: self.value.map(Bytes::copy_from_slice),
            headers: self.headers.to_vec(),
            control: batch.is_control(),
            transactional: batch.is_transactional(),
            producer_id: batch.producer_id,
        }
    }
}

/// The records of an uncompressed batch, or `None` where its bytes are not as many well-formed records as it states,
/// in ascending order within its range of offsets.
pub(crate) fn raw_records<'a>(batch: &'a [u8], header: &BatchHeader) -> Option<Vec<RawRecord<'a>>> {
    let body = batch.get(HEADER_LENGTH..header.size)?;
    let mut spans = Vec::new();
    walk(body, header, 0, i64::MIN, &mut spans).ok()?;
    let record = |span: Span| RawRecord {
        offset: span.offset,
        timestamp: span.timestamp,
        key: span.key.of(body),
        value: span.value.of(body),
        headers: Headers::from_encoded(span.headers(body)),
    };
    Some(spans.into_iter().map(record).collect())
}
