//! Calls end in time, and with their producer.

use std::time::Duration;

use bezoar::broker::BrokerError;
use bezoar::embedded::{Api, Fault};
use tokio::runtime::Runtime;

use crate::support::{NOT_LEADER, all, assert_exactly_once, call, calls, connect, orders, partition, record, values};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_ends_at_the_delivery_timeout_and_tells_the_last_failure() {
    let (broker, ports) = orders(1, |settings| settings.produce.delivery_timeout = Duration::from_millis(500)).await;
    let refused = broker.inject(Fault::on(Api::Produce).forever().error(NOT_LEADER));
    let error = ports.produce.produce(partition(0), vec![record(0)]).await.unwrap_err();
    assert!(matches!(&error, BrokerError::Timeout { after, .. } if after.as_millis() == 500), "{error}");
    assert!(error.to_string().contains("NOT_LEADER_OR_FOLLOWER") && error.to_string().contains("orders/0"), "{error}");
    refused.remove();
    ports.produce.produce(partition(0), vec![record(1)]).await.unwrap();
    assert_eq!(values(&broker, 0), [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_ends_at_the_delivery_timeout_though_the_broker_says_nothing() {
    let (broker, ports) = orders(1, |settings| settings.produce.delivery_timeout = Duration::from_millis(500)).await;
    let held = broker.inject(Fault::on(Api::Produce).delay(Duration::from_secs(3)));
    let waiting = [call(&ports, partition(0), vec![record(0)]), call(&ports, partition(0), vec![record(1)])];
    for call in waiting {
        assert!(matches!(call.await.unwrap(), Err(BrokerError::Timeout { .. })));
    }
    assert_eq!(held.fired(), 1);
    // What was under way (the first call, or both in one batch) is appended late; what is sent after it comes after it.
    while ports.produce.produce(partition(0), vec![record(2)]).await.is_err() {}
    let seen = values(&broker, 0);
    let times = |number| seen.iter().filter(|value| **value == number).count();
    assert!(seen.is_sorted() && times(0) <= 1 && times(1) <= times(0), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_shorter_than_the_delivery_timeout_is_waited_out() {
    let (broker, ports) = orders(1, |_| ()).await;
    broker.go_down().await;
    let sent = calls(&ports, 0, 20, 1);
    tokio::time::sleep(Duration::from_millis(500)).await;
    broker.come_back().await.unwrap();
    assert_exactly_once(&broker, 0, &all(sent).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_the_producer_fails_what_waits_as_closed() {
    let (broker, ports) = orders(1, |_| ()).await;
    let held = broker.inject(Fault::on(Api::Produce).forever().delay(Duration::from_secs(3_600)));
    let sent = calls(&ports, 0, 2, 1);
    held.wait_fired(1).await;
    drop(ports);
    for result in all(sent).await {
        assert!(matches!(result, Err(BrokerError::Closed { .. })), "{result:?}");
    }
}

#[test]
fn the_end_of_the_runtime_fails_what_waits_and_what_comes_as_closed() {
    let (serving, connecting) = (Runtime::new().unwrap(), Runtime::new().unwrap());
    let (broker, _ports) = serving.block_on(orders(1, |_| ()));
    let ports = connecting.block_on(connect(&broker.bootstrap(), |_| ()));
    let held = broker.inject(Fault::on(Api::Produce).forever().delay(Duration::from_secs(3_600)));
    let waiting = ports.produce.produce(partition(0), vec![record(0)]);
    serving.block_on(held.wait_fired(1));
    connecting.shutdown_background();
    serving.block_on(async {
        assert!(matches!(waiting.await, Err(BrokerError::Closed { .. })));
        let after = ports.produce.produce(partition(0), vec![record(1)]).await;
        assert!(matches!(after, Err(BrokerError::Closed { .. })), "{after:?}");
    });
}
