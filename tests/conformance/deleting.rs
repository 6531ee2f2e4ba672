//! Logs whose beginning moves under the reader: records deleted on request, and by retention.

use std::time::Duration;

use bezoar::broker::{ConfigChange, OffsetSpec, Ports, SourceProblem};
use bezoar::record::TopicPartition;
use kafka_protocol::messages::DescribeConfigsRequest;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;

use crate::fixture::{Fixture, Reading, eventually, partition, record, records};
use crate::wire;

pub(crate) async fn records_deleted_up_to_the_reader_and_behind_it_are_not_missed(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let (partition, admin) = (partition(&topic, 0), &fixture.ports.admin);
    fixture.produce(&partition, records(0..10)).await;
    let reading = fixture.read(&partition, 0).await;
    assert_eq!(reading.records(10).await.len(), 10);
    // Behind it, and just where it stands.
    for (before, value) in [(4, 10), (11, 11)] {
        assert_eq!(admin.delete_records(partition.clone(), before).await.unwrap(), before);
        fixture.produce(&partition, records(value..value + 1)).await;
        assert_eq!(reading.values(1).await, [value.to_string()]);
    }
    // One that begins there does as well.
    assert_eq!(fixture.read(&partition, 11).await.values(1).await, ["11"]);
    assert_eq!(reading.problems(), []);
}

pub(crate) async fn records_deleted_ahead_of_a_reader_that_is_under_way_are_told(fixture: &Fixture) {
    const END: i64 = 200;
    let topic = fixture.topic(1).await;
    let (partition, admin) = (partition(&topic, 0), &fixture.ports.admin);
    for value in 0..END as i32 {
        fixture.produce(&partition, records(value..value + 1)).await;
    }
    let ports = fixture.with(|settings| settings.fetch_max_bytes = 1).await;
    let reading = fixture.read_over(&ports, &partition, 0, 64 << 20).await;
    let first = reading.records(1).await;
    assert_eq!(first[0].offset, 0);
    assert_eq!(admin.delete_records(partition.clone(), END - 1).await.unwrap(), END - 1);
    // It may have been quicker than the deletion; then it has all.
    let mut next = first.len() as i64;
    eventually("it has stopped, or has read all", || {
        while let Some(batch) = reading.feed.front() {
            for record in batch.iter() {
                assert_eq!(record.offset(), next, "nothing is left out");
                next += 1;
            }
            reading.feed.pop_front();
        }
        let stopped = reading.stopped().is_some();
        async move { stopped || next == END }
    })
    .await;
    if next < END {
        let (log_start, log_end) = (Some(END - 1), Some(END));
        assert_eq!(reading.stopped(), Some(SourceProblem::OffsetOutOfRange { asked: next, log_start, log_end }));
    }
}

pub(crate) async fn records_deleted_while_the_feed_is_full_are_told(fixture: &Fixture) {
    let (partition, reading, _ports) = with_full_feed(fixture).await;
    fixture.ports.admin.delete_records(partition.clone(), 9).await.unwrap();
    assert_told(&reading, Some(9)).await;
}

pub(crate) async fn records_that_retention_takes_while_the_feed_is_full_are_told(fixture: &Fixture) {
    if !retention_comes_soon(fixture).await {
        return;
    }
    let (partition, reading, _ports) = with_full_feed(fixture).await;
    expire(fixture, &partition, 10).await;
    assert_told(&reading, Some(10)).await;
}

pub(crate) async fn retention_up_to_the_reader_goes_unnoticed(fixture: &Fixture) {
    if !retention_comes_soon(fixture).await {
        return;
    }
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..10)).await;
    let reading = fixture.read(&partition, 0).await;
    assert_eq!(reading.records(10).await.len(), 10);
    expire(fixture, &partition, 10).await;
    let lasting = ConfigChange::set("retention.ms", "-1");
    fixture.ports.admin.alter_topic_configs(topic, vec![lasting]).await.unwrap();
    fixture.produce(&partition, records(10..11)).await;
    assert_eq!(reading.values(1).await, ["10"]);
    assert_eq!(reading.problems(), []);
}

/// A reader of a log of ten records whose feed is full after the first ones, and the ports that it reads over.
async fn with_full_feed(fixture: &Fixture) -> (TopicPartition, Reading, Ports) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    for _ in 0..10 {
        fixture.produce(&partition, vec![record(&"x".repeat(1_000))]).await;
    }
    let ports = fixture.with(|settings| settings.fetch_max_bytes = 1).await;
    let reading = fixture.read_over(&ports, &partition, 0, 1_500).await;
    eventually("the feed is full", || {
        let full = reading.feed.credit() == Some(0);
        async move { full }
    })
    .await;
    (partition, reading, ports)
}

/// Drains the feed, and sees that the reading stops where it stood.
async fn assert_told(reading: &Reading, log_start: Option<i64>) {
    let (drained, problem) = reading.drained().await;
    let asked = drained.len() as i64;
    assert!((1..9).contains(&asked), "{asked} records were in the feed");
    assert!(drained.iter().map(|record| record.offset).eq(0..asked));
    assert_eq!(problem, SourceProblem::OffsetOutOfRange { asked, log_start, log_end: Some(10) });
}

/// Lets all records of a log come of age, and waits until they are gone.
async fn expire(fixture: &Fixture, partition: &TopicPartition, end: i64) {
    let admin = &fixture.ports.admin;
    match &fixture.embedded {
        Some(broker) => broker.set_log_start(partition.topic(), 0, end).unwrap(),
        None => {
            let soon = ConfigChange::set("retention.ms", "1");
            admin.alter_topic_configs(partition.topic().to_owned(), vec![soon]).await.unwrap();
        }
    }
    eventually("retention has come", || async {
        admin.offset(partition.clone(), OffsetSpec::Earliest).await.unwrap() == end
    })
    .await;
}

/// Whether the broker looks for what is too old within a test's patience: Kafka does so every five minutes by default.
async fn retention_comes_soon(fixture: &Fixture) -> bool {
    if fixture.embedded.is_some() {
        return true;
    }
    const BROKER: i8 = 4;
    const ENTRY: &str = "log.retention.check.interval.ms";
    let node = fixture.ports.admin.describe_cluster().await.unwrap().brokers[0].id.to_string();
    let resource = DescribeConfigsResource::default()
        .with_resource_type(BROKER)
        .with_resource_name(wire::text(&node))
        .with_configuration_keys(Some(vec![wire::text(ENTRY)]));
    let request = DescribeConfigsRequest::default().with_resources(vec![resource]);
    let answer = wire::call(&fixture.address, request, 1).await;
    let interval = answer.results[0].configs[0].value.as_ref().unwrap().parse().unwrap();
    let soon = Duration::from_millis(interval) <= Duration::from_secs(10);
    if !soon {
        println!("skipped: the broker's {ENTRY} is {interval}; start it with KAFKA_EXTRA={ENTRY}=1000");
    }
    soon
}
