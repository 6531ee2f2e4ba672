//! From a dead letter to the record that is published, in each format, and back.

use bezoar::Failure;
use bezoar::classifier::{ErrorTypes, Evidence, FailureKind};
use bezoar::dead_letter::{DeadLetter, DeadLetterContext, DeadLetterFormat, Profile, Rung};
use bezoar::policy::Category;
use bezoar::record::Record;
use divan::Bencher;

use super::support::records;

const FORMATS: [&str; 4] = ["headers", "plain", "envelope", "without value"];

fn format(name: &str) -> (DeadLetterFormat, Rung) {
    let format = DeadLetterFormat::default();
    match name {
        "plain" => (format.profile(Profile::Plain), Rung::Full),
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

fn letter(record: &Record, evidence: &Evidence) -> DeadLetter {
    let mut context = DeadLetterContext::new(record, Category::Validation, evidence);
    context.group = Some("fulfilment".into());
    context.attempts = Some(1);
    context.first_failed_at = Some(1_700_000_000_000);
    context.last_failed_at = Some(1_700_000_000_000);
    DeadLetter::new(record, context)
}

fn record() -> Record {
    records::some(1).remove(0)
}

/// The letter itself: the record's parts, and the failure's context with its fingerprint.
#[divan::bench]
fn letter_of_a_failure(bencher: Bencher<'_, '_>) {
    let (record, evidence) = (record(), evidence());
    bencher.bench_local(|| letter(&record, &evidence));
}

#[divan::bench(args = FORMATS)]
fn encode(bencher: Bencher<'_, '_>, name: &str) {
    let letter = letter(&record(), &evidence());
    let (format, rung) = format(name);
    bencher.bench_local(|| letter.encode(&format, rung, "orders.dlq.validation"));
}

#[divan::bench(args = FORMATS)]
fn read_back(bencher: Bencher<'_, '_>, name: &str) {
    let (format, rung) = format(name);
    let published = letter(&record(), &evidence()).encode(&format, rung, "orders.dlq.validation");
    bencher.bench_local(|| {
        let (key, value) = (published.key.clone(), published.value.clone());
        DeadLetter::read(key, value, published.headers.clone()).expect("it can be read")
    });
}
