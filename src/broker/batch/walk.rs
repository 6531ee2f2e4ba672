use super::header::BatchHeader;
use crate::record::varint::{read_run, read_varint};
use crate::record::{Slice, Span};

/// The bytes after a batch's header are not the records that it states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{stated} records are stated, and after {read} of them the bytes are none")]
pub(super) struct Malformed {
    stated: i32,
    read: i32,
}

/// Reads the records in `body`, the decompressed bytes after the header of `batch`: whole, as many as stated, in ascending
/// order within the batch's range of offsets. Where each lies is appended to `spans`, those below `floor` left out;
/// `shift` is where `body` begins in the buffer that the spans belong to.
///
/// # Errors
/// [`Malformed`]; `spans` may then have got some records.
pub(super) fn walk(
    body: &[u8],
    batch: &BatchHeader,
    shift: usize,
    floor: i64,
    spans: &mut Vec<Span>,
) -> Result<(), Malformed> {
    let stated = batch.count;
    let count = batch.plausible_count(body.len()).ok_or(Malformed { stated, read: 0 })?;
    spans.reserve(count);
    let end = shift + body.len();
    let mut rest = body;
    let mut next_delta = 0;
    for read in 0..stated {
        let (delta, span) = read_record(&mut rest, batch, end)
            .filter(|(delta, _)| (next_delta..=i64::from(batch.last_offset_delta)).contains(delta))
            .ok_or(Malformed { stated, read })?;
        next_delta = delta + 1;
        if span.offset >= floor {
            spans.push(span);
        }
    }
    if rest.is_empty() { Ok(()) } else { Err(Malformed { stated, read: stated }) }
}

/// Reads one record, and how far it is from the start of the batch. `end` is where `rest` ends in the buffer.
#[inline]
fn read_record(rest: &mut &[u8], batch: &BatchHeader, end: usize) -> Option<(i64, Span)> {
    let mut body = read_run(rest)??;
    // Places in the buffer are told from its end: that of the record is where the rest begins.
    let end = end - rest.len();
    let (_attributes, after) = body.split_first()?;
    body = after;
    let timestamp_delta = read_varint(&mut body)?;
    let offset_delta = read_varint(&mut body)?;
    let key = read_run(&mut body)?.map(<[u8]>::len);
    let key = Slice::new(end - body.len() - key.unwrap_or(0), key);
    let value = read_run(&mut body)?.map(<[u8]>::len);
    let value = Slice::new(end - body.len() - value.unwrap_or(0), value);
    for _ in 0..usize::try_from(read_varint(&mut body)?).ok()? {
        read_run(&mut body)??;
        read_run(&mut body)?;
    }
    let timestamp = if batch.is_append_time() {
        batch.max_timestamp
    } else {
        // Also where the base is a delete horizon: compaction then changes the deltas, so that the sum stays the same.
        batch.base_timestamp.wrapping_add(timestamp_delta)
    };
    let offset = batch.base_offset.wrapping_add(offset_delta);
    body.is_empty().then_some((offset_delta, Span { offset, timestamp, key, value }))
}
