use bytes::Bytes;

use crate::broker::batch::{BatchHeader, Decoding, Share, StoredRecord, decode, raw_records};
use crate::record::TopicPartition;

/// The most that one batch may decompress to, in bytes.
const MOST_DECOMPRESSED: usize = 256 << 20;

/// A record batch of the log, as its producer sent it but for offset and leader epoch.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) header: BatchHeader,
    pub(super) bytes: Bytes,
}

impl Batch {
    pub(super) fn last_offset(&self) -> i64 {
        self.header.base_offset + i64::from(self.header.last_offset_delta)
    }

    /// Its records; `None` where they are not what the batch states.
    pub(super) fn records(&self) -> Option<Vec<StoredRecord>> {
        let Self { header, bytes } = self;
        if header.is_compressed() {
            return decompressed(header, bytes);
        }
        Some(raw_records(bytes, header)?.into_iter().map(|record| record.to_stored(header)).collect())
    }
}

/// For each record of a batch, whether it has a key; `None` where the records are not what the batch states.
pub(crate) fn keys(header: &BatchHeader, bytes: &Bytes) -> Option<Vec<bool>> {
    if header.is_compressed() {
        return Some(decompressed(header, bytes)?.into_iter().map(|record| record.key.is_some()).collect());
    }
    Some(raw_records(bytes, header)?.into_iter().map(|record| record.key.is_some()).collect())
}

fn decompressed(header: &BatchHeader, bytes: &Bytes) -> Option<Vec<StoredRecord>> {
    let nowhere = TopicPartition::new("", 0);
    let decoding = Decoding {
        partition: &nowhere,
        topic_id: None,
        from: header.base_offset,
        aborted: None,
        max_decompressed: MOST_DECOMPRESSED,
        room: usize::MAX,
        share: Share { of: 0 },
    };
    let decoded = decode(bytes, decoding);
    let records = decoded.batches.iter().flat_map(|batch| batch.iter()).map(|record| StoredRecord {
        offset: record.offset(),
        timestamp: record.timestamp(),
        key: record.key_bytes(),
        value: record.value_bytes(),
        headers: record.headers().to_vec(),
        control: header.is_control(),
        transactional: header.is_transactional(),
        producer_id: header.producer_id,
    });
    let records: Vec<_> = records.collect();
    (decoded.damage.is_none() && i64::try_from(records.len()) == Ok(i64::from(header.count))).then_some(records)
}
