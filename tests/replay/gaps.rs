//! Logs with places where no dead letter is: none makes the reader stop or wait.

use std::ops::ControlFlow;
use std::time::Duration;

use bezoar::broker::OffsetSpec;
use bezoar::embedded::BatchWriter;
use bezoar::replay::{DeadLetters, Filter, ReplayError};

use crate::fixture::{Fixture, PATIENCE, eventually, partition};
use crate::made::{Made, letters, listed, publish, source};
use crate::transactional::Transactional;

/// Below the time after which reading that brings nothing is an error.
const SOON: Duration = Duration::from_secs(25);

/// Waits until the log ends at this offset: a real broker writes markers a moment after it was asked to.
async fn until_end(fixture: &Fixture, topic: &str, end: i64) {
    let found = async || fixture.ports.admin.offset(partition(topic, 0), OffsetSpec::Latest).await.unwrap();
    eventually("the log ends there", async || found().await == end).await;
}

/// The source offsets of all, -1 for what is no dead letter; it must come to its end by itself.
async fn all(fixture: &Fixture, topic: &str) -> Vec<i64> {
    tokio::time::timeout(SOON, listed(&letters(fixture, &[topic]), &Filter::new())).await.expect("it comes to its end")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn native_passes_markers_and_what_was_aborted() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(1).await;
    publish(&fixture, &topic, 0, [Made::of(0)]).await;
    let mut producer = Transactional::start(&fixture, &topic).await;
    producer.write(&["aborted"]).await;
    producer.abort().await;
    until_end(&fixture, &topic, 3).await;
    assert_eq!(all(&fixture, &topic).await, [0], "an aborted transaction ends the log");
    producer.write(&["committed"]).await;
    producer.commit().await;
    until_end(&fixture, &topic, 5).await;
    assert_eq!(all(&fixture, &topic).await, [0, -1], "a marker ends the log");
    publish(&fixture, &topic, 0, [Made::of(1)]).await;
    assert_eq!(all(&fixture, &topic).await, [0, -1, 1]);
}

/// What was aborted it cannot tell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rskafka_passes_markers() {
    let fixture = Fixture::rskafka().await;
    let topic = fixture.topic(1).await;
    publish(&fixture, &topic, 0, [Made::of(0)]).await;
    let mut producer = Transactional::start(&fixture, &topic).await;
    producer.write(&["committed"]).await;
    producer.commit().await;
    until_end(&fixture, &topic, 3).await;
    assert_eq!(all(&fixture, &topic).await, [0, -1], "a marker ends the log");
    publish(&fixture, &topic, 0, [Made::of(1)]).await;
    assert_eq!(all(&fixture, &topic).await, [0, -1, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_transaction_is_not_waited_for() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(1).await;
    let mut producer = Transactional::start(&fixture, &topic).await;
    producer.write(&["open"]).await;
    assert_eq!(all(&fixture, &topic).await, [0; 0], "nothing else is there");
    publish(&fixture, &topic, 0, [Made::of(0)]).await;
    assert_eq!(all(&fixture, &topic).await, [0; 0], "it lies behind what is not decided");
    producer.commit().await;
    until_end(&fixture, &topic, 3).await;
    publish(&fixture, &topic, 0, [Made::of(1)]).await;
    producer.write(&["open again"]).await;
    publish(&fixture, &topic, 0, [Made::of(2)]).await;
    assert_eq!(all(&fixture, &topic).await, [-1, 0, 1]);
    producer.commit().await;
    until_end(&fixture, &topic, 7).await;
    assert_eq!(all(&fixture, &topic).await, [-1, 0, 1, -1, 2]);
}

async fn compaction_is_passed(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    publish(fixture, &topic, 0, [Made::of(0)]).await;
    // Of the batch nothing is left but its range; it ends the log.
    broker.append_raw(&topic, 0, BatchWriter::new().last_offset_delta(4).build()).unwrap();
    assert_eq!(all(fixture, &topic).await, [0]);
    broker.leave_gap(&topic, 0, 1_000_000).unwrap();
    publish(fixture, &topic, 0, [Made::of(1)]).await;
    assert_eq!(all(fixture, &topic).await, [0, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_native_passes_what_compaction_left() {
    compaction_is_passed(&Fixture::native().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_rskafka_passes_what_compaction_left() {
    compaction_is_passed(&Fixture::rskafka().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_damaged_ranges_are_counted_and_passed() {
    let fixture = Fixture::native().await;
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let garbage = || BatchWriter::new().record(None, Some(b"x"), vec![]).last_offset_delta(7).attributes(1).build();
    publish(&fixture, &topic, 0, [Made::of(0)]).await;
    broker.append_raw(&topic, 0, garbage()).unwrap();
    publish(&fixture, &topic, 0, [Made::of(1)]).await;
    broker.append_raw(&topic, 0, garbage()).unwrap();
    let letters = letters(&fixture, &[&topic]);
    let listing = letters.list(&Filter::new(), 10).await.unwrap();
    assert_eq!((listing.matched, listing.unreadable), (2, 2));
    let groups = letters.groups(&Filter::new()).await.unwrap();
    assert_eq!((groups[0].count, groups.unreadable), (2, 2));
    let stats = &letters.stats().await.unwrap()[0];
    assert_eq!((stats.total, stats.unreadable), (2, 2));
    // What lies before the time is not even read.
    let scanned = letters.for_each(&Filter::new().since(Made::of(1).published), |_| ControlFlow::Continue(())).await;
    assert_eq!(scanned.map(|it| (it.matched, it.unreadable)), Ok((1, 1)));
    let mut at = listing.entries[0].at.clone();
    at.offset = 3;
    let refused = letters.show(&at).await.unwrap_err();
    assert!(matches!(&refused, ReplayError::Unreadable { at: found, .. } if *found == at.to_string()), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_that_overtakes_the_reader_is_no_error() {
    const ALL: i64 = 400;
    let fixture = Fixture::native().await;
    let topic = fixture.topic(1).await;
    // More than is fetched ahead.
    let large = |offset| Made { value: vec![b'x'; 50_000], ..Made::of(offset) };
    for start in (0..ALL).step_by(10) {
        publish(&fixture, &topic, 0, (start..start + 10).map(large)).await;
    }
    let (runtime, admin) = (tokio::runtime::Handle::current(), &fixture.ports.admin);
    let mut found = Vec::new();
    let each = |entry| {
        if found.is_empty() {
            let deletion = admin.delete_records(partition(&topic, 0), ALL - 10);
            let start = tokio::task::block_in_place(|| runtime.block_on(deletion)).unwrap();
            assert_eq!(start, ALL - 10);
        }
        found.push(source(&entry));
        ControlFlow::Continue(())
    };
    let letters = letters(&fixture, &[&topic]);
    let filter = Filter::new();
    tokio::time::timeout(PATIENCE, letters.for_each(&filter, each)).await.expect("it goes on").unwrap();
    let tail: Vec<_> = (ALL - 10..ALL).collect();
    assert!(found.ends_with(&tail) && found.is_sorted(), "{found:?}");
    assert!(found.len() < ALL as usize, "some were gone before they were read");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_created_anew_is_an_error() {
    let fixture = Fixture::native().await;
    let topic = fixture.topic(1).await;
    let large = |offset| Made { value: vec![b'x'; 50_000], ..Made::of(offset) };
    for start in (0..400).step_by(10) {
        publish(&fixture, &topic, 0, (start..start + 10).map(large)).await;
    }
    let (runtime, mut anew) = (tokio::runtime::Handle::current(), false);
    let each = |_| {
        if !std::mem::replace(&mut anew, true) {
            tokio::task::block_in_place(|| runtime.block_on(create_anew(&fixture, &topic)));
        }
        ControlFlow::Continue(())
    };
    let letters = DeadLetters::new(fixture.ports.clone(), [topic.as_str()]);
    let failed = tokio::time::timeout(PATIENCE, letters.for_each(&Filter::new(), each)).await.expect("it ends");
    let failed = failed.unwrap_err();
    assert!(matches!(&failed, ReplayError::Changed { problem, .. } if problem.contains("created anew")), "{failed}");
}

async fn create_anew(fixture: &Fixture, topic: &str) {
    fixture.ports.admin.delete_topics(vec![topic.to_owned()]).await.unwrap();
    // A real broker deletes in the background.
    let again = async {
        while fixture.ports.admin.topics(vec![topic.to_owned()]).await.unwrap()[0].is_some() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        fixture.create(topic, 1).await;
        fixture.ports.admin.offset(partition(topic, 0), OffsetSpec::Latest).await.unwrap();
    };
    tokio::time::timeout(PATIENCE, again).await.expect("the topic can be created again");
}
