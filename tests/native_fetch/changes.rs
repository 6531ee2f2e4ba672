//! Logs that are cut back, begin later, or become other logs.

use std::time::Duration;

use bezoar::broker::{ReadIsolation, SourceProblem};
use bezoar::embedded::{Api, BatchWriter, Fault};
use bezoar::record::TopicPartition;

use crate::reader::{Reading, append, broker, eventually, numbers, orders};
use crate::spy::Spy;

#[tokio::test]
async fn a_new_leader_that_lost_nothing_goes_on() {
    let broker = broker().await;
    // 11 asks for the end of the epoch first, 12 and later name the epoch in the fetch itself.
    for version in [8, 11, 12, 17] {
        let spy = Spy::on(&broker).most_fetch(version);
        let source = spy.source(|_| {}).await;
        let start = broker.end_offset("orders", 0).unwrap();
        append(&broker, &orders(0), numbers(0..3));
        let reading = Reading::begin(&source, &broker, &orders(0), start);
        assert_eq!(reading.values(3, start).await, numbers(0..3));
        broker.bump_leader_epoch("orders", 0).unwrap();
        append(&broker, &orders(0), numbers(3..6));
        assert_eq!(reading.values(3, start + 3).await, numbers(3..6), "version {version}");
        assert_eq!(spy.validations(), usize::from(version == 11), "version {version}");
    }
}

#[tokio::test]
async fn a_log_that_was_cut_back_is_reported_with_the_place() {
    let broker = broker().await;
    for version in [11, 17] {
        let spy = Spy::on(&broker).most_fetch(version);
        let source = spy.source(|_| {}).await;
        let start = broker.end_offset("orders", 0).unwrap();
        append(&broker, &orders(0), numbers(0..6));
        let reading = Reading::begin(&source, &broker, &orders(0), start);
        assert_eq!(reading.values(6, start).await, numbers(0..6));
        broker.truncate("orders", 0, start + 4).unwrap();
        // Longer again than what was read: by its length nothing could be told.
        append(&broker, &orders(0), ["others", "others", "others", "others"]);
        let expected = SourceProblem::LogTruncated { asked: start + 6, diverged_at: start + 4 };
        assert_eq!(reading.stopped().await, expected, "version {version}");
        assert!(reading.feed.front().is_none(), "version {version}");
    }
}

#[tokio::test]
async fn an_offset_that_retention_overtook_is_reported() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|settings| settings.fetch_max_bytes = 1).await;
    append(&broker, &orders(0), vec!["x".repeat(1_000); 10]);
    let reading = Reading::begin_within(&source, &broker, &orders(0), 0, 1_500);
    eventually("the feed is full", || reading.feed.credit() == Some(0)).await;
    broker.delete_records_before("orders", 0, 9).unwrap();
    while reading.feed.front().is_some() {
        reading.feed.pop_front();
    }
    let problem = reading.stopped().await;
    let SourceProblem::OffsetOutOfRange { asked, log_start, log_end } = problem else { panic!("{problem:?}") };
    assert!((1..9).contains(&asked));
    assert_eq!((log_start, log_end), (Some(9), Some(10)));
}

#[tokio::test]
async fn an_offset_that_is_in_the_log_after_all_is_read() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), numbers(0..3));
    broker.inject(Fault::on(Api::Fetch).topic("orders").error(bezoar::broker::ErrorCode::OFFSET_OUT_OF_RANGE));
    let reading = Reading::begin(&source, &broker, &orders(0), 1);
    assert_eq!(reading.values(2, 1).await, numbers(1..3));
    reading.one_streak().await;
}

#[tokio::test]
async fn a_topic_created_anew_is_reported_also_where_fetches_know_only_names() {
    let broker = broker().await;
    for (version, offset) in [(11, 5), (17, 5), (12, 1)] {
        let spy = Spy::on(&broker).most_fetch(version);
        let source = spy.source(|_| {}).await;
        append(&broker, &orders(0), numbers(0..5));
        let reading = Reading::begin(&source, &broker, &orders(0), offset);
        reading.values(5 - offset as usize, offset).await;
        broker.recreate_topic("orders").unwrap();
        assert_eq!(reading.stopped().await, SourceProblem::TopicRecreated, "version {version}");
        assert!(reading.feed.front().is_none(), "version {version}");
    }
}

#[tokio::test]
async fn a_topic_created_anew_during_a_pause_is_not_taken_for_the_old_one() {
    let broker = broker().await;
    let spy = Spy::on(&broker).most_fetch(11);
    let source = spy.source(|settings| settings.fetch_max_bytes = 1).await;
    append(&broker, &orders(0), vec!["x".repeat(1_000); 10]);
    let reading = Reading::begin_within(&source, &broker, &orders(0), 0, 1_500);
    let other = Reading::begin(&source, &broker, &orders(1), 0);
    eventually("the feed is full", || reading.feed.credit() == Some(0)).await;
    broker.recreate_topic("orders").unwrap();
    append(&broker, &orders(0), vec!["new"; 20]);
    tokio::time::sleep(Duration::from_millis(800)).await;
    while let Some(batch) = reading.feed.front() {
        assert!(batch.iter().all(|record| record.value() != Some(b"new")));
        reading.feed.pop_front();
    }
    assert_eq!(reading.stopped().await, SourceProblem::TopicRecreated);
    assert!(reading.feed.front().is_none(), "nothing of the new topic");
    assert_eq!(other.stopped().await, SourceProblem::TopicRecreated);
}

#[tokio::test]
async fn a_topic_that_is_another_one_already_is_reported() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    let reading = Reading::new(&orders(3), 1 << 20);
    let id = broker.topic_id("orders");
    broker.delete_topic("orders").unwrap();
    // With fewer partitions than before.
    broker.create_topic("orders", 1).unwrap();
    source.add(orders(3), id, 0, std::sync::Arc::clone(&reading.feed));
    assert_eq!(reading.stopped().await, SourceProblem::TopicRecreated);
}

#[tokio::test]
async fn a_deleted_topic_is_waited_for_and_its_neighbours_are_read() {
    let broker = broker().await;
    broker.create_topic("other", 1).unwrap();
    let other = TopicPartition::new("other", 0);
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), numbers(0..3));
    let (deleted, kept) =
        (Reading::begin(&source, &broker, &orders(0), 0), Reading::begin(&source, &broker, &other, 0));
    assert_eq!(deleted.values(3, 0).await, numbers(0..3));
    broker.delete_topic("orders").unwrap();
    let problems = deleted.until(|problems| !problems.is_empty()).await;
    assert!(matches!(&problems[..], [SourceProblem::Retrying(_)]), "{problems:?}");
    append(&broker, &other, numbers(0..3));
    assert_eq!(kept.values(3, 0).await, numbers(0..3));
    assert_eq!(kept.problems(), []);
}

#[tokio::test]
async fn topics_with_and_without_known_ids_are_read_together() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), numbers(0..3));
    append(&broker, &orders(1), numbers(0..3));
    let known = Reading::begin(&source, &broker, &orders(0), 0);
    let unknown = Reading::new(&orders(1), 1 << 20);
    source.add(orders(1), None, 0, std::sync::Arc::clone(&unknown.feed));
    assert_eq!(known.values(3, 0).await, numbers(0..3));
    assert_eq!(unknown.values(3, 0).await, numbers(0..3));
    // Its id is what the broker said first.
    broker.recreate_topic("orders").unwrap();
    assert_eq!(unknown.stopped().await, SourceProblem::TopicRecreated);
}

#[tokio::test]
async fn aborted_records_are_read_only_by_those_who_want_them() {
    let broker = broker().await;
    append(&broker, &orders(0), ["before"]);
    let aborted = BatchWriter::new().record(None, Some(b"aborted"), vec![]).producer(7, 0, 0).transactional().build();
    broker.append_raw("orders", 0, aborted).unwrap();
    broker.append_raw("orders", 0, BatchWriter::marker(7, 0, false).build()).unwrap();
    append(&broker, &orders(0), ["after"]);
    for (isolation, expected) in [
        (ReadIsolation::ReadCommitted, vec![(0, "before"), (3, "after")]),
        (ReadIsolation::ReadUncommitted, vec![(0, "before"), (1, "aborted"), (3, "after")]),
    ] {
        let spy = Spy::on(&broker);
        let source = spy.source(|settings| settings.read_isolation = isolation).await;
        let reading = Reading::begin(&source, &broker, &orders(0), 0);
        let mut found = Vec::new();
        while found.len() < expected.len() {
            for record in reading.batch().await.iter() {
                found.push((record.offset(), String::from_utf8(record.value().unwrap().to_vec()).unwrap()));
            }
        }
        let expected: Vec<_> = expected.into_iter().map(|(offset, value)| (offset, value.to_owned())).collect();
        assert_eq!(found, expected);
    }
}
