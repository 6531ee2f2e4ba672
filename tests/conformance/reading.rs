//! The source: what reaches feeds, and what is reported where nothing can.

use std::sync::Arc;
use std::time::Duration;

use bezoar::broker::{ErrorCode, OffsetSpec, SourceProblem};
use kafka_protocol::messages::DeleteRecordsRequest;
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};

use crate::fixture::{Fixture, Reading, eventually, partition, record, records};
use crate::wire;

pub(crate) async fn reading_begins_at_the_offset_asked_for(fixture: &Fixture) {
    let topic = fixture.topic(2).await;
    // One batch: the broker cannot but send what lies before the offset as well.
    fixture.produce(&partition(&topic, 1), records(0..10)).await;
    let reading = fixture.read(&partition(&topic, 1), 7).await;
    let batch = reading.batch().await;
    assert_eq!(batch.iter().map(|record| record.offset()).collect::<Vec<_>>(), [7, 8, 9]);
    assert_eq!(batch.next_offset(), 10);
    assert_eq!(batch.partition(), &partition(&topic, 1));
    let id = batch.get(0).unwrap().id();
    assert_eq!(id.topic_id, fixture.topic_id(&topic).await);
}

pub(crate) async fn records_that_arrive_later_are_read(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let reading = fixture.read(&partition(&topic, 0), 0).await;
    for value in 0..5 {
        fixture.produce(&partition(&topic, 0), records(value..value + 1)).await;
        assert_eq!(reading.values(1).await, [value.to_string()]);
    }
    assert_eq!(reading.problems(), []);
}

pub(crate) async fn a_record_larger_than_a_fetch_arrives(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let large = "x".repeat(300_000);
    fixture.produce(&partition(&topic, 0), vec![record("small")]).await;
    fixture.produce(&partition(&topic, 0), vec![record(&large)]).await;
    fixture.produce(&partition(&topic, 0), vec![record("small")]).await;
    let ports = fixture.with(|settings| settings.fetch_max_bytes = 1_000).await;
    let reading = Reading::new(&partition(&topic, 0), 2_000);
    ports.source.add(partition(&topic, 0), None, 0, Arc::clone(&reading.feed));
    assert_eq!(reading.values(3).await, ["small".to_owned(), large, "small".to_owned()]);
}

pub(crate) async fn a_feed_that_is_not_drained_stops_at_its_limit_while_another_goes_on(fixture: &Fixture) {
    let topic = fixture.topic(2).await;
    let (slow, fast) = (partition(&topic, 0), partition(&topic, 1));
    let value = "x".repeat(1_000);
    for _ in 0..100 {
        fixture.produce(&slow, vec![record(&value), record(&value)]).await;
        fixture.produce(&fast, vec![record(&value), record(&value)]).await;
    }
    let ports = fixture.with(|settings| settings.fetch_max_bytes = 4_000).await;
    let limit = 20_000;
    let (stalled, drained) = (Reading::new(&slow, limit), Reading::new(&fast, limit));
    ports.source.add(slow.clone(), None, 0, Arc::clone(&stalled.feed));
    ports.source.add(fast.clone(), None, 0, Arc::clone(&drained.feed));
    assert_eq!(drained.records(200).await.len(), 200);
    eventually("the other feed is full", || async { stalled.feed.credit() == Some(0) }).await;
    // It stays as it is: what it holds then is what it holds after further reading elsewhere.
    fixture.produce(&fast, records(0..1)).await;
    drained.records(1).await;
    let mut held = 0;
    let mut records = 0;
    // Draining gives credit back, which nobody is to use.
    ports.source.remove(&slow);
    while let Some(batch) = stalled.feed.front() {
        held += batch.cost();
        records += batch.len();
        stalled.feed.pop_front();
    }
    assert!(held < limit + 8_000, "{held} bytes held");
    assert!((10..40).contains(&records), "{records} records held");
}

pub(crate) async fn a_closed_feed_is_not_read_for_any_more(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    fixture.produce(&partition(&topic, 0), records(0..1)).await;
    let reading = fixture.read(&partition(&topic, 0), 0).await;
    reading.records(1).await;
    let feed = Arc::downgrade(&reading.feed);
    reading.feed.close();
    drop(reading);
    // The partition is still added, yet nothing holds the feed: the task that read for it has ended.
    eventually("the reading has ended", || async { feed.upgrade().is_none() }).await;
}

pub(crate) async fn a_removed_partition_is_not_read_any_more(fixture: &Fixture) {
    let topic = fixture.topic(2).await;
    let (removed, kept) = (partition(&topic, 0), partition(&topic, 1));
    let (first, second) = (fixture.read(&removed, 0).await, fixture.read(&kept, 0).await);
    fixture.produce(&removed, records(0..1)).await;
    first.records(1).await;
    fixture.ports.source.remove(&removed);
    fixture.produce(&removed, records(1..2)).await;
    fixture.produce(&kept, records(0..1)).await;
    second.records(1).await;
    assert!(first.feed.front().is_none());
    // Added anew, it goes on from wherever it is told to.
    assert_eq!(fixture.read(&removed, 1).await.values(1).await, ["1"]);
}

fn is_stopped(problems: &[SourceProblem]) -> bool {
    problems.iter().any(|problem| !matches!(problem, SourceProblem::Retrying(_) | SourceProblem::Recovered))
}

pub(crate) async fn an_offset_past_the_end_is_reported(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    fixture.produce(&partition(&topic, 0), records(0..3)).await;
    let problems = fixture.read(&partition(&topic, 0), 10).await.until(is_stopped).await;
    let expected = SourceProblem::OffsetOutOfRange { asked: 10, log_start: Some(0), log_end: Some(3) };
    assert_eq!(problems, [expected]);
}

pub(crate) async fn an_offset_before_the_start_is_reported(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..5)).await;
    delete_records(fixture, &topic, 3).await;
    assert_eq!(fixture.ports.admin.offset(partition.clone(), OffsetSpec::Earliest).await.unwrap(), 3);
    let problems = fixture.read(&partition, 1).await.until(is_stopped).await;
    assert_eq!(problems, [SourceProblem::OffsetOutOfRange { asked: 1, log_start: Some(3), log_end: Some(5) }]);
}

pub(crate) async fn a_recreated_topic_is_reported(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..3)).await;
    let id = fixture.topic_id(&topic).await;
    let reading = fixture.read(&partition, 0).await;
    reading.records(3).await;

    let admin = &fixture.ports.admin;
    admin.delete_topics(vec![topic.clone()]).await.unwrap();
    eventually("the topic is gone", || async { admin.topics(vec![topic.clone()]).await.unwrap() == [None] }).await;
    fixture.create(&topic, 1).await;
    assert_ne!(fixture.topic_id(&topic).await, id);
    // As long as the old log, and longer: without comparing ids, reading would go on at offset 3 of the new one.
    fixture.produce(&partition, records(0..6)).await;

    let problems = reading.until(is_stopped).await;
    assert_eq!(problems.last(), Some(&SourceProblem::TopicRecreated), "{problems:?}");
    assert!(reading.feed.front().is_none(), "a record of the new topic was taken for one of the old");
}

pub(crate) async fn a_topic_that_is_missing_is_waited_for(fixture: &Fixture) {
    let topic = crate::fixture::unique("late");
    let partition = partition(&topic, 0);
    let reading = Reading::new(&partition, 1 << 20);
    fixture.ports.source.add(partition.clone(), None, 0, Arc::clone(&reading.feed));
    let problems = reading.until(|problems| !problems.is_empty()).await;
    let [SourceProblem::Retrying(error)] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(fixture.ports.admin.topics(vec![topic.clone()]).await.unwrap(), [None], "looking creates nothing");
    fixture.create(&topic, 1).await;
    fixture.produce(&partition, records(0..1)).await;
    assert_eq!(reading.values(1).await, ["0"]);
    let problems = reading.problems();
    assert!(matches!(&problems[..], [SourceProblem::Retrying(_), SourceProblem::Recovered]), "{problems:?}");
}

/// Moves the start of a topic's one log, as retention does.
async fn delete_records(fixture: &Fixture, topic: &str, before: i64) {
    let wanted = DeleteRecordsPartition::default().with_partition_index(0).with_offset(before);
    let topic = DeleteRecordsTopic::default().with_name(wire::name(topic)).with_partitions(vec![wanted]);
    let request = DeleteRecordsRequest::default().with_topics(vec![topic]).with_timeout_ms(30_000);
    let answer = wire::call(&fixture.address, request, 1).await;
    assert_eq!(answer.topics[0].partitions[0].error_code, 0);
}
