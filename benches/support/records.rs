use std::sync::Arc;

use bezoar::broker::Feed;
use bezoar::record::{HeaderRef, Record, RecordBatch, RecordBatchBuilder, TopicPartition};
use serde::Deserialize;

/// The topic that benches read.
pub const TOPIC: &str = "orders";

/// As many records as a broker's batch of about 100 kB holds.
const BATCH: i64 = 500;

/// Prepares `count` orders as JSON, with a key and two headers, from offset 0 on.
pub fn orders(partition: &TopicPartition, count: i64) -> Arc<[RecordBatch]> {
    (0..count).step_by(BATCH as usize).map(|start| batch(partition, start, (start + BATCH).min(count))).collect()
}

/// A batch of orders with the offsets from `start` up to `end`.
pub fn batch(partition: &TopicPartition, start: i64, end: i64) -> RecordBatch {
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
}

/// What the records hold.
#[derive(Deserialize)]
pub struct Order {
    pub id: i64,
    pub customer: String,
    pub total: f64,
    pub items: Vec<String>,
}

/// The first `count` of [`orders`], one by one.
pub fn some(count: usize) -> Vec<Record> {
    orders(&TopicPartition::new(TOPIC, 0), count as i64).iter().flat_map(RecordBatch::iter).collect()
}

/// Pushes prepared batches into a feed as a source does: under credit.
pub async fn fill(feed: Arc<Feed>, batches: Arc<[RecordBatch]>) {
    for batch in batches.iter() {
        if feed.wait_for_credit().await.is_none() || !feed.push(batch.clone()) {
            return;
        }
    }
}
