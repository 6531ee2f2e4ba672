/// How many bytes lie before the records.
pub(crate) const HEADER_LENGTH: usize = 61;
/// How many bytes lie before those that the batch's own length counts.
const LENGTH_END: usize = 12;
/// The CRC covers all bytes from here on.
const CRC_END: usize = 21;
const APPEND_TIME: i16 = 1 << 3;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;

/// The header of a record batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchHeader {
    pub(crate) base_offset: i64,
    /// The bytes of the whole batch, header included.
    pub(crate) size: usize,
    pub(crate) attributes: i16,
    pub(crate) last_offset_delta: i32,
    pub(crate) base_timestamp: i64,
    pub(crate) max_timestamp: i64,
    pub(crate) producer_id: i64,
    pub(crate) producer_epoch: i16,
    pub(crate) base_sequence: i32,
    pub(crate) count: i32,
}

/// Why bytes are not a record batch that can be stored.
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

impl BatchHeader {
    /// Reads and checks the first batch in `bytes`, which may hold more after it.
    pub(crate) fn check(bytes: &[u8]) -> Result<Self, BatchError> {
        let fields: &[u8; HEADER_LENGTH] = bytes.first_chunk().ok_or(BatchError::TooShort(bytes.len()))?;
        let stated = i64::from(i32::from_be_bytes(at(fields, 8)));
        let magic = i8::from_be_bytes(at(fields, 16));
        if magic != 2 {
            return Err(BatchError::Magic(magic));
        }
        let size = usize::try_from(stated)
            .ok()
            .map(|stated| stated + LENGTH_END)
            .filter(|size| (HEADER_LENGTH..=bytes.len()).contains(size))
            .ok_or(BatchError::Length { stated, there: bytes.len() - LENGTH_END })?;
        let stated = u32::from_be_bytes(at(fields, 17));
        let computed = crc32c::crc32c(&bytes[CRC_END..size]);
        if stated != computed {
            return Err(BatchError::Crc { stated, computed });
        }
        let header = Self {
            base_offset: i64::from_be_bytes(at(fields, 0)),
            size,
            attributes: i16::from_be_bytes(at(fields, 21)),
            last_offset_delta: i32::from_be_bytes(at(fields, 23)),
            base_timestamp: i64::from_be_bytes(at(fields, 27)),
            max_timestamp: i64::from_be_bytes(at(fields, 35)),
            producer_id: i64::from_be_bytes(at(fields, 43)),
            producer_epoch: i16::from_be_bytes(at(fields, 51)),
            base_sequence: i32::from_be_bytes(at(fields, 53)),
            count: i32::from_be_bytes(at(fields, 57)),
        };
        if header.last_offset_delta < 0 {
            return Err(BatchError::OffsetDelta(header.last_offset_delta));
        }
        Ok(header)
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
        self.attributes & 7 != 0
    }

    /// Whether the broker, not the producer, set its timestamps.
    pub(crate) fn is_append_time(&self) -> bool {
        self.attributes & APPEND_TIME != 0
    }

    /// Sets what a broker sets on appending, here and in `batch`; the CRC does not cover it.
    pub(crate) fn set_base(&mut self, batch: &mut [u8], base_offset: i64, leader_epoch: i32) {
        self.base_offset = base_offset;
        batch[..8].copy_from_slice(&base_offset.to_be_bytes());
        batch[12..16].copy_from_slice(&leader_epoch.to_be_bytes());
    }

    /// Puts the broker's time in place of the producer's, here and in `batch`, and renews the CRC.
    pub(crate) fn set_append_time(&mut self, batch: &mut [u8], millis: i64) {
        self.attributes |= APPEND_TIME;
        self.max_timestamp = millis;
        batch[21..23].copy_from_slice(&self.attributes.to_be_bytes());
        batch[35..43].copy_from_slice(&millis.to_be_bytes());
        let crc = crc32c::crc32c(&batch[CRC_END..]);
        batch[17..21].copy_from_slice(&crc.to_be_bytes());
    }

    /// The sequence number of its last record; sequence numbers wrap from the largest `i32` to 0.
    pub(crate) fn last_sequence(&self) -> i32 {
        let last = i64::from(self.base_sequence) + i64::from(self.last_offset_delta);
        i32::try_from(last).unwrap_or((last - (1 << 31)) as i32)
    }
}

fn at<const N: usize>(fields: &[u8; HEADER_LENGTH], offset: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&fields[offset..offset + N]);
    bytes
}
