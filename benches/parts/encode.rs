//! From a dead letter to the record that is published, in each format, and back.

use bezoar::Failure;
use bezoar::classifier::{ErrorTypes, Evidence, FailureKind};
use bezoar::dead_letter::{DeadLetterContext, DeadLetterFormat, Profile, Rung};
use bezoar::policy::Category;
use bezoar::record::{HeaderRef, ProducerRecord, Record, RecordBatchBuilder, TopicPartition};
use bezoar::replay::DeadLetter;
use divan::Bencher;

use super::support::records;

const FORMATS: [&str; 6] = ["headers", "plain", "spring", "connect", "envelope", "without value"];

fn format(name: &str) -> (DeadLetterFormat, Rung) {
    let format = DeadLetterFormat::default();
    match name {
        "plain" => (format.profile(Profile::Plain), Rung::Full),
        "spring" => (format.profile(Profile::Spring), Rung::Full),
        "connect" => (format.profile(Profile::Connect), Rung::Full),
        "envelope" => (format.profile(Profile::Envelope), Rung::Full),
        "without value" => (format, Rung::WithoutValue),
        _ => (format, Rung::Full),
    }
}

fn evidence() -> Evidence {
    let failure = Failure::validation("the order has no items").context("order 15034");
    let mut evidence = Evidence::from_failure(FailureKind::Handler, &failure, &ErrorTypes::default());
    evidence.backtrace = Some("   0: orders::fulfil\n             at src/orders.rs:120:9\n".repeat(60));
    evidence
}

fn context(record: &Record, evidence: &Evidence) -> DeadLetterContext {
    let mut context = DeadLetterContext::new(record, Category::Validation, evidence);
    context.group = Some("fulfilment".into());
    context.attempts = Some(1);
    context.first_failed_at = Some(1_700_000_000_000);
    context.last_failed_at = Some(1_700_000_000_000);
    context
}

fn record() -> Record {
    records::some(1).remove(0)
}

/// The failure's context with its fingerprint.
#[divan::bench]
fn context_of_a_failure(bencher: Bencher<'_, '_>) {
    let (record, evidence) = (record(), evidence());
    bencher.bench_local(|| context(&record, &evidence));
}

#[divan::bench(args = FORMATS)]
fn encode(bencher: Bencher<'_, '_>, name: &str) {
    let record = record();
    let context = context(&record, &evidence());
    let (format, rung) = format(name);
    bencher.bench_local(|| context.encode(&record, &format, rung, "orders.dlq.validation"));
}

/// A dead letter as it is fetched.
fn fetched(published: &ProducerRecord) -> Record {
    let mut batch = RecordBatchBuilder::new(TopicPartition::new("orders.dlq.validation", 0), None);
    let headers = published.headers.iter();
    let headers = headers.map(|header| HeaderRef { name: &header.name, value: header.value.as_deref() });
    batch.push(0, 0, published.key.as_deref(), published.value.as_deref(), headers);
    batch.build(1).get(0).expect("it is there")
}

#[divan::bench(args = FORMATS)]
fn read_back(bencher: Bencher<'_, '_>, name: &str) {
    let record = record();
    let (format, rung) = format(name);
    let letter = fetched(&context(&record, &evidence()).encode(&record, &format, rung, "orders.dlq.validation"));
    bencher.bench_local(|| DeadLetter::from_record(&letter));
}
