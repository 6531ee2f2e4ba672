use std::sync::Arc;

use bezoar::broker::Feed;
use bezoar::record::{HeaderRef, RecordBatch, RecordBatchBuilder, TopicPartition};

/// The topic that benches read.
pub const TOPIC: &str = "orders";

/// As many records as a broker's batch of about 100 kB holds.
const BATCH: i64 = 500;

/// Prepares `count` orders as JSON, with a key and two headers, from offset 0 on.
pub fn orders(partition: &TopicPartition, count: i64) -> Arc<[RecordBatch]> {
    let batch = |start: i64| {
        let end = (start + BATCH).min(count);
        let mut builder = RecordBatchBuilder::new(partition.clone(), None);
        for offset in start..end {
            let value = format!(
                r#"{{"id":{offset},"customer":"customer-{}","total":{}.5,"items":["tea","cup"]}}"#,
                offset % 1_000,
                offset % 100
            );
            let headers = [("trace", "4bf92f3577b34da6"), ("schema", "order-1")]
                .map(|(name, value)| HeaderRef { name: name.as_bytes(), value: Some(value.as_bytes()) });
            let key = (offset % 1_000).to_string();
            builder.push(offset, 1_700_000_000_000, Some(key.as_bytes()), Some(value.as_bytes()), headers.into_iter());
        }
        builder.build(end)
    };
    (0..count).step_by(BATCH as usize).map(batch).collect()
}

/// Pushes prepared batches into a feed as a source does: under credit.
pub async fn fill(feed: Arc<Feed>, batches: Arc<[RecordBatch]>) {
    for batch in batches.iter() {
        if feed.wait_for_credit().await.is_none() || !feed.push(batch.clone()) {
            return;
        }
    }
}
