use std::collections::HashMap;

use bytes::{Bytes, BytesMut};

use super::Log;
use super::batch::Batch;
use crate::broker::batch::{BatchHeader, BatchWriter, StoredRecord};

impl Log {
    /// Keeps only the last record of each key, as Kafka's log cleaner does: offsets stay what they are, batches cover
    /// as many as before though they hold fewer records, and the last batch of each producer stays even if it is
    /// empty, so that its sequence number is known. Records of aborted transactions and without a key go; markers and
    /// tombstones stay; nothing from the first open transaction on is touched.
    pub(crate) fn compact(&mut self) {
        let limit = self.last_stable();
        let mut last_of_key: HashMap<Bytes, i64> = HashMap::new();
        let mut last_of_producer: HashMap<i64, i64> = HashMap::new();
        for batch in self.batches.iter().filter(|batch| !batch.header.is_control()) {
            last_of_producer.insert(batch.header.producer_id, batch.header.base_offset);
            if batch.header.base_offset >= limit {
                continue;
            }
            for record in batch.records().unwrap_or_default() {
                if self.transactions.is_aborted(record.producer_id, record.offset, record.transactional) {
                    continue;
                }
                if let Some(key) = record.key {
                    last_of_key.insert(key, record.offset);
                }
            }
        }
        let before = std::mem::take(&mut self.batches);
        for batch in before {
            let header = batch.header;
            let records = batch.records().filter(|_| !header.is_control() && header.base_offset < limit);
            let Some(mut records) = records else {
                self.batches.push_back(batch);
                continue;
            };
            let all = records.len();
            records.retain(|record| {
                record.key.as_ref().and_then(|key| last_of_key.get(key)) == Some(&record.offset)
                    && !self.transactions.is_aborted(record.producer_id, record.offset, record.transactional)
            });
            let is_last_of_producer =
                header.producer_id >= 0 && last_of_producer.get(&header.producer_id) == Some(&header.base_offset);
            if records.len() == all {
                self.batches.push_back(batch);
            } else if (!records.is_empty() || is_last_of_producer)
                && let Some(shrunk) = shrink(&batch, &records)
            {
                self.batches.push_back(shrunk);
            }
        }
    }
}

/// A batch with only these of its records, over the same range of offsets. They are no longer compressed.
fn shrink(batch: &Batch, records: &[StoredRecord]) -> Option<Batch> {
    /// The bits of a batch's attributes that say how it is compressed.
    const CODEC: i16 = 7;
    let before = batch.header;
    let mut writer = BatchWriter::new()
        .timestamp(before.max_timestamp)
        .producer(before.producer_id, before.producer_epoch, before.base_sequence)
        .attributes(before.attributes & !CODEC)
        .last_offset_delta(before.last_offset_delta);
    for record in records {
        let delta = i32::try_from(record.offset - before.base_offset).ok()?;
        writer = writer.timestamp(record.timestamp).record_at(
            delta,
            record.key.as_deref(),
            record.value.as_deref(),
            record.headers.clone(),
        );
    }
    let mut bytes = BytesMut::from(&writer.build()[..]);
    let mut header = BatchHeader::check(&bytes).ok()?;
    header.set_base(&mut bytes, before.base_offset, before.leader_epoch);
    Some(Batch { header, bytes: bytes.freeze() })
}
