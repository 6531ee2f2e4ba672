//! Faults of requests, answers and brokers leave no trace in the log.

use std::time::Duration;

use bezoar::embedded::{Api, Fault};

use crate::support::{
    NOT_LEADER, REQUEST_TIMED_OUT, all, assert_exactly_once, calls, orders, partition, record, values,
};

/// Small batches, so that several are under way at once.
fn small(settings: &mut bezoar::broker::ConnectionSettings) {
    settings.produce.batch_bytes = 300;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_share_batches_and_keep_their_order() {
    let (broker, ports) = orders(1, |_| ()).await;
    let results = all(calls(&ports, 0, 500, 3)).await;
    assert_exactly_once(&broker, 0, &results);
    assert!(broker.requests(Api::Produce) < 250, "{} requests for 500 calls", broker.requests(Api::Produce));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_carries_batches_of_many_partitions() {
    let (broker, ports) = orders(20, |settings| settings.produce.linger = Duration::from_millis(200)).await;
    let mut sent = Vec::new();
    for number in 0..20 {
        sent.extend(calls(&ports, number, 1, 1));
    }
    assert!(all(sent).await.iter().all(Result::is_ok));
    assert!(broker.requests(Api::Produce) < 20, "{} requests for 20 partitions", broker.requests(Api::Produce));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_answers_duplicate_nothing() {
    let (broker, ports) = orders(1, small).await;
    let lost = broker.inject(Fault::on(Api::Produce).after(2).times(5).drop_after_effect());
    let results = all(calls(&ports, 0, 100, 2)).await;
    assert_exactly_once(&broker, 0, &results);
    assert!(lost.fired() > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_requests_lose_nothing() {
    let (broker, ports) = orders(1, small).await;
    let lost = broker.inject(Fault::on(Api::Produce).after(2).times(5).drop_before_effect());
    let results = all(calls(&ports, 0, 100, 2)).await;
    assert_exactly_once(&broker, 0, &results);
    assert!(lost.fired() > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_for_now_are_tried_again_in_order() {
    for code in [NOT_LEADER, REQUEST_TIMED_OUT, bezoar::broker::ErrorCode(56), bezoar::broker::ErrorCode(19)] {
        let (broker, ports) = orders(1, small).await;
        let refused = broker.inject(Fault::on(Api::Produce).after(1).times(3).error(code));
        let results = all(calls(&ports, 0, 60, 2)).await;
        assert_exactly_once(&broker, 0, &results);
        assert_eq!(refused.fired(), 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_answers_late_gets_what_it_did_not_answer_again() {
    let (broker, ports) = orders(1, |settings| {
        small(settings);
        settings.request_timeout = Duration::from_millis(500);
    })
    .await;
    // Longer than the request timeout: the broker appends it after it was sent again.
    let late = broker.inject(Fault::on(Api::Produce).after(1).delay(Duration::from_secs(2)));
    let results = all(calls(&ports, 0, 60, 2)).await;
    assert_eq!(late.fired(), 1);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_exactly_once(&broker, 0, &results);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_goes_down_and_comes_back_is_gone_on_with() {
    let (broker, ports) = orders(2, small).await;
    let mut sent = Vec::new();
    for round in 0..5 {
        sent.extend(calls(&ports, 1, 40, 2));
        for index in 0..40 {
            drop(ports.produce.produce(partition(0), vec![record(round * 40 + index)]));
        }
        broker.go_down().await;
        broker.come_back().await.unwrap();
    }
    assert!(all(sent).await.iter().all(Result::is_ok));
    let last = ports.produce.produce(partition(0), vec![record(200)]).await.unwrap();
    // Calls whose futures were dropped were made all the same.
    assert_eq!((last, values(&broker, 0)), (vec![200], (0..=200).collect()));
    assert_eq!(values(&broker, 1).len(), 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recreated_topic_is_produced_to_from_its_start() {
    let (broker, ports) = orders(1, |_| ()).await;
    assert!(all(calls(&ports, 0, 10, 1)).await.iter().all(Result::is_ok));
    broker.recreate_topic("orders").unwrap();
    assert_exactly_once(&broker, 0, &all(calls(&ports, 0, 10, 1)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_that_the_broker_refuses_are_begun_anew_where_nothing_is_in_doubt() {
    // OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID, INVALID_PRODUCER_EPOCH.
    for code in [45, 59, 47] {
        let (broker, ports) = orders(1, small).await;
        broker.inject(Fault::on(Api::Produce).after(3).times(2).error(bezoar::broker::ErrorCode(code)));
        let results = all(calls(&ports, 0, 60, 2)).await;
        assert_exactly_once(&broker, 0, &results);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_in_doubt_whose_number_is_refused_fails_with_its_fate_unknown() {
    let (broker, ports) = orders(1, |_| ()).await;
    broker.inject(Fault::on(Api::Produce).times(1).drop_after_effect());
    broker.inject(Fault::on(Api::Produce).after(1).times(1).error(bezoar::broker::ErrorCode(45)));
    let error = ports.produce.produce(partition(0), vec![record(0)]).await.unwrap_err();
    assert!(error.to_string().contains("without an answer") && !error.is_retriable(), "{error}");
    ports.produce.produce(partition(0), vec![record(1)]).await.unwrap();
    assert_eq!(values(&broker, 0), [0, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_the_broker_knows_without_its_offset_is_acknowledged() {
    let (broker, ports) = orders(1, |_| ()).await;
    // DUPLICATE_SEQUENCE_NUMBER.
    broker.inject(Fault::on(Api::Produce).error(bezoar::broker::ErrorCode(46)));
    assert_eq!(ports.produce.produce(partition(0), vec![record(0), record(1)]).await.unwrap(), [-1, -1]);
}
