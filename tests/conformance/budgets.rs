//! How much is asked for at once, and how long for.

use std::sync::Arc;
use std::time::Duration;

use bezoar::embedded::{Api, Broker};

use crate::fixture::{Fixture, Reading, eventually, partition, record, records};

/// Longer than any test waits.
const FOR_EVER: Duration = Duration::from_secs(3_600);

/// Waits until a fetch is held by the broker: the first is answered at once, and another has followed.
async fn until_held(broker: &Broker, before: u64) {
    eventually("a fetch waits at the broker", || async { broker.requests(Api::Fetch) >= before + 2 }).await;
}

pub(crate) async fn embedded_the_broker_waits_as_long_as_it_is_allowed_to(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let ports = fixture.with(|settings| {
        settings.fetch_max_wait = FOR_EVER;
        settings.request_timeout = 2 * FOR_EVER;
    });
    let ports = ports.await;
    let before = broker.requests(Api::Fetch);
    let reading = fixture.read_over(&ports, &partition(&topic, 0), 0, 1 << 20).await;
    until_held(broker, before).await;
    let held = broker.requests(Api::Fetch);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(broker.requests(Api::Fetch), held, "nothing is asked for meanwhile");
    fixture.produce(&partition(&topic, 0), records(0..1)).await;
    assert_eq!(reading.values(1).await, ["0"], "it is answered when there is something");
}

pub(crate) async fn embedded_the_broker_gathers_as_many_bytes_as_asked_for(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let ports = fixture.with(|settings| {
        settings.fetch_max_wait = FOR_EVER;
        settings.request_timeout = 2 * FOR_EVER;
        settings.fetch_min_bytes = 10_000;
    });
    let ports = ports.await;
    let before = broker.requests(Api::Fetch);
    let reading = fixture.read_over(&ports, &partition(&topic, 0), 0, 1 << 20).await;
    until_held(broker, before).await;
    let held = broker.requests(Api::Fetch);
    fixture.produce(&partition(&topic, 0), records(0..1)).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(reading.feed.front().is_none(), "too little was handed out");
    assert_eq!(broker.requests(Api::Fetch), held);
    fixture.produce(&partition(&topic, 0), vec![record(&"x".repeat(20_000))]).await;
    assert_eq!(reading.records(2).await.len(), 2);
}

pub(crate) async fn embedded_no_more_is_asked_for_than_allowed(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    const BATCHES: u64 = 20;
    let topic = fixture.topic(2).await;
    for _ in 0..BATCHES {
        for number in [0, 1] {
            fixture.produce(&partition(&topic, number), vec![record(&"x".repeat(1_000))]).await;
        }
    }
    let id = fixture.topic_id(&topic).await;
    let needed = async |per_partition: i32, per_broker: i32| {
        let ports = fixture.with(|settings| {
            settings.fetch_max_bytes = per_partition;
            settings.fetch_max_bytes_per_broker = per_broker;
            settings.fetch_max_wait = FOR_EVER;
            settings.request_timeout = 2 * FOR_EVER;
        });
        let ports = ports.await;
        let before = broker.requests(Api::Fetch);
        // Together: who comes later waits for the answer to what was asked for before.
        let both = [0, 1].map(|number| {
            let reading = Reading::new(&partition(&topic, number), 1 << 20);
            ports.source.add(partition(&topic, number), id, 0, Arc::clone(&reading.feed));
            reading
        });
        for reading in &both {
            assert_eq!(reading.records(BATCHES as usize).await.len(), BATCHES as usize);
        }
        broker.requests(Api::Fetch) - before
    };
    // The first batch of an answer comes whole, however small the limits are.
    let unlimited = needed(1 << 20, 1 << 20).await;
    assert!(unlimited <= 6, "{unlimited} fetches");
    let one_each = needed(1_500, 1 << 20).await;
    assert!((BATCHES..2 * BATCHES).contains(&one_each), "{one_each} fetches");
    let one_in_all = needed(1 << 20, 1).await;
    assert!(one_in_all >= 2 * BATCHES, "{one_in_all} fetches");
    let two_each = needed(2_500, 1 << 20).await;
    assert!((BATCHES / 2..BATCHES).contains(&two_each), "{two_each} fetches");
}
