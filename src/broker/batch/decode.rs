use bytes::Bytes;
use uuid::Uuid;

use super::aborted::{AbortedRanges, AbortedTransaction};
use super::codec::{CodecError, decompress};
use super::damage::{Damage, DamageKind, Header, OLD_FORMAT, offset_after, old_messages, old_messages_below};
use super::header::{BatchError, BatchHeader, HEADER_LENGTH, magic, stated_size};
use super::run::{Run, Share};
use super::walk::walk;
use crate::record::{LARGEST_BUFFER, RecordBatch, Span, TopicPartition};

/// What is known of bytes to be decoded.
#[derive(Debug)]
pub(crate) struct Decoding<'a> {
    pub(crate) partition: &'a TopicPartition,
    pub(crate) topic_id: Option<Uuid>,
    /// The offset asked for: records below it are dropped, since an answer may begin below.
    pub(crate) from: i64,
    /// Transactions whose records are left out; `None` reads all.
    pub(crate) aborted: Option<Vec<AbortedTransaction>>,
    /// How many bytes one batch may decompress to.
    pub(crate) max_decompressed: usize,
    /// After so many decompressed bytes the rest is left out, as if the answer ended there.
    pub(crate) room: usize,
    pub(crate) share: Share,
}

/// What came of bytes.
#[derive(Debug)]
pub(crate) struct Decoded {
    /// In ascending order, each of one leader epoch. The last may hold no records: it only moves the offset past markers,
    /// aborted records and ranges that compaction emptied.
    pub(crate) batches: Vec<RecordBatch>,
    /// The offset after the last batch that was taken, by its header: its last records may be gone.
    pub(crate) next_offset: i64,
    /// The leader epoch of that batch.
    pub(crate) leader_epoch: Option<i32>,
    /// What stands at `next_offset` and cannot be read.
    pub(crate) damage: Option<Damage>,
    /// How many bytes were decompressed, and to how many.
    pub(crate) expansion: (usize, usize),
}

/// Decodes the batches in `records`, a broker's answer for one partition, up to the first that can't be read. One that is
/// cut off at the end is left out: the next answer brings it. Each step either moves on in `records` or is the last.
pub(crate) fn decode(records: &Bytes, decoding: Decoding<'_>) -> Decoded {
    let Decoding { partition, topic_id, from, aborted, max_decompressed, room, share } = decoding;
    let mut decoder = Decoder {
        records,
        partition,
        topic_id,
        aborted: aborted.map(AbortedRanges::new),
        max_decompressed: max_decompressed.min(LARGEST_BUFFER),
        share,
        run: Run::default(),
        from,
        covered: from,
        decoded: Decoded {
            batches: Vec::new(),
            next_offset: from,
            leader_epoch: None,
            damage: None,
            expansion: (0, 0),
        },
    };
    let mut at = 0;
    while let Some(size) = decoder.step(at) {
        at += size;
        if decoder.decoded.expansion.1 > room {
            break;
        }
    }
    decoder.finish()
}

struct Decoder<'a> {
    records: &'a Bytes,
    partition: &'a TopicPartition,
    topic_id: Option<Uuid>,
    aborted: Option<AbortedRanges>,
    max_decompressed: usize,
    share: Share,
    /// Uncompressed batches that will be one.
    run: Run,
    from: i64,
    /// The offset up to which the batches in `decoded` reach.
    covered: i64,
    decoded: Decoded,
}

/// Why a batch can't be read.
struct Unreadable {
    kind: DamageKind,
    reason: String,
}

impl Unreadable {
    fn corrupt(reason: impl ToString) -> Self {
        Self { kind: DamageKind::Corrupt, reason: reason.to_string() }
    }
}

impl From<CodecError> for Unreadable {
    fn from(error: CodecError) -> Self {
        let kind = match error {
            CodecError::TooLarge(_) => DamageKind::TooLarge,
            CodecError::Unknown(_) => DamageKind::UnknownCodec,
            CodecError::Corrupt(..) => DamageKind::Corrupt,
        };
        Self { kind, reason: error.to_string() }
    }
}

impl Decoder<'_> {
    /// Takes the batch at `at` and returns its size; `None` at the end of what can be read.
    fn step(&mut self, at: usize) -> Option<usize> {
        let rest = &self.records[at..];
        if let Some(0 | 1) = magic(rest) {
            return self.old_format(at);
        }
        let header = match BatchHeader::read(rest) {
            Ok(header) => header,
            Err(BatchError::TooShort(_)) => return self.cut_off(at),
            Err(error) => {
                let size = stated_size(rest, 0).filter(|&size| (HEADER_LENGTH..=rest.len()).contains(&size));
                self.unreadable(at, size, Header::Unreadable, Unreadable::corrupt(error));
                return None;
            }
        };
        let Some(batch) = rest.get(..header.size) else { return self.cut_off(at) };
        let last_offset = self.verified(at, &header, batch)?;
        if let Err(unreadable) = self.take(at, &header, last_offset) {
            self.unreadable(at, Some(header.size), Header::Checked(&header), unreadable);
            return None;
        }
        Some(header.size)
    }

    /// The last offset of the batch, if its CRC and range are right.
    fn verified(&mut self, at: usize, header: &BatchHeader, batch: &[u8]) -> Option<i64> {
        let reason = match header.verify(batch) {
            Ok(()) => match header.last_offset() {
                Some(last_offset) => return Some(last_offset),
                None => format!("record batch states a base offset of {}", header.base_offset),
            },
            Err(error) => error.to_string(),
        };
        self.unreadable(at, Some(header.size), Header::Doubtful(header), Unreadable::corrupt(reason));
        None
    }

    fn take(&mut self, at: usize, header: &BatchHeader, last_offset: i64) -> Result<(), Unreadable> {
        let batch = &self.records[at..at + header.size];
        let aborted = self.aborted.as_mut().is_some_and(|aborted| aborted.note(header, last_offset, batch));
        if last_offset < self.decoded.next_offset {
            return Ok(());
        }
        let leader_epoch = header.known_leader_epoch();
        if leader_epoch != self.decoded.leader_epoch {
            // A commit within a batch tells the epoch of the record before it.
            self.end_run();
        }
        if aborted {
            self.run.close();
        } else if !header.is_control() && header.count != 0 {
            self.read(at, header)?;
        }
        self.decoded.next_offset = last_offset + 1;
        self.decoded.leader_epoch = leader_epoch;
        Ok(())
    }

    /// Reads the records of a batch.
    fn read(&mut self, at: usize, header: &BatchHeader) -> Result<(), Unreadable> {
        let end = at + header.size;
        let floor = self.decoded.next_offset;
        if !header.is_compressed() {
            if !self.run.reaches(end) {
                self.end_run();
            }
            return self.run.add(self.records, at, header, floor).map_err(Unreadable::corrupt);
        }
        let body = decompress(header.codec(), &self.records[at + HEADER_LENGTH..end], self.max_decompressed)?;
        self.decoded.expansion.0 += header.size;
        self.decoded.expansion.1 += body.len();
        let mut spans = Vec::new();
        walk(&body, header, 0, floor, &mut spans).map_err(Unreadable::corrupt)?;
        self.end_run();
        if !spans.is_empty() {
            let held = body.capacity();
            self.push((Bytes::from(body), held), spans, floor, header.known_leader_epoch());
        }
        Ok(())
    }

    /// The batch at `at` is not whole. At the end of others that is as it should be, but the first that was asked for always
    /// comes whole: then its length is wrong, and without a word the reader would ask for it for ever.
    fn cut_off(&mut self, at: usize) -> Option<usize> {
        let there = self.records.len() - at;
        if there > 0 && self.decoded.next_offset == self.from {
            let reason =
                format!("the first record batch is not whole: it states a length that the {there} bytes are not");
            self.unreadable(at, None, Header::Unreadable, Unreadable::corrupt(reason));
        }
        None
    }

    /// Messages of an old format at `at`: those below what was asked for are passed over, others are damage.
    fn old_format(&mut self, at: usize) -> Option<usize> {
        let (rest, asked) = (&self.records[at..], self.decoded.next_offset);
        if let Some(below) = old_messages_below(rest, asked) {
            return Some(below);
        }
        let (size, last_offset) = old_messages(rest);
        if size == 0 && asked > self.from {
            return None;
        }
        let end = if size > 0 { at + size } else { self.records.len() };
        let next_offset = last_offset.map(|last| last + 1);
        let unreadable = Unreadable { kind: DamageKind::OldFormat, reason: OLD_FORMAT.to_owned() };
        self.damaged(at, end, next_offset, unreadable);
        None
    }

    /// Notes that the batch at `at`, of that size if known, can't be read.
    fn unreadable(&mut self, at: usize, size: Option<usize>, header: Header<'_>, unreadable: Unreadable) {
        let end = size.map_or(self.records.len(), |size| at + size);
        let next_offset = offset_after(header, &self.records[end..], self.decoded.next_offset);
        self.damaged(at, end, next_offset, unreadable);
    }

    fn damaged(&mut self, start: usize, end: usize, next_offset: Option<i64>, unreadable: Unreadable) {
        let Unreadable { kind, reason } = unreadable;
        let raw = self.share.keep(self.records, start, end);
        self.decoded.damage = Some(Damage { kind, offset: self.decoded.next_offset, next_offset, raw, reason });
    }

    fn end_run(&mut self) {
        if let Some((start, end, spans)) = self.run.take() {
            let buffer = self.share.keep(self.records, start, end);
            let held = buffer.len();
            self.push((buffer, held), spans, self.decoded.next_offset, self.decoded.leader_epoch);
        }
    }

    fn push(&mut self, buffer: (Bytes, usize), spans: Vec<Span>, next_offset: i64, epoch: Option<i32>) {
        let batch = RecordBatch::from_spans(self.partition.clone(), self.topic_id, buffer, spans, next_offset, epoch);
        self.covered = batch.next_offset();
        self.decoded.batches.push(batch);
    }

    fn finish(mut self) -> Decoded {
        self.end_run();
        if self.covered < self.decoded.next_offset {
            self.push((Bytes::new(), 0), Vec::new(), self.decoded.next_offset, self.decoded.leader_epoch);
        }
        self.decoded
    }
}
