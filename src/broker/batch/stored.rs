use super::header::{APPEND_TIME, BatchError, BatchHeader, LENGTH_END, write_crc};

/// What a broker does with a batch that it stores.
impl BatchHeader {
    /// Reads and checks the first batch in `bytes`, which may hold more after it.
    pub(crate) fn check(bytes: &[u8]) -> Result<Self, BatchError> {
        let header = Self::read(bytes)?;
        let Some(batch) = bytes.get(..header.size) else {
            let stated = (header.size - LENGTH_END) as i64;
            return Err(BatchError::Length { stated, there: bytes.len() - LENGTH_END });
        };
        header.verify(batch)?;
        Ok(header)
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
        write_crc(batch);
    }

    /// The sequence number of its last record; sequence numbers wrap from the largest `i32` to 0.
    pub(crate) fn last_sequence(&self) -> i32 {
        let last = i64::from(self.base_sequence) + i64::from(self.last_offset_delta);
        i32::try_from(last).unwrap_or((last - (1 << 31)) as i32)
    }
}
