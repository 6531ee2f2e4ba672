//! The main job: four orders, one of which is malformed and one of which fails twice before it succeeds.
//!
//! The malformed one goes to `orders.dlq` with headers that describe the error, the failing one is retried, and the
//! partition goes on in order. Runs on the embedded broker; set `KAFKA_BOOTSTRAP` to run it on a Kafka of yours. It
//! creates the topics `orders` and `orders.dlq` and removes what it made; where one of them or the group `fulfilment` is
//! there already it refuses to start. It gives up after 30 s, or as many as `ORDERS_TIMEOUT` says.

use std::error::Error;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::{ConnectionSettings, Feed, NewTopic, OffsetSpec, Plane, Ports};
use bezoar::dead_letter::{DeadLetterFormat, Profile};
use bezoar::embedded::Broker;
use bezoar::policy::{Backoff, Category, DeadLetterTopics, Policies};
use bezoar::producer::Producer;
use bezoar::record::{ProducerRecord, TopicPartition};
use bezoar::{Consumer, Delivery, Event, EventStream, Failure, Handler, Json};
use serde::Deserialize;

#[derive(Deserialize)]
struct Order {
    id: u32,
    #[allow(dead_code)] // part of the message, not of this demonstration
    total: f64,
}

/// Reserves what was ordered. The inventory times out on the first two attempts for order 3.
struct Fulfilment {
    console: Arc<Console>,
}

impl Handler for Fulfilment {
    type Message = Order;
    type Error = Failure;

    async fn handle(&mut self, order: Order, delivery: Delivery) -> Result<(), Failure> {
        if order.id == 3 && delivery.attempt() < 3 {
            return Err(Failure::transient("inventory service timeout"));
        }
        self.console.line(&format!("order {} reserved (attempt {})", order.id, delivery.attempt()));
        Ok(())
    }
}

/// Standard output: before each line of the handler come the lines of the events that led to it.
struct Console {
    events: Mutex<EventStream>,
}

impl Console {
    fn line(&self, text: &str) {
        let mut events = self.events.lock().expect("no panic while printing");
        while let Some(event) = events.try_next() {
            match event {
                Event::Retrying { message, .. } => println!("retrying after: {message}"),
                Event::DeadLettered { record, error_type, .. } => {
                    println!("dead-lettered offset {}: {error_type}", record.offset);
                }
                _ => {}
            }
        }
        println!("{text}");
    }
}

const GROUP: &str = "fulfilment";
const ORDERS: [&str; 4] = [
    r#"{"id": 1, "total": 20}"#,
    r#"{"id": 2, "total": "abc""#,
    r#"{"id": 3, "total": 35}"#,
    r#"{"id": 4, "total": 15}"#,
];

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("orders: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let limit = time_limit()?;
    let given = std::env::var("KAFKA_BOOTSTRAP").ok();
    // Kept until the end: dropping it stops it.
    let embedded = if given.is_none() { Some(Broker::start().await?) } else { None };
    let bootstrap = given.or_else(|| embedded.as_ref().map(Broker::bootstrap)).unwrap_or_default();

    let settings = ConnectionSettings::new([&bootstrap]);
    let ports = Plane::Native.connect(settings).await?;
    refuse_if_anything_exists(&ports).await?;
    let outcome = demonstrate(&bootstrap, &ports, limit).await;
    let cleaned = clean_up(&ports).await;
    outcome?;
    cleaned
}

fn time_limit() -> Result<Duration, Box<dyn Error>> {
    let Ok(text) = std::env::var("ORDERS_TIMEOUT") else { return Ok(Duration::from_secs(30)) };
    match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => Err(format!("ORDERS_TIMEOUT is {text:?}; give a whole number of seconds, such as 30").into()),
    }
}

async fn demonstrate(bootstrap: &str, ports: &Ports, limit: Duration) -> Result<(), Box<dyn Error>> {
    for topic in ["orders", "orders.dlq"] {
        ports.admin.create_topic(NewTopic::new(topic, 1).replication(1)).await?;
    }
    let producer = Producer::new(ports.clone(), tokio::runtime::Handle::current());
    for order in ORDERS {
        producer.send(ProducerRecord::to("orders").key("shop-1").value(order)).await?;
    }

    let short = Backoff::exponential(Duration::from_millis(50), 2.0, Duration::from_secs(1));
    let builder = Consumer::builder(GROUP)
        .bootstrap(bootstrap)
        .policies(Policies::default().with(Category::Transient, |policy| policy.backoff(short)))
        .dead_letter_topics(DeadLetterTopics::single())
        .dead_letter_format(DeadLetterFormat::default().profile(Profile::Plain))
        .max_unacknowledged_dead_letters(0)
        .drain_timeout(Duration::from_secs(5));
    let console = Arc::new(Console { events: Mutex::new(builder.events()) });
    let consumer = builder.topic("orders", Json, move || Fulfilment { console: console.clone() }).start().await?;

    let in_time = tokio::time::timeout(limit, consumer.caught_up()).await;
    consumer.shutdown().await?;
    in_time.map_err(|_| format!("the four orders were not settled within {limit:?}; is the broker in trouble?"))?;

    println!("DLQ message: {}", first_dead_letter(ports, limit).await?);
    Ok(())
}

/// Reads the dead letter back and shows its value and the two headers of the `plain` profile.
async fn first_dead_letter(ports: &Ports, limit: Duration) -> Result<String, Box<dyn Error>> {
    let partition = TopicPartition::new("orders.dlq", 0);
    let feed = Arc::new(Feed::new(partition.clone(), 1 << 20, |_| {}));
    let start = ports.admin.offset(partition.clone(), OffsetSpec::Earliest).await?;
    ports.source.add(partition.clone(), None, start, feed.clone());
    let arrived = async {
        loop {
            if let Some(record) = feed.front().and_then(|batch| batch.get(0)) {
                return record;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let record = tokio::time::timeout(limit, arrived).await;
    ports.source.remove(&partition);
    feed.close();
    let record = record.map_err(|_| format!("the dead letter did not come within {limit:?}"))?;
    let value = String::from_utf8_lossy(record.value().unwrap_or_default()).into_owned();
    let headers = record.headers();
    let (error, source) = (headers.text("error").unwrap_or("?"), headers.text("source").unwrap_or("?"));
    Ok(format!("{value} {{'error': '{error}', 'source': '{source}'}}"))
}

/// The topics and the group could be somebody's: nothing is touched then.
async fn refuse_if_anything_exists(ports: &Ports) -> Result<(), Box<dyn Error>> {
    let topics = ports.admin.topics(vec!["orders".into(), "orders.dlq".into()]).await?;
    if let Some(topic) = topics.into_iter().flatten().next() {
        return Err(format!("topic {:?} exists already; this demonstration would mix with it", topic.name).into());
    }
    if ports.offsets.group_exists(GROUP.into()).await? {
        return Err(format!("group {GROUP:?} exists already; this demonstration would mix with it").into());
    }
    Ok(())
}

async fn clean_up(ports: &Ports) -> Result<(), Box<dyn Error>> {
    let group = ports.offsets.delete_group(GROUP.into()).await;
    let topics = ports.admin.delete_topics(vec!["orders".into(), "orders.dlq".into()]).await;
    topics?;
    Ok(group?)
}
