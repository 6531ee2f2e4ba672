//! Topics that are deleted and created anew with the same name: their offsets mean other records.

use std::sync::Arc;
use std::time::Duration;

use bezoar::broker::SourceProblem;

use crate::fixture::{Fixture, Owned, Reading, eventually, partition, record};

/// After so long without anything to read rskafka looks whether the topic is still the same one.
const PAUSE: Duration = Duration::from_secs(2);

/// Deletes a topic and creates it anew, at once where the broker can.
async fn recreate(fixture: &Fixture, topic: &str) {
    if let Some(broker) = &fixture.embedded {
        broker.recreate_topic(topic).unwrap();
        return;
    }
    let admin = &fixture.ports.admin;
    let id = fixture.topic_id(topic).await;
    admin.delete_topics(vec![topic.to_owned()]).await.unwrap();
    eventually("the topic is gone", || async { admin.topics(vec![topic.to_owned()]).await.unwrap() == [None] }).await;
    fixture.create(topic, 1).await;
    assert_ne!(fixture.topic_id(topic).await, id);
}

/// Fills the new topic far past where any reader of the old one stands.
async fn fill(fixture: &Fixture, topic: &str) {
    for _ in 0..3 {
        fixture.produce(&partition(topic, 0), vec![record("new"); 500]).await;
    }
}

fn assert_all_old(records: &[Owned]) {
    assert!(records.iter().all(|record| record.value.as_deref() != Some(b"new")), "a record of the new topic was read");
    assert!(records.iter().map(|record| record.offset).eq(0..records.len() as i64), "{records:?}");
}

pub(crate) async fn one_that_stays_empty_is_told_to_an_idle_reader(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    fixture.produce(&partition(&topic, 0), vec![record("old"); 5]).await;
    let reading = fixture.read(&partition(&topic, 0), 0).await;
    assert_eq!(reading.records(5).await.len(), 5);
    recreate(fixture, &topic).await;
    let (records, problem) = reading.drained().await;
    assert_eq!((records, problem), (vec![], SourceProblem::TopicRecreated));
}

pub(crate) async fn one_that_is_filled_is_told_to_a_reader_that_was_idle(fixture: &Fixture) {
    filled_under_an_idle_reader(fixture, PAUSE).await;
}

pub(crate) async fn one_that_is_filled_is_told_to_a_reader_that_has_just_read(fixture: &Fixture) {
    filled_under_an_idle_reader(fixture, Duration::ZERO).await;
}

async fn filled_under_an_idle_reader(fixture: &Fixture, pause: Duration) {
    for count in [1, 5] {
        let topic = fixture.topic(1).await;
        fixture.produce(&partition(&topic, 0), vec![record("old"); count]).await;
        let reading = fixture.read(&partition(&topic, 0), 0).await;
        assert_eq!(reading.records(count).await.len(), count);
        tokio::time::sleep(pause).await;
        recreate(fixture, &topic).await;
        fill(fixture, &topic).await;
        let (records, problem) = reading.drained().await;
        assert_eq!((records, problem), (vec![], SourceProblem::TopicRecreated));
    }
}

pub(crate) async fn one_that_is_filled_while_the_feed_is_full_is_told(fixture: &Fixture) {
    filled_behind_a_full_feed(fixture, PAUSE).await;
}

pub(crate) async fn one_that_is_filled_when_the_feed_has_just_become_full_is_told(fixture: &Fixture) {
    filled_behind_a_full_feed(fixture, Duration::ZERO).await;
}

async fn filled_behind_a_full_feed(fixture: &Fixture, pause: Duration) {
    let topic = fixture.topic(1).await;
    let large = "old".repeat(400);
    for _ in 0..10 {
        fixture.produce(&partition(&topic, 0), vec![record(&large)]).await;
    }
    let ports = fixture.with(|settings| settings.fetch_max_bytes = 1).await;
    let reading = fixture.read_over(&ports, &partition(&topic, 0), 0, 2_000).await;
    eventually("the feed is full", || {
        let full = reading.feed.credit() == Some(0);
        async move { full }
    })
    .await;
    tokio::time::sleep(pause).await;
    recreate(fixture, &topic).await;
    fill(fixture, &topic).await;
    let (records, problem) = reading.drained().await;
    assert_all_old(&records);
    assert_eq!(problem, SourceProblem::TopicRecreated);
}

pub(crate) async fn one_that_is_filled_under_a_reader_that_is_under_way_is_told(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    for _ in 0..300 {
        fixture.produce(&partition(&topic, 0), vec![record("old")]).await;
    }
    // One batch in each answer, so that there is always more to ask for.
    let ports = fixture.with(|settings| settings.fetch_max_bytes = 1).await;
    let reading = fixture.read_over(&ports, &partition(&topic, 0), 0, 64 << 20).await;
    let mut records = reading.records(1).await;
    recreate(fixture, &topic).await;
    fill(fixture, &topic).await;
    let (others, problem) = reading.drained().await;
    records.extend(others);
    assert_all_old(&records);
    assert_eq!(problem, SourceProblem::TopicRecreated);
}

pub(crate) async fn one_created_anew_again_and_again_is_never_taken_for_another(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    for _ in 0..4 {
        fixture.produce(&partition(&topic, 0), vec![record("old")]).await;
        let id = fixture.topic_id(&topic).await;
        let reading = fixture.read(&partition(&topic, 0), 0).await;
        assert_eq!(reading.values(1).await, ["old"]);
        recreate(fixture, &topic).await;
        fill(fixture, &topic).await;
        assert_eq!(reading.drained().await, (vec![], SourceProblem::TopicRecreated));
        // Who comes with the old id is told so, whatever is in the log by now.
        let late = Reading::new(&partition(&topic, 0), 1 << 20);
        fixture.ports.source.add(partition(&topic, 0), id, 1, Arc::clone(&late.feed));
        assert_eq!(late.drained().await, (vec![], SourceProblem::TopicRecreated));
        // Who comes anew reads the new one.
        let anew = fixture.read(&partition(&topic, 0), 0).await;
        assert_eq!(anew.values(1).await[0], "new");
        fixture.ports.source.remove(&partition(&topic, 0));
        recreate(fixture, &topic).await;
    }
}
