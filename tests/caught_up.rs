//! Waiting until a consumer has caught up: neither too early nor for ever.

use std::sync::Arc;
use std::time::Duration;

use bezoar::broker::{ConnectionSettings, ErrorCode};
use bezoar::embedded::{Api, Broker, Fault};
use bezoar::producer::Producer;
use bezoar::record::ProducerRecord;
use bezoar::{Consumer, Delivery, Failure, Utf8, handler_fn};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Far more than any of this takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A broker with one record in each of the two partitions of `orders`.
async fn broker() -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    let producer = Producer::connect(ConnectionSettings::new([broker.bootstrap()])).await.unwrap();
    for partition in 0..2 {
        producer.send(ProducerRecord::to("orders").partition(partition).value("an order")).await.unwrap();
    }
    broker
}

/// A consumer that needs a permit for each record.
async fn consumer(broker: &Broker, permits: &Arc<Semaphore>) -> Consumer {
    let permits = Arc::clone(permits);
    let handler = handler_fn(move |_: String, _: Delivery| {
        let permits = Arc::clone(&permits);
        async move {
            permits.acquire().await?.forget();
            Ok::<(), Failure>(())
        }
    });
    let builder = Consumer::builder("fulfilment").bootstrap(&broker.bootstrap());
    builder.drain_timeout(Duration::from_millis(100)).topic("orders", Utf8, handler).start().await.unwrap()
}

#[tokio::test]
async fn it_waits_for_every_partition() {
    let broker = broker().await;
    let permits = Arc::new(Semaphore::new(0));
    let consumer = consumer(&broker, &permits).await;
    let caught_up = tokio::spawn(consumer.caught_up());
    for _ in 0..2 {
        // As long as it would take to be wrong, as a rule; never too short to be right.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!caught_up.is_finished());
        permits.add_permits(1);
    }
    timeout(LIMIT, caught_up).await.unwrap().unwrap();
    let settled: i64 = consumer.positions().await.iter().map(|position| position.watermark).sum();
    assert_eq!(settled, 2);
    timeout(LIMIT, consumer.caught_up()).await.expect("there is nothing more to wait for");
}

#[tokio::test]
async fn a_broker_that_cannot_answer_for_a_while_is_asked_again() {
    let broker = broker().await;
    let consumer = consumer(&broker, &Arc::new(Semaphore::new(2))).await;
    let fault = broker.inject(Fault::on(Api::ListOffsets).times(1).error(ErrorCode(-1)));
    timeout(LIMIT, consumer.caught_up()).await.unwrap();
    assert_eq!(fault.fired(), 1);
}

#[tokio::test]
async fn it_ends_with_the_consumer() {
    let broker = broker().await;
    let consumer = consumer(&broker, &Arc::new(Semaphore::new(0))).await;
    let caught_up = tokio::spawn(consumer.caught_up());
    tokio::time::sleep(Duration::from_millis(100)).await;
    let summary = timeout(LIMIT, consumer.shutdown()).await.unwrap().unwrap();
    assert!(summary.partitions.iter().all(|position| position.watermark == 0), "nothing could be handled: {summary:?}");
    timeout(LIMIT, caught_up).await.unwrap().unwrap();
}
