//! How long a partition stands still when its handler panics: from just before the panic to the next record in the
//! next handler, through the actors, the classifier and the supervisor. No broker: dead letters are acknowledged at
//! once.
//!
//! `cargo bench --bench restart`

mod support;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bezoar::broker::Feed;
use bezoar::record::{HeaderRef, Record, RecordBatch, RecordBatchBuilder, TopicPartition};
use bezoar::{Consumer, Delivery, FactoryContext, Failure, Handler, Raw, factory_fn};
use support::memory::Memory;
use support::records::TOPIC;
use support::table;
use tokio::sync::mpsc;

/// Panics at every other record.
struct Fragile {
    partition: i32,
    /// Of this partition, across its handlers.
    panicked: Arc<Mutex<Option<Instant>>>,
    recovered: mpsc::UnboundedSender<(i32, Duration)>,
}

impl Handler for Fragile {
    type Message = Record;
    type Error = Failure;

    async fn handle(&mut self, record: Record, _: Delivery) -> Result<(), Failure> {
        if record.offset() % 2 == 0 {
            *self.panicked.lock().unwrap() = Some(Instant::now());
            panic!("record {} is a poison pill", record.offset());
        }
        let panicked = self.panicked.lock().unwrap().take().expect("the record before panicked");
        let _ = self.recovered.send((self.partition, panicked.elapsed()));
        Ok(())
    }
}

/// `panics` poison pills, each with a good record after it, from offset `start` on.
fn pills(partition: &TopicPartition, start: i64, panics: i64) -> RecordBatch {
    let mut builder = RecordBatchBuilder::new(partition.clone(), None);
    for offset in start..start + 2 * panics {
        let headers: [HeaderRef<'_>; 0] = [];
        builder.push(offset, 1_700_000_000_000, None, Some(b"{}"), headers.into_iter());
    }
    builder.build(start + 2 * panics)
}

#[derive(Clone, Copy)]
enum Pace {
    /// The next pill of a partition comes once the last one's dead letter is acknowledged.
    Calm,
    /// All pills are in the feed from the start.
    Storm,
}

/// Milliseconds of standstill, one for each panic.
async fn standstills(partitions: i32, panics: i64, pace: Pace) -> Vec<f64> {
    let memory = Memory::new(partitions);
    let (recovered, mut recoveries) = mpsc::unbounded_channel();
    let slots: Vec<Arc<Mutex<Option<Instant>>>> = (0..partitions).map(|_| Arc::default()).collect();
    let factory = factory_fn(move |context: FactoryContext| {
        let partition = context.partition().partition();
        let panicked = Arc::clone(&slots[partition as usize]);
        let recovered = recovered.clone();
        async move { Ok(Fragile { partition, panicked, recovered }) }
    });
    let consumer = Consumer::builder("bench")
        .ports(memory.ports())
        .assignment(bezoar::consumer::Assignment::Manual)
        .topic(TOPIC, Raw, factory)
        .start()
        .await
        .expect("it starts");
    let names: Vec<TopicPartition> = (0..partitions).map(|number| TopicPartition::new(TOPIC, number)).collect();
    while consumer.positions().await.len() < names.len() || names.iter().any(|name| memory.feed(name).is_none()) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let feeds: Vec<Arc<Feed>> = names.iter().map(|name| memory.feed(name).expect("it is assigned")).collect();
    let per_partition = panics / i64::from(partitions);
    let (at_once, rounds) = match pace {
        Pace::Calm => (1, per_partition),
        Pace::Storm => (per_partition, 1),
    };
    let mut acknowledged = memory.produced();
    let mut times = Vec::new();
    for round in 0..rounds {
        for (name, feed) in names.iter().zip(&feeds) {
            feed.push(pills(name, round * 2 * at_once, at_once));
        }
        for _ in 0..at_once * i64::from(partitions) {
            let (_, standstill) = recoveries.recv().await.expect("each panic is recovered from");
            times.push(standstill.as_secs_f64() * 1e3);
        }
        acknowledged.wait_for(|count| *count >= times.len()).await.expect("the ports are there");
    }
    let summary = consumer.shutdown().await.expect("it stops cleanly");
    assert!(summary.committed && summary.partitions.iter().all(|position| position.watermark == 2 * per_partition));
    times
}

#[tokio::main]
async fn main() {
    let panics = if support::measuring() { 2_000 } else { 16 };
    let mut rows = Vec::new();
    for (name, pace) in [("one at a time", Pace::Calm), ("all at once", Pace::Storm)] {
        for partitions in [1, 8] {
            let mut times = standstills(partitions, panics, pace).await;
            let mut row = vec![name.to_owned(), partitions.to_string()];
            row.extend([50.0, 99.0, 100.0].map(|percent| format!("{:.3}", table::percentile(&mut times, percent))));
            rows.push(row);
        }
    }
    println!("{panics} panics; milliseconds from the panic to the next record\n");
    table::print(&["pills", "partitions", "p50", "p99", "most"], &rows);
}
