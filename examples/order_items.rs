//! A malformed order between good ones: its `items` is a string where a list belongs.
//!
//! It goes to `orders.dlq.validation` as it came, at once, since trying again would not help, and the error names the
//! field. Runs on the embedded broker.

use std::error::Error;

use bezoar::broker::ConnectionSettings;
use bezoar::embedded::Broker;
use bezoar::producer::Producer;
use bezoar::record::ProducerRecord;
use bezoar::replay::DeadLetter;
use bezoar::{Consumer, Delivery, Failure, Handler, Json};
use serde::Deserialize;

#[derive(Deserialize)]
struct Order {
    order_id: String,
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    sku: String,
    quantity: u32,
}

struct Picking;

impl Handler for Picking {
    type Message = Order;
    type Error = Failure;

    async fn handle(&mut self, order: Order, _delivery: Delivery) -> Result<(), Failure> {
        let items: Vec<String> = order.items.iter().map(|item| format!("{} x {}", item.quantity, item.sku)).collect();
        println!("order {} picked: {}", order.order_id, items.join(", "));
        Ok(())
    }
}

const ORDERS: [&str; 3] = [
    r#"{"order_id": "A-1", "items": [{"sku": "teapot", "quantity": 1}]}"#,
    r#"{"order_id": "A-2", "items": "two cups"}"#,
    r#"{"order_id": "A-3", "items": [{"sku": "cup", "quantity": 6}, {"sku": "saucer", "quantity": 6}]}"#,
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let broker = Broker::start().await?;
    broker.create_topic("orders", 1)?;
    let producer = Producer::connect(ConnectionSettings::new([broker.bootstrap()])).await?;
    for order in ORDERS {
        producer.send(ProducerRecord::to("orders").header("shop", "tea & more").value(order)).await?;
    }

    let builder = Consumer::builder("picking").bootstrap(&broker.bootstrap());
    let consumer = builder.topic("orders", Json, || Picking).start().await?;
    let caught_up = consumer.caught_up();
    consumer.run_until(caught_up).await?;

    for record in broker.records("orders.dlq.validation", 0)? {
        let letter = DeadLetter::read(record.key, record.value, record.headers);
        println!("in orders.dlq.validation: {}", String::from_utf8_lossy(&letter.value.unwrap_or_default()));
        for header in letter.headers {
            let value = header.value.unwrap_or_default();
            println!("  its header {}: {}", String::from_utf8_lossy(&header.name), String::from_utf8_lossy(&value));
        }
        println!("  from {} ({})", letter.origin, letter.error_type);
        println!("  {}", letter.message);
    }
    Ok(())
}
