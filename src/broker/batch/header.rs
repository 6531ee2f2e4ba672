/// How many bytes lie before the records.
pub(crate) const HEADER_LENGTH: usize = 61;
/// How many bytes lie before those that the batch's own length counts.
pub(super) const LENGTH_END: usize = 12;
/// The CRC covers all bytes from here on.
const CRC_END: usize = 21;
pub(super) const APPEND_TIME: i16 = 1 << 3;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;

/// The smallest record: one byte each for length, attributes, timestamp, offset, key, value and headers.
const SMALLEST_RECORD: usize = 7;

/// The header of a record batch of magic 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchHeader {
    pub(crate) base_offset: i64,
    /// The bytes of the whole batch, header included.
    pub(crate) size: usize,
    pub(crate) leader_epoch: i32,
    pub(crate) crc: u32,
    pub(crate) attributes: i16,
    pub(crate) last_offset_delta: i32,
    pub(crate) base_timestamp: i64,
    pub(crate) max_timestamp: i64,
    pub(crate) producer_id: i64,
    pub(crate) producer_epoch: i16,
    pub(crate) base_sequence: i32,
    pub(crate) count: i32,
}

/// Why bytes are not a record batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BatchError {
    #[error("{0} bytes are too few for a record batch")]
    TooShort(usize),
    #[error("record batch states a length of {stated} bytes, {there} are there")]
    Length { stated: i64, there: usize },
    #[error("record batch has magic {0}, only 2 is served")]
    Magic(i8),
    #[error("record batch states CRC-32C {stated:08x}, its bytes give {computed:08x}")]
    Crc { stated: u32, computed: u32 },
    #[error("record batch states a last offset delta of {0}")]
    OffsetDelta(i32),
}

/// The magic of the batch, or the message of an older format, that `bytes` begin with; they all have it in the same
/// place.
pub(super) fn magic(bytes: &[u8]) -> Option<i8> {
    bytes.get(16).map(|&magic| magic as i8)
}

/// The size that a batch or message states of itself, where it can be one.
pub(super) fn stated_size(bytes: &[u8], smallest: usize) -> Option<usize> {
    let stated = i32::from_be_bytes(*bytes.get(8..)?.first_chunk()?);
    usize::try_from(stated).ok().map(|stated| stated + LENGTH_END).filter(|&size| size >= smallest)
}

impl BatchHeader {
    /// The header of a batch of `size` bytes without records, of a producer without idempotence.
    pub(super) fn empty(size: usize) -> Self {
        Self {
            base_offset: 0,
            size,
            leader_epoch: -1,
            crc: 0,
            attributes: 0,
            last_offset_delta: 0,
            base_timestamp: 0,
            max_timestamp: 0,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            count: 0,
        }
    }

    /// Reads the header that `bytes` begin with. The batch may be longer than they are, and its CRC is not looked at.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, BatchError> {
        let fields: &[u8; HEADER_LENGTH] = bytes.first_chunk().ok_or(BatchError::TooShort(bytes.len()))?;
        let magic = i8::from_be_bytes(at(fields, 16));
        if magic != 2 {
            return Err(BatchError::Magic(magic));
        }
        let size = stated_size(fields, HEADER_LENGTH).ok_or_else(|| BatchError::Length {
            stated: i64::from(i32::from_be_bytes(at(fields, 8))),
            there: bytes.len() - LENGTH_END,
        })?;
        Ok(Self {
            base_offset: i64::from_be_bytes(at(fields, 0)),
            size,
            leader_epoch: i32::from_be_bytes(at(fields, 12)),
            crc: u32::from_be_bytes(at(fields, 17)),
            attributes: i16::from_be_bytes(at(fields, 21)),
            last_offset_delta: i32::from_be_bytes(at(fields, 23)),
            base_timestamp: i64::from_be_bytes(at(fields, 27)),
            max_timestamp: i64::from_be_bytes(at(fields, 35)),
            producer_id: i64::from_be_bytes(at(fields, 43)),
            producer_epoch: i16::from_be_bytes(at(fields, 51)),
            base_sequence: i32::from_be_bytes(at(fields, 53)),
            count: i32::from_be_bytes(at(fields, 57)),
        })
    }

    /// Checks the CRC of `batch`, whose header this is, and that it covers at least one offset.
    pub(crate) fn verify(&self, batch: &[u8]) -> Result<(), BatchError> {
        let computed = crc32c::crc32c(&batch[CRC_END..]);
        if self.crc != computed {
            return Err(BatchError::Crc { stated: self.crc, computed });
        }
        if self.last_offset_delta < 0 {
            return Err(BatchError::OffsetDelta(self.last_offset_delta));
        }
        Ok(())
    }

    /// Writes the header into `batch`, whose first bytes are kept free for it, with length and CRC as they must be.
    pub(crate) fn write(&self, batch: &mut [u8]) {
        batch[..8].copy_from_slice(&self.base_offset.to_be_bytes());
        let length = (batch.len() - LENGTH_END) as i32;
        batch[8..12].copy_from_slice(&length.to_be_bytes());
        batch[12..16].copy_from_slice(&self.leader_epoch.to_be_bytes());
        batch[16] = 2;
        batch[21..23].copy_from_slice(&self.attributes.to_be_bytes());
        batch[23..27].copy_from_slice(&self.last_offset_delta.to_be_bytes());
        batch[27..35].copy_from_slice(&self.base_timestamp.to_be_bytes());
        batch[35..43].copy_from_slice(&self.max_timestamp.to_be_bytes());
        batch[57..61].copy_from_slice(&self.count.to_be_bytes());
        Self::write_producer(batch, self.producer_id, self.producer_epoch, self.base_sequence);
    }

    /// Writes who produced `batch`, and the sequence number of its first record, into its header, and renews the CRC.
    pub(crate) fn write_producer(batch: &mut [u8], id: i64, epoch: i16, base_sequence: i32) {
        batch[43..51].copy_from_slice(&id.to_be_bytes());
        batch[51..53].copy_from_slice(&epoch.to_be_bytes());
        batch[53..57].copy_from_slice(&base_sequence.to_be_bytes());
        write_crc(batch);
    }

    /// The last offset that the batch covers; `None` where the header can't be right.
    pub(crate) fn last_offset(&self) -> Option<i64> {
        let valid = self.base_offset >= 0 && self.last_offset_delta >= 0;
        // The offset after it must be a number, too.
        let last = self.base_offset.checked_add(i64::from(self.last_offset_delta)).filter(|&last| last < i64::MAX);
        last.filter(|_| valid)
    }

    /// The epoch of the leader that appended it; `None` where there was none yet.
    pub(super) fn known_leader_epoch(&self) -> Option<i32> {
        Some(self.leader_epoch).filter(|&epoch| epoch >= 0)
    }

    /// How many records it holds, unless they can't fit into `body` bytes.
    pub(super) fn plausible_count(&self, body: usize) -> Option<usize> {
        usize::try_from(self.count).ok().filter(|&count| count <= body / SMALLEST_RECORD)
    }

    /// The number of the codec that its records are compressed with; 0 is none.
    pub(crate) fn codec(&self) -> i16 {
        self.attributes & 7
    }

    /// Whether it belongs to a transaction.
    pub(crate) fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL != 0
    }

    /// Whether it holds control records (transaction markers), which are not for users.
    pub(crate) fn is_control(&self) -> bool {
        self.attributes & CONTROL != 0
    }

    /// Whether its records are compressed.
    pub(crate) fn is_compressed(&self) -> bool {
        self.codec() != 0
    }

    /// Whether the broker, not the producer, set its timestamps.
    pub(crate) fn is_append_time(&self) -> bool {
        self.attributes & APPEND_TIME != 0
    }
}

pub(super) fn write_crc(batch: &mut [u8]) {
    let crc = crc32c::crc32c(&batch[CRC_END..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
}

fn at<const N: usize>(fields: &[u8; HEADER_LENGTH], offset: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&fields[offset..offset + N]);
    bytes
}
