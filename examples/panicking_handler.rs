//! A handler that panics on one record.
//!
//! The record is quarantined: it goes to `orders.dlq.poison`, and its dead letter names file and line of the panic. The
//! partition goes on behind it with a fresh handler, whose state starts anew; the other partition notices nothing.
//! Runs on the embedded broker.

use std::error::Error;

use bezoar::broker::ConnectionSettings;
use bezoar::embedded::Broker;
use bezoar::producer::Producer;
use bezoar::record::ProducerRecord;
use bezoar::replay::DeadLetter;
use bezoar::{Consumer, Delivery, Event, Failure, Handler, Json};
use serde::Deserialize;

#[derive(Deserialize)]
struct Order {
    id: u32,
    cents: u32,
    instalments: u32,
}

/// Splits what an order costs. Has a bug: nobody thought of zero instalments.
struct Billing {
    /// State of this handler, which a panic may have left half-changed: so it dies with it.
    billed: u32,
}

impl Handler for Billing {
    type Message = Order;
    type Error = Failure;

    async fn handle(&mut self, order: Order, delivery: Delivery) -> Result<(), Failure> {
        self.billed += 1;
        let each = order.cents / order.instalments;
        let Order { id, instalments, .. } = order;
        let (partition, billed) = (delivery.partition(), self.billed);
        println!(
            "partition {partition}: order {id} billed, {instalments} x {each} cents (no. {billed} of its handler)"
        );
        Ok(())
    }
}

/// Partition and value.
const ORDERS: [(i32, &str); 7] = [
    (0, r#"{"id": 1, "cents": 1200, "instalments": 1}"#),
    (0, r#"{"id": 2, "cents": 1200, "instalments": 2}"#),
    (0, r#"{"id": 3, "cents": 1200, "instalments": 0}"#),
    (0, r#"{"id": 4, "cents": 1200, "instalments": 4}"#),
    (1, r#"{"id": 5, "cents": 1200, "instalments": 5}"#),
    (1, r#"{"id": 6, "cents": 1200, "instalments": 6}"#),
    (1, r#"{"id": 7, "cents": 1200, "instalments": 8}"#),
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let broker = Broker::start().await?;
    broker.create_topic("orders", 2)?;
    let producer = Producer::connect(ConnectionSettings::new([broker.bootstrap()])).await?;
    for (partition, order) in ORDERS {
        producer.send(ProducerRecord::to("orders").partition(partition).value(order)).await?;
    }

    let builder = Consumer::builder("billing").bootstrap(&broker.bootstrap());
    let mut events = builder.events();
    let consumer = builder.topic("orders", Json, || Billing { billed: 0 }).start().await?;
    let caught_up = consumer.caught_up();
    consumer.run_until(caught_up).await?;

    println!();
    while let Some(event) = events.try_next() {
        match event {
            Event::HandlerLost { record, fault, .. } => println!("handler lost at {record}: {fault}"),
            Event::Alert { record, page: true, .. } => println!("somebody should be woken up because of {record}"),
            _ => {}
        }
    }
    for partition in 0..2 {
        for record in broker.records("orders.dlq.poison", partition)? {
            let letter = DeadLetter::read(record.key, record.value, record.headers);
            println!("in orders.dlq.poison: {}", String::from_utf8_lossy(&letter.value.unwrap_or_default()));
            println!("  from {} ({})", letter.origin, letter.error_type);
            println!("  {}", letter.message);
        }
    }
    Ok(())
}
