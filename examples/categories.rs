//! A user's own error type that says per variant what kind of failure it is, and a policy for each kind.
//!
//! Seven orders meet what can go wrong; the dead letters end in five topics, one per category. Runs on the embedded
//! broker; set `KAFKA_BOOTSTRAP` to leave topic and dead letters in a Kafka of yours, which must not have a topic
//! `orders` yet.

use std::error::Error;
use std::time::Duration;

use bezoar::broker::{ConnectionSettings, NewTopic, Plane};
use bezoar::embedded::Broker;
use bezoar::policy::{Backoff, Category, Policies};
use bezoar::producer::Producer;
use bezoar::record::ProducerRecord;
use bezoar::{Consumer, Delivery, Event, Failure, Handler, IntoFailure, Json};
use serde::Deserialize;
use tokio::runtime::Handle;

#[derive(Deserialize)]
struct Order {
    id: u32,
    pieces: u32,
    ship_to: String,
}

#[derive(Debug, thiserror::Error)]
enum OrderError {
    #[error("order {0} is empty")]
    Empty(u32),
    #[error("the carrier is busy")]
    CarrierBusy,
    #[error("the inventory does not answer")]
    InventoryDown,
    #[error("the label printer blinks red")]
    Printer,
}

impl IntoFailure for OrderError {
    fn into_failure(self) -> Failure {
        match self {
            Self::Empty(_) => Failure::validation(self),
            Self::CarrierBusy => Failure::transient(self),
            Self::InventoryDown => Failure::dependency("inventory").caused_by(self),
            // Nothing is stated: the built-in rules are asked, which know nothing of printers.
            Self::Printer => Failure::new(self),
        }
    }
}

struct Shipping;

impl Handler for Shipping {
    type Message = Order;
    type Error = OrderError;

    async fn handle(&mut self, order: Order, delivery: Delivery) -> Result<(), OrderError> {
        match (order.pieces, order.ship_to.as_str()) {
            (0, _) => return Err(OrderError::Empty(order.id)),
            (_, "the coast") if delivery.attempt() < 3 => return Err(OrderError::CarrierBusy),
            (_, "the moon") => return Err(OrderError::CarrierBusy),
            (1000.., _) => return Err(OrderError::InventoryDown),
            (_, "") => return Err(OrderError::Printer),
            (_, address) => assert!(address.is_ascii(), "no font for the address {address:?}"),
        }
        println!("order {} shipped to {} (attempt {})", order.id, order.ship_to, delivery.attempt());
        Ok(())
    }
}

/// Number of pieces and address of orders 1 to 7, and what becomes of them.
const ORDERS: [(u32, &str); 7] = [
    (2, "the town"),    // shipped
    (0, "the town"),    // validation
    (2, "the coast"),   // transient, shipped on the third attempt
    (2, "the moon"),    // transient, until the attempts are used up
    (9000, "the town"), // dependency
    (2, "Zürich"),      // poison: it panics
    (2, ""),            // unknown
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::var("KAFKA_BOOTSTRAP").ok();
    // Kept until the end: dropping it stops it.
    let embedded = if given.is_none() { Some(Broker::start().await?) } else { None };
    let bootstrap = given.or_else(|| embedded.as_ref().map(Broker::bootstrap)).unwrap_or_default();
    let ports = Plane::Native.connect(ConnectionSettings::new([&bootstrap])).await?;
    ports.admin.create_topic(NewTopic::new("orders", 1)).await?;
    let producer = Producer::new(ports, Handle::current());
    for (id, (pieces, ship_to)) in (1..).zip(ORDERS) {
        let order = format!(r#"{{"id": {id}, "pieces": {pieces}, "ship_to": "{ship_to}"}}"#);
        producer.send(ProducerRecord::to("orders").value(order)).await?;
    }

    let ms = Duration::from_millis;
    let policies = Policies::default()
        .with(Category::Transient, |policy| policy.retries(3).backoff(Backoff::exponential(ms(20), 2.0, ms(200))))
        .with(Category::Dependency, |policy| policy.retries(2).backoff(Backoff::linear(ms(50), ms(200))))
        .with(Category::Unknown, |policy| policy.retries(1).backoff(Backoff::fixed(ms(20))));
    let builder = Consumer::builder("shipping").bootstrap(&bootstrap).policies(policies);
    let mut events = builder.events();
    let consumer = builder.topic("orders", Json, || Shipping).start().await?;
    let caught_up = consumer.caught_up();
    consumer.run_until(caught_up).await?;

    println!();
    while let Some(event) = events.try_next() {
        match event {
            Event::Retrying { record, category, attempt, max_attempts, .. } => {
                println!("{record} {category}: attempt {attempt} of {max_attempts} failed");
            }
            Event::DeadLettered { record, category, message, attempts, dead_letter, .. } => {
                println!("{record} {category}: in {} after {attempts} attempt(s): {message}", dead_letter.topic());
            }
            _ => {}
        }
    }
    Ok(())
}
