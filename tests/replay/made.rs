//! Dead letters made by hand, as a consumer would write them.

use bezoar::dead_letter::{DeadLetterContext, DeadLetterFormat, Rung, fingerprint};
use bezoar::policy::Category;
use bezoar::record::{Header, HeaderRef, ProducerRecord, RecordBatchBuilder, RecordId, TopicPartition};
use bezoar::replay::{DeadLetters, Entry, Filter, Listing};

use crate::fixture::{Fixture, partition};

/// When the first dead letters are published.
pub(crate) const TIME: i64 = 1_700_000_000_000;

/// A dead letter to be published. The defaults: poison from `orders/0`, published at [`TIME`] plus the offset.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) topic: &'static str,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) category: Category,
    pub(crate) error_type: &'static str,
    pub(crate) message: String,
    pub(crate) key: Option<&'static str>,
    pub(crate) headers: Vec<Header>,
    pub(crate) value: Vec<u8>,
    pub(crate) published: i64,
    pub(crate) replay_count: u32,
}

impl Made {
    /// Of the source record at this offset.
    pub(crate) fn of(offset: i64) -> Self {
        Self {
            topic: "orders",
            partition: 0,
            offset,
            category: Category::Poison,
            error_type: "panic",
            message: format!("boom at {offset}"),
            key: Some("shop-1"),
            headers: vec![Header::new("trace", "1")],
            value: b"{}".to_vec(),
            published: TIME + offset,
            replay_count: 0,
        }
    }

    pub(crate) fn record(&self) -> ProducerRecord {
        let partition = TopicPartition::new(self.topic, self.partition);
        let source = RecordId { topic_id: None, partition: partition.clone(), offset: self.offset };
        let mut batch = RecordBatchBuilder::new(partition, None);
        let headers = self.headers.iter().map(|it| HeaderRef { name: &it.name, value: it.value.as_deref() });
        batch.push(self.offset, TIME, self.key.map(str::as_bytes), Some(&self.value), headers);
        let context = DeadLetterContext {
            source,
            source_timestamp: Some(TIME),
            group: Some("fulfilment".into()),
            attempts: Some(1),
            category: self.category,
            error_type: self.error_type.to_owned(),
            message: self.message.clone(),
            backtrace: None,
            first_failed_at: Some(TIME),
            last_failed_at: Some(TIME),
            consumer_id: None,
            consumer_version: None,
            replay_count: self.replay_count,
            fingerprint: fingerprint(self.category, self.error_type, &self.message, None),
        };
        let record = batch.build(self.offset + 1).get(0).unwrap();
        context.encode(&record, &DeadLetterFormat::default(), Rung::Full, "").timestamp(self.published)
    }
}

/// Publishes dead letters to a partition, in one batch.
pub(crate) async fn publish(fixture: &Fixture, topic: &str, number: i32, letters: impl IntoIterator<Item = Made>) {
    let records: Vec<_> = letters.into_iter().map(|letter| letter.record()).collect();
    fixture.produce(&partition(topic, number), records).await;
}

pub(crate) fn letters(fixture: &Fixture, topics: &[&str]) -> DeadLetters {
    DeadLetters::new(fixture.ports.clone(), topics.iter().copied())
}

/// The source offsets of what the filter lists.
pub(crate) async fn listed(letters: &DeadLetters, filter: &Filter) -> Vec<i64> {
    offsets(&letters.list(filter, Listing::LIMIT).await.unwrap().entries)
}

pub(crate) fn offsets(entries: &[Entry]) -> Vec<i64> {
    entries.iter().map(source).collect()
}

/// The source offset of a dead letter.
pub(crate) fn source(entry: &Entry) -> i64 {
    entry.letter.origin.offset.unwrap_or(-1)
}
