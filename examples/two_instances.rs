//! Two instances of a service share a topic: one joins, one is killed, one shuts down, one restarts under a name of its own.
//!
//! Orders keep coming all the time. At the end it is counted whether each was handled, and how often. Runs on the embedded
//! broker, with a session timeout of four seconds instead of 45, so that nobody has to wait long for a killed instance to be missed.

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bezoar::broker::ConnectionSettings;
use bezoar::consumer::{GroupProtocol, PartitionState};
use bezoar::embedded::Broker;
use bezoar::producer::Producer;
use bezoar::record::ProducerRecord;
use bezoar::{Consumer, Delivery, Event, Failure, Utf8, handler_fn};

const PARTITIONS: i32 = 6;
/// Far more than any step takes.
const LIMIT: Duration = Duration::from_secs(60);

/// Who handled which order: by partition and offset, each time it was handled.
type Tally = Arc<Mutex<BTreeMap<(i32, i64), Vec<&'static str>>>>;

/// One instance of the service. As a rule it is a process of its own.
struct Instance {
    name: &'static str,
    consumer: Consumer,
}

impl Instance {
    async fn start(
        broker: &Broker,
        tally: &Tally,
        name: &'static str,
        instance_id: Option<&str>,
    ) -> Result<Self, Box<dyn Error>> {
        let tally = Arc::clone(tally);
        let reserve = handler_fn(move |_order: String, delivery: Delivery| {
            let place = (delivery.partition(), delivery.offset());
            tally.lock().unwrap_or_else(PoisonError::into_inner).entry(place).or_default().push(name);
            async { Ok::<(), Failure>(()) }
        });
        let mut builder = Consumer::builder("fulfilment")
            .bootstrap(&broker.bootstrap())
            // For the sake of the short timeouts, which are the member's own in this protocol.
            .group_protocol(GroupProtocol::Classic)
            .session_timeout(Duration::from_secs(4))
            .heartbeat_interval(Duration::from_millis(400))
            .drain_timeout(Duration::from_secs(5));
        if let Some(id) = instance_id {
            builder = builder.instance_id(id);
        }
        Ok(Self { name, consumer: builder.topic("orders", Utf8, reserve).start().await? })
    }

    /// The partitions that are processed now.
    async fn owns(&self) -> Vec<i32> {
        let partitions = self.consumer.partitions().await;
        let running = partitions.into_iter().filter(|status| status.state == PartitionState::Running);
        running.map(|status| status.partition.partition()).collect()
    }

    /// Waits until it has handled what it has not committed yet.
    async fn has_something_uncommitted(&self) -> Result<(), Box<dyn Error>> {
        let begun = Instant::now();
        while self.consumer.positions().await.iter().all(|position| position.watermark == position.committed) {
            if begun.elapsed() > LIMIT {
                return Err(format!("{} handled nothing within {LIMIT:?}", self.name).into());
            }
        }
        Ok(())
    }
}

/// Waits until the instances share all partitions evenly, and says who has which.
async fn shared(instances: &[&Instance]) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    loop {
        let mut shares = Vec::new();
        for instance in instances {
            shares.push((instance.name, instance.owns().await));
        }
        let each = PARTITIONS as usize / instances.len();
        if shares.iter().all(|(_, share)| share.len() == each) {
            for (name, share) in shares {
                println!("   {name} has partitions {share:?}");
            }
            return Ok(());
        }
        if begun.elapsed() > LIMIT {
            return Err(format!("the partitions were not shared evenly within {LIMIT:?}: {shares:?}").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("two_instances: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let broker = Broker::start().await?;
    broker.create_topic("orders", PARTITIONS)?;
    let tally = Tally::default();
    let open = Arc::new(AtomicBool::new(true));
    let orders = tokio::spawn(take_orders(broker.bootstrap(), Arc::clone(&open)));

    println!("A starts");
    let a = Instance::start(&broker, &tally, "A", None).await?;
    shared(&[&a]).await?;

    println!("B joins");
    let b = Instance::start(&broker, &tally, "B", None).await?;
    shared(&[&a, &b]).await?;

    println!("B is killed: its partitions wait until its session is over");
    b.has_something_uncommitted().await?;
    drop(b);
    shared(&[&a]).await?;

    println!("C joins");
    let c = Instance::start(&broker, &tally, "C", None).await?;
    shared(&[&a, &c]).await?;

    println!("A shuts down: it finishes, commits and leaves, so C need not wait");
    let summary = a.consumer.shutdown().await?;
    println!("   A has committed all that it handled: {}", summary.committed && summary.dropped.is_empty());
    shared(&[&c]).await?;
    c.consumer.shutdown().await?;

    println!("D and E take over, each with an instance id of its own");
    let d = Instance::start(&broker, &tally, "D", Some("fulfilment-0")).await?;
    let e = Instance::start(&broker, &tally, "E", Some("fulfilment-1")).await?;
    shared(&[&d, &e]).await?;

    println!("E restarts: its partitions wait for it");
    let mut events = d.consumer.events();
    e.consumer.shutdown().await?;
    let e = Instance::start(&broker, &tally, "E", Some("fulfilment-1")).await?;
    shared(&[&d, &e]).await?;
    let mut moved = 0;
    while let Some(event) = events.try_next() {
        moved += usize::from(matches!(event, Event::Revoked { .. } | Event::Lost { .. } | Event::Assigned { .. }));
    }
    println!("   partitions that moved: {moved}");

    open.store(false, Ordering::Release);
    let taken = orders.await??;
    let all_settled = async { tokio::join!(d.consumer.caught_up(), e.consumer.caught_up()) };
    tokio::time::timeout(LIMIT, all_settled).await.map_err(|_| format!("orders were left after {LIMIT:?}"))?;
    d.consumer.shutdown().await?;
    e.consumer.shutdown().await?;
    report(&tally, taken)
}

/// Sends an order every few milliseconds, to each partition in turn, and says how many there were.
async fn take_orders(bootstrap: String, open: Arc<AtomicBool>) -> Result<usize, String> {
    let producer = Producer::connect(ConnectionSettings::new([bootstrap])).await.map_err(|error| error.to_string())?;
    let mut taken = 0;
    while open.load(Ordering::Acquire) {
        for partition in 0..PARTITIONS {
            let order = ProducerRecord::to("orders").partition(partition).value(format!("order {taken}"));
            producer.send(order).await.map_err(|error| error.to_string())?;
            taken += 1;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(taken)
}

fn report(tally: &Tally, taken: usize) -> Result<(), Box<dyn Error>> {
    let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    if tally.len() != taken {
        return Err(format!("{taken} orders came in, and {} were handled", tally.len()).into());
    }
    let again: Vec<_> = tally.values().filter(|handled| handled.len() > 1).collect();
    println!("each of the {taken} orders was handled");
    println!(
        "{} were handled twice, all of them first by B, which had not committed them when it was killed",
        again.len()
    );
    if again.iter().any(|handled| handled.len() > 2 || handled[0] != "B") {
        return Err(format!("others were handled more than once too: {again:?}").into());
    }
    Ok(())
}
