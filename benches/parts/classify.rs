//! From a failure to a verdict, as the lane (evidence) and the classifier (category and decision) do it.

use std::io;
use std::time::Duration;

use bezoar::Failure;
use bezoar::classifier::{ErrorTypes, Evidence, FailureKind, Rules};
use bezoar::policy::{Category, Policies};
use divan::Bencher;

/// Failures that go different ways through the rules.
const FAILURES: [&str; 5] = ["stated", "by type", "by text", "unknown", "panic"];

#[derive(Debug, thiserror::Error)]
#[error("reserving stock of order {order} failed")]
struct Reserving {
    order: u64,
    source: io::Error,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Told(&'static str);

fn failure(name: &str) -> Failure {
    match name {
        "stated" => Failure::validation("the order has no items").context("order 15034"),
        "by type" => Failure::from(Reserving { order: 15_034, source: io::ErrorKind::ConnectionRefused.into() }),
        "by text" => Failure::from(Told("the inventory answered 503 Service Unavailable for order 15034")),
        _ => Failure::from(Told("the customer of order 15034 is not among those that may order this")),
    }
}

fn evidence(name: &str) -> Evidence {
    match name {
        "panic" => Evidence::panic(
            "index out of bounds: the len is 3 but the index is 15034",
            Some("src/orders.rs:120:9".to_owned()),
            Some("bezoar-lane-0"),
            None,
        ),
        name => Evidence::from_failure(FailureKind::Handler, &failure(name), &ErrorTypes::default()),
    }
}

/// What is known of a failure as plain data: its texts, types and facts.
#[divan::bench(args = FAILURES.split_last().map_or([].as_slice(), |(_, failures)| failures))]
fn evidence_of(bencher: Bencher<'_, '_>, name: &&str) {
    let (failure, types) = (failure(name), ErrorTypes::default());
    bencher.bench_local(|| Evidence::from_failure(FailureKind::Handler, &failure, &types));
}

/// From evidence to the category and what follows.
#[divan::bench(args = FAILURES)]
fn verdict_on(bencher: Bencher<'_, '_>, name: &str) {
    let (evidence, rules, policies) = (evidence(name), Rules::default(), Policies::default());
    bencher.bench_local(|| {
        let category = rules.classify(&evidence);
        policies.decide(category, 1, evidence.retry_after, 0.5)
    });
}

/// The wait before a retry by itself.
#[divan::bench]
fn backoff(bencher: Bencher<'_, '_>) {
    let policies = Policies::default();
    bencher
        .bench_local(|| -> Duration { policies.policy(Category::Transient).backoff.delay(divan::black_box(3), 0.5) });
}
