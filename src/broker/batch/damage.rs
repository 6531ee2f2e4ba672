use bytes::Bytes;

use super::header::{BatchHeader, magic, stated_size};

/// What stands in a log and cannot be read as records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) kind: DamageKind,
    /// Where it begins: everything below was read.
    pub(crate) offset: i64,
    /// The offset after it; `None` where nothing plausible says how far it reaches.
    pub(crate) next_offset: Option<i64>,
    /// Its bytes, as far as they can be told from what follows.
    pub(crate) raw: Bytes,
    /// Why it can't be read, and what to do.
    pub(crate) reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DamageKind {
    /// The bytes are not what the batch says of them.
    Corrupt,
    /// It would decompress to more than is allowed.
    TooLarge,
    /// It was written in a message format from before Kafka 0.11.
    OldFormat,
    /// It is compressed with a codec that Kafka does not have today.
    UnknownCodec,
}

/// How much of a header can be believed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Header<'a> {
    /// Nothing could be read.
    Unreadable,
    /// Something in the batch is wrong, perhaps the header.
    Doubtful(&'a BatchHeader),
    /// The CRC is right.
    Checked(&'a BatchHeader),
}

/// Where a reader that asked for `asked` can go on after a batch that can't be read, with `rest` after it (nothing where its
/// length is not known).
pub(super) fn offset_after(header: Header<'_>, rest: &[u8], asked: i64) -> Option<i64> {
    let range = |header: &BatchHeader| header.last_offset().filter(|&last| last >= asked).map(|last| last + 1);
    let following = || BatchHeader::read(rest).ok().map(|next| next.base_offset).filter(|&base| base > asked);
    match header {
        Header::Checked(header) => range(header).or_else(following),
        // The batch after it knows better where it begins than this one where it ends.
        Header::Doubtful(header) => following().or_else(|| range(header).filter(|_| header.base_offset <= asked)),
        Header::Unreadable => following(),
    }
}

/// The smallest message of magic 0: offset, length, CRC, magic, attributes, and the lengths of key and value.
const SMALLEST_MESSAGE: usize = 26;

/// Messages of magic 0 and 1 at the start of `bytes`, one after the other: how many bytes they take, and their last offset.
pub(super) fn old_messages(bytes: &[u8]) -> (usize, Option<i64>) {
    let mut size = 0;
    let mut last_offset = None;
    loop {
        let rest = &bytes[size..];
        let (Some(0 | 1), Some(message)) = (magic(rest), stated_size(rest, SMALLEST_MESSAGE)) else { break };
        let Some(&offset) = rest.first_chunk().filter(|_| message <= rest.len()) else { break };
        last_offset = last_offset.max(Some(i64::from_be_bytes(offset)));
        size += message;
    }
    (size, last_offset.filter(|&last| last < i64::MAX))
}

/// The size of the old messages at the start of `bytes` that a reader at `asked` passes over, since they lie below.
pub(super) fn old_messages_below(bytes: &[u8], asked: i64) -> Option<usize> {
    let (size, last_offset) = old_messages(bytes);
    last_offset.filter(|&last| last < asked).map(|_| size)
}

pub(super) const OLD_FORMAT: &str = "the records are in a message format from before Kafka 0.11 (magic 0 or 1), which is not \
    read; copy the topic with a tool that reads it (Kafka's own up to 3.9), or let retention remove the records, and see \
    that message.format.version is 0.11 or later and no producer is older";
