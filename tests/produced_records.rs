//! What a handler sends onward is acknowledged before its input is settled, and a slow broker is not the record's fault.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::embedded::{Api, Broker, Fault};
use bezoar::policy::{Backoff, Category, Policies};
use bezoar::producer::Producer;
use bezoar::record::ProducerRecord;
use bezoar::testing::{Harness, Outcome};
use bezoar::{Consumer, Delivery, Event, Failure, Handler, Utf8, handler_fn};

async fn broker_with(topics: &[&str], records: usize) -> Broker {
    let broker = Broker::start().await.unwrap();
    for topic in topics {
        broker.create_topic(topic, 1).unwrap();
    }
    let settings = bezoar::broker::ConnectionSettings::new([broker.bootstrap()]);
    let producer = Producer::connect(settings).await.unwrap();
    for number in 0..records {
        producer.send(ProducerRecord::to("orders").value(number.to_string())).await.unwrap();
    }
    broker
}

fn short(policies: Policies) -> Policies {
    policies.with_each(|_, policy| policy.backoff(Backoff::fixed(Duration::from_millis(20))))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_sent_without_waiting_are_acknowledged_in_order_before_their_input_is_committed() {
    let broker = broker_with(&["orders", "receipts"], 3).await;
    // The answer to the first record onward is held back: its input must not be committed before.
    let held = broker.inject(Fault::on(Api::Produce).topic("receipts").delay(Duration::from_millis(500)));
    let send = handler_fn(|order: String, delivery: Delivery| async move {
        for copy in 0..3 {
            drop(delivery.produce(ProducerRecord::to("receipts").value(format!("{order}.{copy}"))));
        }
        Ok::<(), Failure>(())
    });
    let consumer =
        Consumer::builder("copies").bootstrap(&broker.bootstrap()).topic("orders", Utf8, send).start().await.unwrap();
    held.wait_fired(1).await;
    consumer.caught_up().await;
    consumer.shutdown().await.unwrap();
    assert_eq!(broker.committed("copies", "orders", 0), Some(3));
    let values: Vec<String> = broker
        .records("receipts", 0)
        .unwrap()
        .iter()
        .map(|record| String::from_utf8(record.value.clone().unwrap().to_vec()).unwrap())
        .collect();
    assert_eq!(values, ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2", "2.0", "2.1", "2.2"]);
}

/// Waited for past the poison timeout, it was quarantined as poison although only the broker was slow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_while_the_broker_does_not_acknowledge_is_transient() {
    let broker = broker_with(&["orders", "receipts"], 1).await;
    broker.inject(Fault::on(Api::Produce).topic("receipts").times(2).delay(Duration::from_secs(3)));
    let send = handler_fn(|order: String, delivery: Delivery| async move {
        delivery.produce(ProducerRecord::to("receipts").value(order)).await?;
        Ok::<(), Failure>(())
    });
    let builder = Consumer::builder("slow")
        .bootstrap(&broker.bootstrap())
        .poison_timeout(Some(Duration::from_millis(300)))
        .policies(short(Policies::default()).with(Category::Transient, |policy| policy.retries(1_000)))
        .topic("orders", Utf8, send);
    let mut events = builder.events();
    let consumer = builder.start().await.unwrap();
    let first = loop {
        match events.next().await.unwrap() {
            Event::Retrying { category, error_type, message, .. } => break (category, error_type, message),
            Event::Exhausted { category, message, .. } => panic!("given up as {category}: {message}"),
            _ => {}
        }
    };
    assert_eq!((first.0, first.1.as_str()), (Category::Transient, "timeout"));
    assert!(first.2.contains("not acknowledged by the broker"), "{}", first.2);
    consumer.caught_up().await;
    consumer.shutdown().await.unwrap();
    assert!(broker.records("orders.dlq.poison", 0).unwrap().is_empty());
}

/// Keeps each delivery, and sends by the one before.
struct Late {
    kept: Arc<Mutex<Option<Delivery>>>,
}

impl Handler for Late {
    type Message = String;
    type Error = Failure;

    async fn handle(&mut self, _: String, delivery: Delivery) -> Result<(), Failure> {
        let before = self.kept.lock().unwrap().replace(delivery);
        if let Some(before) = before {
            drop(before.produce(ProducerRecord::to("late")));
        }
        Ok(())
    }
}

#[test]
fn what_a_kept_delivery_sends_later_is_not_waited_for() {
    let mut harness = Harness::new(Utf8, Late { kept: Arc::default() });
    for _ in 0..3 {
        assert_eq!(harness.deliver_blocking(ProducerRecord::to("orders").value("x")), Outcome::Handled);
    }
}

#[tokio::test]
async fn the_harness_works_inside_a_runtime_too() {
    let mut harness =
        Harness::new(Utf8, handler_fn(|_: String, _: Delivery| async { Err::<(), _>(Failure::new("odd")) }))
            .classify(|_| Some(Category::Dependency));
    let outcome = harness.deliver(ProducerRecord::to("orders").value("x")).await;
    assert_eq!(outcome.category(), Some(Category::Dependency));
}
