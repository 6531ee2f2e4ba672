use bytes::{BufMut, BytesMut};

use crate::record::varint::{put_run, put_varint, run_length, varint_length};
use crate::record::{Header, encode_headers};

/// What is written of one record in a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordFields<'a> {
    pub(super) offset_delta: i32,
    pub(super) timestamp_delta: i64,
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
    pub(super) headers: &'a [Header],
}

impl RecordFields<'_> {
    /// Appends the record, its length first.
    pub(super) fn put(&self, buffer: &mut BytesMut) {
        put_varint(buffer, self.length() as i64);
        buffer.put_u8(0);
        put_varint(buffer, self.timestamp_delta);
        put_varint(buffer, i64::from(self.offset_delta));
        put_run(buffer, self.key);
        put_run(buffer, self.value);
        encode_headers(buffer, self.headers.iter().map(Header::borrowed));
    }

    /// How many bytes the record takes after its length.
    fn length(&self) -> usize {
        let header = |header: &Header| run_length(Some(&header.name)) + run_length(header.value.as_deref());
        1 + varint_length(self.timestamp_delta)
            + varint_length(i64::from(self.offset_delta))
            + run_length(self.key)
            + run_length(self.value)
            + varint_length(self.headers.len() as i64)
            + self.headers.iter().map(header).sum::<usize>()
    }
}
