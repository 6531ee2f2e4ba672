//! The whole framework: a consumer with a handler, as users write it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::Plane;
use bezoar::consumer::ConsumerBuilder;
use bezoar::policy::{Backoff, Category, Policies};
use bezoar::record::Record;
use bezoar::{Consumer, Delivery, Failure, Handler, IntoFailure, Json, Raw};
use bezoar_peers::Result;
use bezoar_peers::job::Job;
use bezoar_peers::measure::{Stopwatch, Tally};
use bezoar_peers::order::{Ledger, Order, OrderError};

/// What all handlers counted; each adds its own when it is dropped.
type Total = Arc<Mutex<Tally>>;

pub async fn consume(job: &Job, plane: Plane) -> Result<()> {
    let total = Total::default();
    let counted = Arc::clone(&total);
    let builder = builder(job, plane).topic(job.topic.as_str(), Raw, move || CountBytes {
        tally: Tally::default(),
        total: Arc::clone(&counted),
    });
    run(builder, total).await
}

pub async fn orders(job: &Job, plane: Plane) -> Result<()> {
    let total = Total::default();
    let counted = Arc::clone(&total);
    let builder = builder(job, plane).topic(job.topic.as_str(), Json, move || Orders {
        ledger: Ledger::default(),
        tally: Tally::default(),
        total: Arc::clone(&counted),
    });
    run(builder, total).await
}

fn builder(job: &Job, plane: Plane) -> ConsumerBuilder {
    let dead = job.dead.clone();
    let short = Backoff::fixed(Duration::from_millis(10));
    Consumer::builder(job.group.as_str())
        .assignment(bezoar::consumer::Assignment::Manual)
        .bootstrap(&job.bootstrap)
        .plane(plane)
        .policies(Policies::default().with(Category::Transient, |policy| policy.backoff(short)))
        .route_dead_letters(move |_, _| Some(dead.clone()))
}

/// From the start to the end of the log, all dead letters acknowledged and the last offsets committed.
async fn run(builder: ConsumerBuilder, total: Total) -> Result<()> {
    let stopwatch = Stopwatch::start();
    let consumer = builder.start().await?;
    let caught_up = consumer.caught_up();
    let summary = consumer.run_until(caught_up).await?;
    let mut tally = *total.lock().unwrap();
    if !summary.committed || summary.unacknowledged > 0 || !summary.dropped.is_empty() {
        return Err(format!("not a clean end: {summary:?}").into());
    }
    // What could not be decoded reached no handler.
    let settled = summary.partitions.iter().map(|partition| partition.watermark as u64).sum::<u64>();
    tally.decode = settled - tally.records;
    tally.records = settled;
    stopwatch.finish(tally);
    Ok(())
}

struct CountBytes {
    tally: Tally,
    total: Total,
}

impl Handler for CountBytes {
    type Message = Record;
    type Error = Failure;

    async fn handle(&mut self, record: Record, _: Delivery) -> Result<(), Failure> {
        self.tally.records += 1;
        self.tally.bytes += record.value().map_or(0, <[u8]>::len) as u64;
        Ok(())
    }
}

impl Drop for CountBytes {
    fn drop(&mut self) {
        *self.total.lock().unwrap() += self.tally;
    }
}

struct Orders {
    ledger: Ledger,
    tally: Tally,
    total: Total,
}

struct Refusal(OrderError);

impl IntoFailure for Refusal {
    fn into_failure(self) -> Failure {
        match self.0 {
            OrderError::Negative(_) => Failure::validation(self.0),
            OrderError::Busy => Failure::transient(self.0),
        }
    }
}

impl Handler for Orders {
    type Message = Order;
    type Error = Refusal;

    async fn handle(&mut self, order: Order, delivery: Delivery) -> Result<(), Refusal> {
        let result = self.ledger.handle(&order, delivery.attempt());
        match &result {
            Ok(()) => self.tally.records += 1,
            Err(OrderError::Negative(_)) => {
                self.tally.records += 1;
                self.tally.refused += 1;
            }
            Err(OrderError::Busy) => self.tally.retries += 1,
        }
        result.map_err(Refusal)
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        let Ledger { sum, disorder, .. } = self.ledger;
        *self.total.lock().unwrap() += Tally { sum, disorder, ..self.tally };
    }
}
