//! A broker, records, and handlers that note what they handle.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::ConnectionSettings;
use bezoar::consumer::ConsumerBuilder;
use bezoar::embedded::Broker;
use bezoar::producer::Producer;
use bezoar::record::{ProducerRecord, TopicPartition};
use bezoar::{Consumer, Delivery, Failure, Handler, HandlerFactory, Utf8, handler_fn};

/// Far more than any of this takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn partition(topic: &str, partition: i32) -> TopicPartition {
    TopicPartition::new(topic, partition)
}

/// Where records were that were handled: topic, partition, offset.
#[derive(Clone, Default)]
pub(crate) struct Handled(Arc<Mutex<Vec<(String, i32, i64)>>>);

impl Handled {
    pub(crate) fn handler(&self) -> impl HandlerFactory<Handler: Handler<Message = String>> + use<> {
        let handled = self.clone();
        handler_fn(move |_: String, delivery: Delivery| {
            let place = (delivery.topic().to_owned(), delivery.partition(), delivery.offset());
            handled.0.lock().unwrap().push(place);
            async { Ok::<(), Failure>(()) }
        })
    }

    pub(crate) fn count(&self, topic: &str, partition: i32) -> usize {
        self.0.lock().unwrap().iter().filter(|(t, p, _)| t == topic && *p == partition).count()
    }

    /// Waits until so many records of the partition were handled.
    pub(crate) async fn reached(&self, topic: &str, partition: i32, count: usize) {
        until(&format!("{count} records of {topic}/{partition} are handled"), async || {
            self.count(topic, partition) >= count
        })
        .await;
        assert_eq!(self.count(topic, partition), count);
    }
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.unwrap_or_else(|_| panic!("waited for in vain: {what}"));
}

pub(crate) fn builder(broker: &Broker) -> ConsumerBuilder {
    Consumer::builder("fulfilment").bootstrap(&broker.bootstrap()).drain_timeout(Duration::from_secs(5))
}

/// A consumer of `orders` that has joined.
pub(crate) async fn consumer(broker: &Broker, handled: &Handled) -> Consumer {
    let consumer = builder(broker).topic("orders", Utf8, handled.handler()).start().await.unwrap();
    tokio::time::timeout(LIMIT, consumer.caught_up()).await.unwrap();
    consumer
}

pub(crate) async fn send(broker: &Broker, topic: &str, partition: i32, count: usize) {
    let producer = Producer::connect(ConnectionSettings::new([broker.bootstrap()])).await.unwrap();
    for _ in 0..count {
        producer.send(ProducerRecord::to(topic).partition(partition).value("an order")).await.unwrap();
    }
}
