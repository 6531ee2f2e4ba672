use bytes::Bytes;

use super::header::{BatchHeader, HEADER_LENGTH};
use super::walk::{Malformed, walk};
use crate::record::{LARGEST_BUFFER, Span};

/// What may become of the bytes of an answer: slices of it may be kept, except those that are much smaller than the frame that
/// they would hold in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// The size of the whole frame in bytes. 0: any slice may be kept; `usize::MAX`: none.
    pub(crate) of: usize,
}

impl Share {
    /// How many times its size a slice may hold in memory.
    const PINNED: usize = 4;

    /// The bytes at `start..end` of `bytes`, to be kept.
    pub(super) fn keep(self, bytes: &Bytes, start: usize, end: usize) -> Bytes {
        if end - start >= self.of / Self::PINNED {
            bytes.slice(start..end)
        } else {
            Bytes::copy_from_slice(&bytes[start..end])
        }
    }
}

/// Uncompressed batches, one after the other, whose records become one
/// [`RecordBatch`](crate::record::RecordBatch).
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Where the buffer that the spans belong to begins and ends in the answer.
    start: usize,
    end: usize,
    spans: Vec<Span>,
    closed: bool,
}

impl Run {
    /// Whether the records of the batch that ends at `end` can still belong to the run.
    pub(super) fn reaches(&self, end: usize) -> bool {
        self.spans.is_empty() || (!self.closed && end - self.start <= LARGEST_BUFFER)
    }

    /// Adds the records of the batch at `start`, those below `floor` left out.
    pub(super) fn add(
        &mut self,
        records: &[u8],
        start: usize,
        header: &BatchHeader,
        floor: i64,
    ) -> Result<(), Malformed> {
        let (body, end) = (start + HEADER_LENGTH, start + header.size);
        let before = self.spans.len();
        if before == 0 {
            (self.start, self.closed) = (body, false);
            self.reserve(header, records.len() - start);
        }
        let walked = walk(&records[body..end], header, body - self.start, floor, &mut self.spans);
        if walked.is_err() {
            self.spans.truncate(before);
        } else if self.spans.len() > before {
            self.end = end;
        }
        if before == 0 {
            self.cut_front();
        }
        walked
    }

    /// Makes room for the records of all batches in the `bytes` from the first one on, if they are like it: growing bit by
    /// bit would cost more than reading them.
    fn reserve(&mut self, first: &BatchHeader, bytes: usize) {
        let count = first.plausible_count(first.size - HEADER_LENGTH).unwrap_or(0);
        self.spans.reserve_exact((count as u64 * bytes as u64).div_ceil(first.size as u64) as usize);
    }

    /// Lets the buffer begin where the first record kept does: those below what was asked for may be many.
    fn cut_front(&mut self) {
        let Some(first) = self.spans.first().map(|span| span.key.start) else { return };
        self.start += first as usize;
        self.spans.iter_mut().for_each(|span| span.move_back(first));
    }

    /// Ends the run with what it has, so that it does not hold in memory what lies behind it.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Where the buffer of the records begins and ends, and where they lie in it; `None` if there are none. The run is then
    /// empty.
    pub(super) fn take(&mut self) -> Option<(usize, usize, Vec<Span>)> {
        let Self { start, end, mut spans, .. } = std::mem::take(self);
        spans.shrink_to_fit();
        (!spans.is_empty()).then_some((start, end, spans))
    }
}
