//! What is refused fails alone and says what to do.

use std::time::Duration;

use bezoar::broker::{BrokerError, Compression, ErrorCode, NewTopic};
use bezoar::embedded::{Api, Broker, Fault};

use crate::support::{all, assert_exactly_once, call, calls, connect, orders, partition, record, values};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_is_too_large_fails_alone() {
    let broker = Broker::start().await.unwrap();
    broker.create(NewTopic::new("orders", 1).config("max.message.bytes", "2000")).unwrap();
    let ports = connect(&broker.bootstrap(), |settings| settings.produce.linger = Duration::from_millis(100)).await;
    let mut sent = Vec::new();
    for index in 0..30 {
        let value = if index % 10 == 5 { format!("{index:03000}") } else { index.to_string() };
        sent.push(call(&ports, partition(0), vec![record(value)]));
    }
    let results = all(sent).await;
    let refused: Vec<_> = (0..30).filter(|index| results[*index].is_err()).collect();
    assert_eq!(refused, [5, 15, 25]);
    assert_eq!(results[5].as_ref().unwrap_err().code(), Some(ErrorCode::MESSAGE_TOO_LARGE));
    assert_eq!(values(&broker, 0), (0..30).filter(|index| index % 10 != 5).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_the_topic_does_not_take_fails_alone_with_the_brokers_text() {
    let broker = Broker::start().await.unwrap();
    broker.create(NewTopic::new("orders", 1).config("cleanup.policy", "compact")).unwrap();
    let ports = connect(&broker.bootstrap(), |settings| settings.produce.linger = Duration::from_millis(100)).await;
    let with_key = |value| vec![record(value).key("k")];
    let good = [call(&ports, partition(0), with_key(0))];
    let bad = call(&ports, partition(0), vec![record(1).key("k"), record(2)]);
    let more = [call(&ports, partition(0), with_key(3))];
    let error = bad.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("cannot accept message without key"), "{error}");
    for call in good.into_iter().chain(more) {
        call.await.unwrap().unwrap();
    }
    assert_eq!(values(&broker, 0), [0, 3], "all or nothing of the call that was refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_right_fails_at_once_and_spares_other_partitions() {
    let (broker, ports) = orders(2, |_| ()).await;
    // TOPIC_AUTHORIZATION_FAILED.
    broker.inject(Fault::on(Api::Produce).partition(0).error(ErrorCode(29)));
    let (refused, others) = (calls(&ports, 0, 1, 1), calls(&ports, 1, 50, 1));
    let error = all(refused).await.remove(0).unwrap_err();
    assert!(error.code().is_some_and(ErrorCode::is_authorization), "{error}");
    assert!(error.to_string().contains("orders/0"), "{error}");
    assert_exactly_once(&broker, 1, &all(others).await);
    assert_exactly_once(&broker, 0, &all(calls(&ports, 0, 5, 1)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_producer_ids_are_refused_the_error_names_the_setting_that_helps() {
    let (broker, ports) = orders(1, |_| ()).await;
    // CLUSTER_AUTHORIZATION_FAILED.
    broker.inject(Fault::on(Api::InitProducerId).forever().error(ErrorCode(31)));
    let error = ports.produce.produce(partition(0), vec![record(0)]).await.unwrap_err();
    assert!(error.to_string().contains("idempotence: false"), "{error}");
    let ports = connect(&broker.bootstrap(), |settings| settings.produce.idempotence = false).await;
    assert_exactly_once(&broker, 0, &all(calls(&ports, 0, 100, 2)).await);
    assert_eq!(broker.records("orders", 0).unwrap()[0].producer_id, -1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_id_is_asked_for_again_while_the_broker_is_not_ready() {
    let (broker, ports) = orders(1, |_| ()).await;
    // COORDINATOR_LOAD_IN_PROGRESS.
    let refused = broker.inject(Fault::on(Api::InitProducerId).times(3).error(ErrorCode(14)));
    assert_exactly_once(&broker, 0, &all(calls(&ports, 0, 5, 1)).await);
    assert_eq!(refused.fired(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_idempotence_lost_answers_may_duplicate_but_neither_lose_nor_reorder() {
    let (broker, ports) = orders(1, |settings| settings.produce.idempotence = false).await;
    broker.inject(Fault::on(Api::Produce).times(3).drop_after_effect());
    broker.inject(Fault::on(Api::Produce).after(3).times(3).drop_before_effect());
    assert!(all(calls(&ports, 0, 100, 1)).await.iter().all(Result::is_ok));
    let mut seen = values(&broker, 0);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, (0..100).collect::<Vec<_>>());
    let first = |value| values(&broker, 0).iter().rposition(|seen| *seen == value);
    assert!((1..100).all(|value| first(value - 1) < first(value)), "the last copies are in order");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_created_later_is_found() {
    let (broker, ports) = orders(1, |_| ()).await;
    broker.delete_topic("orders").unwrap();
    for _ in 0..2 {
        let error = ports.produce.produce(partition(0), vec![record(0)]).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), "{error}");
    }
    broker.create_topic("orders", 1).unwrap();
    assert_exactly_once(&broker, 0, &all(calls(&ports, 0, 5, 1)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_codec_is_taken() {
    for compression in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let (broker, ports) = orders(1, |settings| settings.produce.compression = compression).await;
        let results = all(calls(&ports, 0, 20, 50)).await;
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert_eq!(broker.end_offset("orders", 0), Some(1_000));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_brokers_would_hang_up_on_is_refused_here() {
    let (broker, ports) = orders(1, |_| ()).await;
    let value = vec![0u8; 100 << 20];
    let error = ports.produce.produce(partition(0), vec![record("").value(value)]).await.unwrap_err();
    assert_eq!((error.code(), broker.requests(Api::Produce)), (Some(ErrorCode::MESSAGE_TOO_LARGE), 0));
    assert!(matches!(error, BrokerError::Response { .. }) && !error.is_retriable());
}
