//! What is asked for.

use std::time::Duration;

use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, Broker, Fault};
use kafka_protocol::messages::FetchRequest;

use crate::reader::{Reading, append, broker, eventually, numbers, orders};
use crate::spy::Spy;

fn named(request: &FetchRequest) -> usize {
    request.topics.iter().map(|topic| topic.partitions.len()).sum()
}

#[tokio::test]
async fn a_session_names_only_what_has_changed() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    let readings: Vec<_> = (0..4).map(|number| Reading::begin(&source, &broker, &orders(number), 0)).collect();
    for round in 0..3 {
        append(&broker, &orders(2), numbers(round..round + 1));
        assert_eq!(readings[2].values(1, round as i64).await, numbers(round..round + 1));
    }
    // The request after the last record: the session has all, and one has moved on.
    eventually("a request has followed", || spy.fetches().last().is_some_and(|(_, last)| named(last) <= 1)).await;
    let fetches = spy.fetches();
    assert!(fetches.iter().all(|(version, _)| *version == 17));
    assert_eq!(named(&fetches[0].1), 4, "what is added together is asked for together");
    assert!(fetches[1..].iter().all(|(_, fetch)| fetch.session_id != 0 && named(fetch) <= 1), "{fetches:?}");
    assert!(readings.iter().all(|reading| reading.problems().is_empty()));
}

#[tokio::test]
async fn a_broker_without_sessions_is_read_as_well() {
    let broker = Broker::builder().fetch_sessions(0).start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    let broker = std::sync::Arc::new(broker);
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    let (first, second) =
        (Reading::begin(&source, &broker, &orders(0), 0), Reading::begin(&source, &broker, &orders(1), 0));
    append(&broker, &orders(0), numbers(0..5));
    assert_eq!(first.values(5, 0).await, numbers(0..5));
    append(&broker, &orders(1), numbers(0..5));
    assert_eq!(second.values(5, 0).await, numbers(0..5));
    assert!(spy.fetches().iter().all(|(_, fetch)| (fetch.session_id, fetch.session_epoch) == (0, 0)));
}

#[tokio::test]
async fn a_lost_session_is_begun_anew_and_nothing_is_reported() {
    let broker = broker().await;
    for code in [70, 71] {
        let spy = Spy::on(&broker);
        let source = spy.source(|_| {}).await;
        let reading = Reading::begin(&source, &broker, &orders(0), 0);
        eventually("a session is there", || spy.fetches().iter().any(|(_, fetch)| fetch.session_id != 0)).await;
        let fault = broker.inject(Fault::on(Api::Fetch).error(ErrorCode(code)));
        fault.wait_fired(1).await;
        let from = broker.end_offset("orders", 0).unwrap();
        append(&broker, &orders(0), ["news"]);
        let mut next = reading.batch().await;
        while next.next_offset() <= from {
            next = reading.batch().await;
        }
        assert_eq!(next.get(next.len() - 1).unwrap().value(), Some(&b"news"[..]));
        assert_eq!(reading.problems(), []);
    }
}

#[tokio::test]
async fn every_version_of_a_fetch_reads_the_same() {
    let broker = broker().await;
    append(&broker, &orders(1), numbers(0..20));
    for version in 4..=17 {
        let spy = Spy::on(&broker).most_fetch(version);
        let source = spy.source(|_| {}).await;
        let reading = Reading::begin(&source, &broker, &orders(1), 5);
        assert_eq!(reading.values(15, 5).await, numbers(5..20), "version {version}");
        assert!(spy.fetches().iter().all(|(used, _)| *used == version), "version {version}");
        assert_eq!(reading.problems(), [], "version {version}");
    }
}

#[tokio::test]
async fn settings_are_in_the_request() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy
        .source(|settings| {
            settings.fetch_min_bytes = 7;
            settings.fetch_max_bytes = 5_000;
            settings.fetch_max_bytes_per_broker = 9_000;
            settings.fetch_max_wait = Duration::from_millis(50);
        })
        .await;
    let large = Reading::begin(&source, &broker, &orders(0), 0);
    let small = Reading::begin_within(&source, &broker, &orders(1), 0, 3_000);
    eventually("a request that waits", || spy.fetches().len() > 2).await;
    let fetches = spy.fetches();
    let first = &fetches[0].1;
    assert_eq!((first.min_bytes, first.max_bytes, first.isolation_level), (7, 9_000, 1));
    let most: Vec<_> = first.topics[0].partitions.iter().map(|one| one.partition_max_bytes).collect();
    assert_eq!(most, [5_000, 3_000], "never more than there is credit for");
    assert_eq!(first.max_wait_ms, 0, "a newcomer's data may be there already");
    assert_eq!(fetches[1].1.max_wait_ms, 50);
    drop((large, small));
}
