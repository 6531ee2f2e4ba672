//! An actor as the handler: a [ractor](bezoar::ractor) actor that keeps the stock of a warehouse.
//!
//! Each partition has an actor of its own, which gets one order at a time and answers on its reply port. An order for
//! more than there is fails and is delivered again, after the actor has had its stock filled up. Runs on the embedded
//! broker.

use std::error::Error;
use std::time::Duration;

use bezoar::broker::ConnectionSettings;
use bezoar::embedded::Broker;
use bezoar::handler::{Deliver, FactoryContext, actor};
use bezoar::policy::{Backoff, Category, Policies};
use bezoar::producer::Producer;
use bezoar::ractor::{Actor, ActorProcessingErr, ActorRef};
use bezoar::record::ProducerRecord;
use bezoar::{Consumer, Event, Failure, Json};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Order {
    id: u32,
    pieces: u32,
}

/// The actor. What changes is in its state, as usual in ractor.
struct Warehouse;

/// What is on the shelves of one partition's warehouse.
struct Stock {
    pieces: u32,
}

// Only a build that switches ractor's `async-trait` on needs the attribute.
#[cfg_attr(feature = "async-trait", bezoar::ractor::async_trait)]
impl Actor for Warehouse {
    type Msg = Deliver<Order>;
    type State = Stock;
    type Arguments = u32;

    async fn pre_start(&self, _: ActorRef<Deliver<Order>>, pieces: u32) -> Result<Stock, ActorProcessingErr> {
        println!("warehouse opened with {pieces} pieces");
        Ok(Stock { pieces })
    }

    async fn handle(
        &self,
        _: ActorRef<Deliver<Order>>,
        delivered: Deliver<Order>,
        stock: &mut Stock,
    ) -> Result<(), ActorProcessingErr> {
        let Deliver { message: order, delivery, reply } = delivered;
        let answer = stock.take(&order);
        if answer.is_ok() {
            let (id, attempt, left) = (order.id, delivery.attempt(), stock.pieces);
            println!("order {id}: {} pieces taken on attempt {attempt}, {left} left", order.pieces);
        }
        // The answer settles the record or fails it. It could also be sent later, by a task or another actor.
        reply.send(answer)?;
        Ok(())
    }
}

impl Stock {
    fn take(&mut self, order: &Order) -> Result<(), Failure> {
        let Some(left) = self.pieces.checked_sub(order.pieces) else {
            let shortage = format!("order {} wants {} pieces, {} are left", order.id, order.pieces, self.pieces);
            self.pieces += 10;
            return Err(Failure::transient(shortage));
        };
        self.pieces = left;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let broker = Broker::start().await?;
    broker.create_topic("orders", 1)?;
    let producer = Producer::connect(ConnectionSettings::new([broker.bootstrap()])).await?;
    for (id, pieces) in [(1, 3), (2, 4), (3, 8), (4, 1)] {
        let order = format!(r#"{{"id": {id}, "pieces": {pieces}}}"#);
        producer.send(ProducerRecord::to("orders").value(order)).await?;
    }

    let soon = Backoff::fixed(Duration::from_millis(50));
    let builder = Consumer::builder("warehouse")
        .bootstrap(&broker.bootstrap())
        .policies(Policies::default().with(Category::Transient, |policy| policy.backoff(soon)))
        .topic("orders", Json, actor(|_: &FactoryContext| (Warehouse, 10)));
    let mut events = builder.events();
    let consumer = builder.start().await?;
    let caught_up = consumer.caught_up();
    consumer.run_until(caught_up).await?;

    println!();
    while let Some(event) = events.try_next() {
        if let Event::Retrying { record, message, attempt, max_attempts, backoff, .. } = event {
            println!("{record} failed on attempt {attempt} of {max_attempts} and waited {backoff:?}: {message}");
        }
    }
    Ok(())
}
