//! Answers that are no answers: each is an error or is got over, none ends a client or sets it spinning.

use std::future::Future;
use std::time::Duration;

use bezoar::broker::{BrokerError, CommittedOffset, ConnectionSettings, OffsetSpec, SourceProblem};
use bezoar::embedded::{Api, Broker, Fault, FaultOn};

use crate::fixture::{Fixture, PATIENCE, Reading, partition, records, unique};

/// The largest answer that is accepted here.
const LIMIT: usize = 1 << 20;

type Damage = (&'static str, fn(FaultOn) -> Fault);

/// What can become of an answer's frame.
const FRAMES: &[Damage] = &[
    ("nothing in the frame", |on| on.cut_short(0)),
    ("cut within the correlation id", |on| on.cut_short(3)),
    ("cut behind the correlation id", |on| on.cut_short(4)),
    ("cut in the middle", |on| on.cut_short(15)),
    ("noise", |on| on.garbage()),
    ("the correlation id of another", |on| on.wrong_correlation_id()),
    ("a negative length", |on| on.frame_length(-1)),
    ("the smallest length", |on| on.frame_length(i32::MIN)),
    ("a length above the limit", |on| on.frame_length(LIMIT as i32 + 1)),
    ("the largest length", |on| on.frame_length(i32::MAX)),
    ("more than there is", |on| on.frame_length(LIMIT as i32)),
    ("an array of fewer than none", |on| on.array_count(-2)),
    ("an array of two billion", |on| on.array_count(i32::MAX)),
    ("an array of one too many", |on| on.array_count(2)),
    ("broken off within the length", |on| on.break_off(2)),
    ("broken off behind the length", |on| on.break_off(4)),
    ("broken off in the middle", |on| on.break_off(20)),
];

fn wary(settings: &mut ConnectionSettings) {
    settings.max_response_bytes = LIMIT;
    settings.request_timeout = Duration::from_millis(700);
    settings.connect_timeout = Duration::from_millis(500);
    // What fails again and again is not left alone for as long as a call may take.
    settings.reconnect_backoff_max = Duration::from_millis(200);
    settings.produce.delivery_timeout = Duration::from_secs(20);
}

/// How often a request may be made in the second or two for which each answer to it is damaged.
const HASTE: u64 = 60;

pub(crate) async fn embedded_answers_to_fetches_are_got_over(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    for (what, damage) in FRAMES {
        let topic = fixture.topic(1).await;
        let partition = partition(&topic, 0);
        fixture.produce(&partition, records(0..3)).await;
        let ports = fixture.with(wary).await;
        let fault = broker.inject(damage(Fault::on(Api::Fetch).topic(&topic).times(2)));
        let reading = fixture.read_over(&ports, &partition, 0, 1 << 20).await;
        assert_eq!(reading.values(3).await, ["0", "1", "2"], "{what}");
        assert_eq!(fault.fired(), 2, "{what}");
        let problems = one_streak(&reading).await;
        assert!(
            matches!(&problems[..], [SourceProblem::Retrying(_), SourceProblem::Recovered]),
            "{what}: {problems:?}"
        );
    }
}

async fn one_streak(reading: &Reading) -> Vec<SourceProblem> {
    reading.until(|problems| problems.contains(&SourceProblem::Recovered)).await
}

pub(crate) async fn embedded_answers_to_fetches_that_stay_damaged_cause_no_haste(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    for (what, damage) in FRAMES {
        let topic = fixture.topic(1).await;
        let partition = partition(&topic, 0);
        fixture.produce(&partition, records(0..3)).await;
        let ports = fixture.with(wary).await;
        let fault = broker.inject(damage(Fault::on(Api::Fetch).topic(&topic).forever()));
        let before = broker.requests(Api::Fetch);
        let reading = fixture.read_over(&ports, &partition, 0, 1 << 20).await;
        reading.until(|problems| !problems.is_empty()).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        let asked = broker.requests(Api::Fetch) - before;
        assert!(asked < HASTE, "{what}: {asked} fetches");
        assert!(reading.feed.front().is_none(), "{what}");
        fault.remove();
        assert_eq!(reading.values(3).await, ["0", "1", "2"], "{what}");
    }
}

/// Makes a call while each answer of a kind is damaged twice, then while each is, and then while none is.
async fn endured<T: std::fmt::Debug>(
    broker: &Broker,
    api: Api,
    (what, damage): &Damage,
    call: impl AsyncFn() -> Result<T, BrokerError>,
    is_right: impl Fn(&T) -> bool,
) {
    let check = |result: Result<T, BrokerError>| match result {
        Ok(found) => assert!(is_right(&found), "{api:?}, {what}: {found:?}"),
        Err(BrokerError::Malformed { .. } | BrokerError::Connection { .. } | BrokerError::Timeout { .. }) => {}
        Err(error) => assert!(matches!(error, BrokerError::Unreachable { .. }), "{api:?}, {what}: {error}"),
    };
    let passing = broker.inject(damage(Fault::on(api).times(2)));
    check(bounded(what, call()).await);
    passing.remove();
    let before = broker.requests(api);
    let lasting = broker.inject(damage(Fault::on(api).forever()));
    check(bounded(what, call()).await);
    let asked = broker.requests(api) - before;
    assert!((1..HASTE).contains(&asked), "{api:?}, {what}: asked {asked} times");
    lasting.remove();
    let found = bounded(what, call()).await;
    assert!(found.as_ref().is_ok_and(&is_right), "{api:?}, after {what}: {found:?}");
}

async fn bounded<T>(what: &str, call: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, call).await.unwrap_or_else(|_| panic!("no end to it: {what}"))
}

pub(crate) async fn embedded_answers_about_topics_are_got_over(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(3).await;
    for damage in FRAMES {
        let ports = fixture.with(wary).await;
        let call = || ports.admin.topics(vec![topic.clone()]);
        let is_right = |found: &Vec<Option<bezoar::broker::TopicMetadata>>| {
            found.len() == 1 && found[0].as_ref().is_some_and(|found| found.partitions == 3)
        };
        endured(broker, Api::Metadata, damage, async || call().await, is_right).await;
    }
}

pub(crate) async fn embedded_answers_about_offsets_are_got_over(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let (partition, group) = (partition(&topic, 0), unique("group"));
    fixture.produce(&partition, records(0..3)).await;
    let committed = CommittedOffset::new(partition.clone(), 2);
    for damage in FRAMES {
        let ports = fixture.with(wary).await;
        let latest = async || ports.admin.offset(partition.clone(), OffsetSpec::Latest).await;
        endured(broker, Api::ListOffsets, damage, latest, |end| *end == 3).await;
        let commit = async || ports.offsets.commit(group.clone(), vec![committed.clone()]).await;
        endured(broker, Api::OffsetCommit, damage, commit, |results| results.len() == 1).await;
        let fetch = async || ports.offsets.fetch(group.clone(), vec![partition.clone()]).await;
        endured(broker, Api::OffsetFetch, damage, fetch, |found| *found == [Some(committed.clone())]).await;
    }
}

pub(crate) async fn embedded_answers_to_produced_records_leave_each_record_once(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    for (what, damage) in FRAMES {
        let topic = fixture.topic(1).await;
        let partition = partition(&topic, 0);
        let ports = fixture.with(wary).await;
        let produce = |value| ports.produce.produce(partition.clone(), records(value..value + 1));
        produce(0).await.unwrap();
        let before = broker.requests(Api::Produce);
        let fault = broker.inject(damage(Fault::on(Api::Produce).topic(&topic).times(2)));
        assert_eq!(bounded(what, produce(1)).await, Ok(vec![1]), "{what}");
        assert_eq!(fault.fired(), 2, "{what}");
        assert!(broker.requests(Api::Produce) - before < HASTE, "{what}");
        assert_eq!(bounded(what, produce(2)).await, Ok(vec![2]), "{what}");
        let values: Vec<_> = broker.records(&topic, 0).unwrap().into_iter().map(|record| record.value).collect();
        assert_eq!(values, ["0", "1", "2"].map(|value| Some(value.into())), "{what}");
    }
}
