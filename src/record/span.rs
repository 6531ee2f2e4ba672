/// Where one record lies in the buffer of its batch: half a cache line, since there is one for each record held.
///
/// The headers begin where the value ends and say themselves how many they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) key: Slice,
    pub(crate) value: Slice,
}

/// A range of a buffer of less than 4 GiB, or Kafka's null, which differs from an empty range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) start: u32,
    length: u32,
}

const NULL: u32 = u32::MAX;

/// The most bytes that a buffer of records can have, so that each place in it fits a [`Slice`].
pub(crate) const LARGEST_BUFFER: usize = NULL as usize - 1;

impl Slice {
    /// The slice of `length` bytes from `start` on, or null. Both are within a buffer of at most [`LARGEST_BUFFER`].
    #[inline]
    pub(crate) fn new(start: usize, length: Option<usize>) -> Self {
        Self { start: start as u32, length: length.map_or(NULL, |length| length as u32) }
    }

    #[inline]
    pub(crate) fn of(self, buffer: &[u8]) -> Option<&[u8]> {
        (self.length != NULL).then(|| &buffer[self.start as usize..self.end()])
    }

    /// Where what follows begins.
    #[inline]
    fn end(self) -> usize {
        self.start as usize + if self.length == NULL { 0 } else { self.length as usize }
    }
}

impl Span {
    /// The encoded headers, and whatever lies behind them.
    #[inline]
    pub(crate) fn headers(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.value.end()..]
    }

    /// Moves it by `distance` towards the start of the buffer.
    pub(crate) fn move_back(&mut self, distance: u32) {
        self.key.start -= distance;
        self.value.start -= distance;
    }
}
