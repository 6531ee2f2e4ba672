//! A consumer whose settings come from a file: [`config_file.toml`](./config_file.toml), which explains the
//! ones that matter; [`ConsumerSettings`] has all.
//!
//! Give another file as the argument to try yours. What is wrong in it is said before anything starts. Runs on the
//! embedded broker until all orders are settled, or until Ctrl-C.

use std::error::Error;
use std::fs;
use std::process::ExitCode;

use bezoar::broker::ConnectionSettings;
use bezoar::consumer::ConsumerSettings;
use bezoar::embedded::Broker;
use bezoar::producer::Producer;
use bezoar::record::ProducerRecord;
use bezoar::{Consumer, Delivery, Event, Failure, Json, handler_fn};
use serde::Deserialize;

const DEFAULT_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/config_file.toml");

#[derive(Deserialize)]
struct Order {
    id: u32,
}

async fn reserve(order: Order, delivery: Delivery) -> Result<(), Failure> {
    if order.id == 2 && delivery.attempt() < 3 {
        return Err(Failure::transient("inventory service timeout"));
    }
    println!("order {} reserved (attempt {})", order.id, delivery.attempt());
    Ok(())
}

fn read_settings() -> Result<ConsumerSettings, Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| DEFAULT_FILE.to_owned());
    let text = fs::read_to_string(&file).map_err(|error| format!("cannot read {file}: {error}"))?;
    Ok(toml::from_str(&text).map_err(|error| format!("in {file}: {error}"))?)
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("config_file: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let settings = read_settings()?;
    println!("group {}, commits every {:?}", settings.group, settings.commit_interval);

    let broker = Broker::start().await?;
    broker.create_topic("orders", 1)?;
    let producer = Producer::connect(ConnectionSettings::new([broker.bootstrap()])).await?;
    for order in [r#"{"id": 1}"#, r#"{"id": 2}"#, r#"{"id": "three"}"#, r#"{"id": 4}"#] {
        producer.send(ProducerRecord::to("orders").value(order)).await?;
    }

    // What is set in code comes after the file, and replaces what it says.
    let builder = Consumer::from_settings(settings)?.bootstrap(&broker.bootstrap());
    let mut events = builder.events();
    let consumer = builder.topic("orders", Json, handler_fn(reserve)).start().await?;

    let caught_up = consumer.caught_up();
    let signal = async {
        tokio::select! {
            () = caught_up => println!("all orders settled"),
            () = bezoar::shutdown_signal() => println!("interrupted"),
        }
    };
    let summary = consumer.run_until(signal).await?;
    for position in summary.partitions {
        println!("{} committed up to offset {}", position.partition, position.committed);
    }

    println!();
    while let Some(event) = events.try_next() {
        match event {
            Event::Retrying { record, attempt, max_attempts, backoff, .. } => {
                println!("{record}: attempt {attempt} of {max_attempts} failed, next after {backoff:?}");
            }
            Event::DeadLettered { record, dead_letter, message, .. } => {
                println!("{record}: in {}: {message}", dead_letter.topic());
            }
            Event::Alert { record, .. } => println!("{record}: somebody should look"),
            _ => {}
        }
    }
    Ok(())
}
