//! Brokers that fail, hang and come back.

use std::sync::Arc;
use std::time::Duration;

use bezoar::broker::{BrokerError, CommittedOffset, ConnectionSettings, ErrorCode, OffsetSpec, Plane, SourceProblem};
use bezoar::embedded::{Api, Broker, Fault};

use crate::fixture::{Fixture, PATIENCE, Reading, partition, records, settings, unique};

const NOT_LEADER: ErrorCode = ErrorCode(6);
const COORDINATOR_NOT_AVAILABLE: ErrorCode = ErrorCode(15);
const NOT_COORDINATOR: ErrorCode = ErrorCode(16);

fn is_one_streak(problems: &[SourceProblem]) -> bool {
    matches!(problems, [SourceProblem::Retrying(_), SourceProblem::Recovered])
}

pub(crate) async fn embedded_a_dropped_connection_is_reported_once_and_survived(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let fault = broker.inject(Fault::on(Api::Fetch).topic(&topic).times(3).drop_before_effect());
    fixture.produce(&partition, records(0..1)).await;
    let reading = fixture.read(&partition, 0).await;
    assert_eq!(reading.values(1).await, ["0"]);
    assert_eq!(fault.fired(), 3);
    let problems = reading.until(is_one_streak).await;
    assert!(matches!(&problems[0], SourceProblem::Retrying(BrokerError::Connection { .. })), "{problems:?}");
}

pub(crate) async fn embedded_a_broker_that_hangs_is_reported_in_time_and_survived(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..1)).await;
    let fault = broker.inject(Fault::on(Api::Fetch).topic(&topic).forever().delay(Duration::from_secs(3_600)));
    let ports = fixture.with(|settings| settings.request_timeout = Duration::from_secs(1)).await;
    let reading = Reading::new(&partition, 1 << 20);
    ports.source.add(partition.clone(), None, 0, Arc::clone(&reading.feed));
    let problems = reading.until(|problems| !problems.is_empty()).await;
    assert!(matches!(&problems[0], SourceProblem::Retrying(BrokerError::Timeout { .. })), "{problems:?}");
    // What is held stays held: only over a new connection can reading go on.
    fault.remove();
    assert_eq!(reading.values(1).await, ["0"]);
    reading.until(is_one_streak).await;
}

pub(crate) async fn embedded_a_restarted_broker_is_found_again(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let reading = fixture.read(&partition, 0).await;
    let group = unique("group");
    for value in 0..3 {
        fixture.produce(&partition, records(value..value + 1)).await;
        reading.records(1).await;
        let offset = CommittedOffset {
            partition: partition.clone(),
            offset: value.into(),
            metadata: String::new(),
            leader_epoch: None,
        };
        assert_eq!(fixture.ports.offsets.commit(group.clone(), vec![offset]).await.unwrap(), [Ok(())]);
        broker.close_connections();
    }
}

/// Which of the two limits producing depends on the plane: rskafka knows only the first.
fn hasty(settings: &mut ConnectionSettings) {
    settings.request_timeout = Duration::from_secs(1);
    settings.produce.delivery_timeout = Duration::from_secs(1);
}

pub(crate) async fn embedded_producing_ends_at_its_timeout(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let ports = fixture.with(hasty).await;
    let fault = broker.inject(Fault::on(Api::Produce).topic(&topic).forever().delay(Duration::from_secs(3_600)));
    let producing = ports.produce.produce(partition.clone(), records(0..1));
    let error = tokio::time::timeout(PATIENCE, producing).await.expect("bounded").unwrap_err();
    assert!(matches!(error, BrokerError::Timeout { .. }), "{error}");
    assert!(error.to_string().contains(&topic), "{error}");
    fault.remove();
    ports.produce.produce(partition, records(1..2)).await.unwrap();
}

pub(crate) async fn embedded_producing_waits_for_a_leader_and_no_longer_than_allowed(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let passing = broker.inject(Fault::on(Api::Produce).topic(&topic).times(2).error(NOT_LEADER));
    assert_eq!(fixture.produce(&partition, records(0..1)).await, [0]);
    assert_eq!(passing.fired(), 2);
    broker.inject(Fault::on(Api::Produce).topic(&topic).forever().error(NOT_LEADER));
    let ports = fixture.with(hasty).await;
    let producing = ports.produce.produce(partition, records(1..2));
    let error = tokio::time::timeout(PATIENCE, producing).await.expect("bounded").unwrap_err();
    assert!(error.code() == Some(NOT_LEADER) || matches!(error, BrokerError::Timeout { .. }), "{error}");
}

pub(crate) async fn embedded_a_lost_response_may_duplicate_but_not_lose(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    broker.inject(Fault::on(Api::Produce).topic(&topic).drop_after_effect());
    fixture.produce(&partition(&topic, 0), records(0..1)).await;
    let values: Vec<_> = broker.records(&topic, 0).unwrap().into_iter().map(|record| record.value).collect();
    let value = values[0].clone();
    assert!((1..=2).contains(&values.len()) && values.iter().all(|other| *other == value), "{values:?}");
}

pub(crate) async fn embedded_the_coordinator_is_looked_for_again(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let (partition, group) = (partition(&topic, 0), unique("group"));
    let searches = broker.inject(Fault::on(Api::FindCoordinator).times(2).error(COORDINATOR_NOT_AVAILABLE));
    let commits = broker.inject(Fault::on(Api::OffsetCommit).times(2).error(NOT_COORDINATOR));
    let fetches = broker.inject(Fault::on(Api::OffsetFetch).drop_before_effect());
    let offset =
        CommittedOffset { partition: partition.clone(), offset: 5, metadata: "note".to_owned(), leader_epoch: None };
    let results = fixture.ports.offsets.commit(group.clone(), vec![offset.clone()]).await.unwrap();
    assert_eq!(results, [Ok(())]);
    assert_eq!(fixture.ports.offsets.fetch(group, vec![partition]).await.unwrap(), [Some(offset)]);
    assert_eq!((searches.fired(), commits.fired(), fetches.fired()), (2, 2, 1));
    assert!(broker.requests(Api::FindCoordinator) >= 5, "looked for after each of its errors");
}

pub(crate) async fn embedded_a_coordinator_that_is_never_there_is_an_error_in_time(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    broker.inject(Fault::on(Api::FindCoordinator).forever().error(COORDINATOR_NOT_AVAILABLE));
    let ports = fixture.with(|settings| settings.request_timeout = Duration::from_secs(1)).await;
    let fetching = ports.offsets.fetch(unique("group"), vec![partition(&topic, 0)]);
    let error = tokio::time::timeout(PATIENCE, fetching).await.expect("bounded").unwrap_err();
    assert_eq!(error.code(), Some(COORDINATOR_NOT_AVAILABLE), "{error}");
}

pub(crate) async fn embedded_a_call_without_an_answer_is_an_error_in_time(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let ports = fixture.with(|settings| settings.request_timeout = Duration::from_secs(1)).await;
    let fault = broker.inject(Fault::on(Api::Metadata).forever().delay(Duration::from_secs(3_600)));
    let asking = ports.admin.topics(vec![unique("missing")]);
    let error = tokio::time::timeout(PATIENCE, asking).await.expect("bounded").unwrap_err();
    assert!(matches!(error, BrokerError::Timeout { .. }), "{error}");
    fault.remove();
    assert_eq!(ports.admin.topics(vec![unique("missing")]).await.unwrap(), [None]);
}

pub(crate) async fn embedded_an_address_that_only_the_brokers_give_is_told_with_what_to_check(fixture: &Fixture) {
    if fixture.embedded.is_none() {
        return;
    }
    let broker = Broker::builder().advertised_host("127.0.0.2").start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    let mut settings = settings(&broker.bootstrap().replace("127.0.0.2", "127.0.0.1"));
    (settings.connect_timeout, settings.request_timeout) = (Duration::from_millis(500), Duration::from_secs(3));
    let ports = Plane::Native.connect(settings).await.unwrap().admin;
    let error = ports.offset(partition("orders", 0), OffsetSpec::Latest).await.unwrap_err().to_string();
    assert!(error.contains("127.0.0.2:") && error.contains("advertised.listeners"), "{error}");
}
