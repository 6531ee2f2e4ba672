/// How far a shrunk fetch grows with each success, and how much less it asks for with each failure.
const GROWTH: i32 = 4;
const SHRINKAGE: i32 = 16;
/// What a fetch asks for after a transaction marker: others may follow soon.
const AFTER_MARKER: i32 = 64 << 10;
/// How many empty offsets are stepped over before the feed is told.
const TELL_EVERY: i64 = 1_000;

/// Where the reading of a partition stands, and what each answer of rskafka means for it: decisions only, no I/O.
///
/// It works around these points of rskafka, which loses the whole response in the first two and stands still in the last:
/// - A transaction marker, or anything else that it cannot decode, hides the data before it. Smaller fetches get that
///   data; only when a fetch of one byte, whose answer is exactly one batch, fails as well, that batch is the culprit.
/// - A marker holds no data: the offset is stepped over.
/// - Where compaction left an empty batch, the answer is empty at once, for ever. An empty answer below the end of what
///   may be read proves that the offset holds no record, since a broker always returns the first batch: it is stepped
///   over. That end must have been known *before* the fetch. The high watermark is not it: records of an open
///   transaction lie below it, and are no gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    /// The next offset to be read.
    offset: i64,
    /// Up to where the feed knows.
    told: i64,
    /// What a fetch asks for when nothing is wrong, and now.
    full: i32,
    now: i32,
    /// The last stable offset, as last seen: records below it may be read.
    stable_end: i64,
}

/// What to do after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Fetch again.
    Fetch,
    /// Ask for the last stable offset, then fetch again.
    AskStableEnd,
    /// The log seems to end before the offset: it may be another log.
    Doubt,
    /// The batch at the offset can never be read.
    Stop,
}

impl Cursor {
    pub(super) fn new(offset: i64, fetch_max_bytes: i32) -> Self {
        let full = fetch_max_bytes.max(1);
        Self { offset, told: offset, full, now: full, stable_end: i64::MIN }
    }

    pub(super) fn offset(&self) -> i64 {
        self.offset
    }

    /// How many bytes the next fetch asks for.
    pub(super) fn max_bytes(&self, credit: usize) -> i32 {
        self.now.min(i32::try_from(credit).unwrap_or(i32::MAX)).max(1)
    }

    /// After an answer with records, the last at `last`.
    pub(super) fn on_records(&mut self, last: i64) {
        self.offset = self.offset.max(last.saturating_add(1));
        self.now = self.now.saturating_mul(GROWTH).min(self.full);
    }

    /// After an answer without records.
    pub(super) fn on_empty(&mut self, high_watermark: i64) -> Next {
        if high_watermark < self.offset {
            return Next::Doubt;
        }
        if high_watermark == self.offset {
            return Next::Fetch;
        }
        if self.offset >= self.stable_end {
            return Next::AskStableEnd;
        }
        self.offset += 1;
        Next::Fetch
    }

    /// Takes the last stable offset.
    pub(super) fn set_stable_end(&mut self, offset: i64) {
        self.stable_end = offset;
    }

    /// After an answer to a fetch of `max_bytes` that could not be decoded.
    pub(super) fn on_undecodable(&mut self, max_bytes: i32, control: bool) -> Next {
        if max_bytes > 1 {
            self.now = (max_bytes / SHRINKAGE).max(1);
            return Next::Fetch;
        }
        if !control {
            return Next::Stop;
        }
        self.offset += 1;
        self.now = AFTER_MARKER.min(self.full);
        Next::Fetch
    }

    /// The offset that the feed should be told of now, if any: that of a batch without records. Steps are told
    /// together, once `idle` says that nothing more is there to be read, or when there are many.
    pub(super) fn to_tell(&self, idle: bool) -> Option<i64> {
        let steps = self.offset - self.told;
        (steps >= TELL_EVERY || (idle && steps > 0)).then_some(self.offset)
    }

    /// The feed was told up to the offset.
    pub(super) fn told(&mut self) {
        self.told = self.offset;
    }
}

#[cfg(test)]
mod tests;
