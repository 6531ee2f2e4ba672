use super::Log;
use crate::broker::batch::StoredRecord;

impl Log {
    /// Offset and timestamp of the first record with `timestamp` or a later one, below `limit`. Of a batch that cannot
    /// be read the first offset is taken.
    pub(crate) fn find_by_time(&self, timestamp: i64, limit: i64) -> Option<(i64, i64)> {
        self.readable(self.start, limit).filter(|batch| batch.header.max_timestamp >= timestamp).find_map(|batch| {
            match batch.records() {
                Some(records) => records
                    .into_iter()
                    .find(|record| record.timestamp >= timestamp && record.offset >= self.start)
                    .map(|record| (record.offset, record.timestamp)),
                None => Some((batch.header.base_offset.max(self.start), batch.header.max_timestamp)),
            }
        })
    }

    /// Offset and timestamp of the record with the largest timestamp.
    pub(crate) fn latest_by_time(&self) -> Option<(i64, i64)> {
        let largest = self.batches.iter().map(|batch| batch.header.max_timestamp).max()?;
        self.find_by_time(largest, self.end)
    }

    /// All records from the start on, control records included; `None` where a batch cannot be read.
    pub(crate) fn records(&self) -> Option<Vec<StoredRecord>> {
        let mut all = Vec::new();
        for batch in &self.batches {
            all.extend(batch.records()?.into_iter().filter(|record| record.offset >= self.start));
        }
        Some(all)
    }
}
