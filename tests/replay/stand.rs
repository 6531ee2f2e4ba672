//! A topic whose records failed, with their dead letters, to be replayed.

use std::sync::Arc;

use bezoar::broker::Ports;
use bezoar::dead_letter::{DeadLetterContext, DeadLetterFormat, Rung, fingerprint};
use bezoar::policy::Category;
use bezoar::record::{Header, ProducerRecord, Record, RecordId};
use bezoar::replay::{DeadLetters, Entry, Filter, Outcome, Progress, ReplayOptions, ReplayReport, Selection, States};

use crate::fixture::{Fixture, Owned, partition, unique};

/// A topic, and the dead-letter topic that its name vouches for.
pub(crate) struct Stand {
    pub(crate) fixture: Fixture,
    pub(crate) source: String,
    pub(crate) dead: String,
    pub(crate) partitions: i32,
}

impl Stand {
    pub(crate) async fn new(partitions: i32) -> Self {
        Self::on(Fixture::native().await, partitions).await
    }

    pub(crate) async fn on(fixture: Fixture, partitions: i32) -> Self {
        let source = unique("orders");
        let dead = format!("{source}.dlq");
        let stand = Self { fixture, source, dead, partitions };
        stand.create(&stand.source).await;
        stand.create(&stand.dead).await;
        stand
    }

    /// Makes a topic.
    pub(crate) async fn create(&self, name: &str) {
        self.fixture.create(name, self.partitions).await;
        for number in 0..self.partitions {
            let at = partition(name, number);
            self.fixture.ports.admin.offset(at, bezoar::broker::OffsetSpec::Latest).await.unwrap();
        }
    }

    /// Ports of their own.
    pub(crate) async fn ports(&self) -> Ports {
        self.fixture.with(|settings| settings.fetch_max_wait = std::time::Duration::from_millis(100)).await
    }

    /// The dead letters, over ports of their own.
    pub(crate) async fn letters(&self) -> DeadLetters {
        DeadLetters::new(self.ports().await, [self.dead.as_str()])
    }

    /// Puts records into a partition of the source, and dead letters of them into that of the dead-letter topic.
    pub(crate) async fn fail(&self, number: i32, records: Vec<ProducerRecord>) {
        let offsets = self.fixture.produce(&partition(&self.source, number), records).await;
        let failed = self.records_from(&self.source, number, offsets[0]).await;
        let letters = failed.iter().map(|record| letter(record, Rung::Full, &DeadLetterFormat::default())).collect();
        self.fixture.produce(&partition(&self.dead, number), letters).await;
    }

    /// The same for records that only have a value, and the partition's number as key.
    pub(crate) async fn fail_values(&self, number: i32, values: impl IntoIterator<Item = i32>) {
        let record = |value: i32| ProducerRecord::to("").key(number.to_string()).value(value.to_string());
        self.fail(number, values.into_iter().map(record).collect()).await;
    }

    /// All records of a partition from an offset on.
    pub(crate) async fn records_from(&self, topic: &str, number: i32, from: i64) -> Vec<Record> {
        let ports = self.ports().await;
        let at = partition(topic, number);
        let end = ports.admin.offset(at.clone(), bezoar::broker::OffsetSpec::Latest).await.unwrap();
        let reading = self.fixture.read_over(&ports, &at, from, 64 << 20).await;
        let mut records = Vec::new();
        let mut position = from;
        while position < end {
            let batch = reading.batch().await;
            position = batch.next_offset();
            records.extend(batch.iter().filter(|record| record.offset() >= from));
        }
        ports.source.remove(&at);
        records
    }

    /// What was sent to the source besides what was there before: the records that are replays, of a partition.
    pub(crate) async fn replayed(&self, topic: &str, number: i32) -> Vec<Owned> {
        let records = self.records_from(topic, number, 0).await;
        records.into_iter().map(Owned::from).filter(|record| header(record, "bezoar.replay.of").is_some()).collect()
    }

    /// The values of all replays in the source, in their order per partition.
    pub(crate) async fn replayed_values(&self) -> Vec<String> {
        let mut values = Vec::new();
        for number in 0..self.partitions {
            let replayed = self.replayed(&self.source, number).await;
            values.extend(replayed.into_iter().map(|it| String::from_utf8(it.value.unwrap()).unwrap()));
        }
        values
    }

    pub(crate) async fn replay(&self, options: &ReplayOptions) -> (ReplayReport, Vec<Progress>) {
        self.replay_these(&Selection::Matching(Filter::new()), options).await
    }

    pub(crate) async fn replay_these(
        &self,
        selection: &Selection,
        options: &ReplayOptions,
    ) -> (ReplayReport, Vec<Progress>) {
        let mut told = Vec::new();
        let letters = self.letters().await;
        let report = letters.replay(selection, options, |progress| told.push(progress.clone())).await.unwrap();
        assert_eq!(report.success + report.failed + report.skipped, told.len() as u64);
        (report, told)
    }

    /// All dead letters, resolved or not.
    pub(crate) async fn all(&self) -> Vec<Entry> {
        let letters = self.letters().await;
        letters.list(&Filter::new().states(States::All), 100_000).await.unwrap().entries
    }

    /// The place of a dead letter.
    pub(crate) fn at(&self, number: i32, offset: i64) -> RecordId {
        RecordId { topic_id: None, partition: partition(&self.dead, number), offset }
    }
}

/// The dead letter of a record, as a consumer would write it.
pub(crate) fn letter(record: &Record, rung: Rung, format: &DeadLetterFormat) -> ProducerRecord {
    let (category, error_type, message) = (Category::Poison, "panic".to_owned(), "boom".to_owned());
    let replay_count = record.headers().text("bezoar.replay.count").and_then(|count| count.parse().ok()).unwrap_or(0);
    let context = DeadLetterContext {
        source: record.id(),
        source_timestamp: Some(record.timestamp()),
        group: Some("fulfilment".into()),
        attempts: Some(1),
        category,
        fingerprint: fingerprint(category, &error_type, &message, None),
        error_type,
        message,
        backtrace: None,
        first_failed_at: None,
        last_failed_at: None,
        consumer_id: None,
        consumer_version: None,
        replay_count,
    };
    context.encode(record, format, rung, "")
}

/// The text of a header.
pub(crate) fn header(record: &Owned, name: &str) -> Option<String> {
    let header = record.headers.iter().rev().find(|header| header.name == name.as_bytes())?;
    header.value.as_ref().map(|value| String::from_utf8(value.to_vec()).unwrap())
}

/// Headers without those of the replay.
pub(crate) fn without_lineage(headers: &[Header]) -> Vec<Header> {
    headers.iter().filter(|header| !header.name.starts_with(b"bezoar.replay.")).cloned().collect()
}

pub(crate) fn options(change: impl FnOnce(&mut ReplayOptions)) -> ReplayOptions {
    let mut options = ReplayOptions::default();
    change(&mut options);
    options
}

/// The outcomes, in the order of the letters' places.
pub(crate) fn outcomes(mut told: Vec<Progress>) -> Vec<Outcome> {
    told.sort_by(|one, other| one.at.cmp(&other.at));
    told.into_iter().map(|progress| progress.outcome).collect()
}

pub(crate) fn name(topic: &str) -> Arc<str> {
    topic.into()
}
