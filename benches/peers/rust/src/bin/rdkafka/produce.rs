use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bezoar_peers::Result;
use bezoar_peers::dead_letter as names;
use bezoar_peers::job::{Job, PARTITIONS};
use bezoar_peers::measure::{Stopwatch, Tally};
use bezoar_peers::plan::{self, Fate};
use rdkafka::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer, ProducerContext, ThreadedProducer};

/// Counts acknowledgements.
#[derive(Clone, Default)]
struct Counter {
    acknowledged: Arc<AtomicU64>,
}

impl ClientContext for Counter {}

impl ProducerContext for Counter {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if result.is_ok() {
            self.acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Produces orders; with the headers of a dead letter on top where `dead`.
pub fn run(job: &Job, dead: bool) -> Result<()> {
    let counter = Counter::default();
    let producer: ThreadedProducer<Counter> = super::producer_config(job).create_with_context(counter.clone())?;
    let stopwatch = Stopwatch::start();
    let mut tally = Tally::default();
    let mut value = String::new();
    for index in 0..job.records {
        plan::write_value(&mut value, index, Fate::Handled);
        tally.bytes += value.len() as u64;
        let key = plan::key(index);
        let own = plan::headers(index);
        let mut headers = OwnedHeaders::new_with_capacity(own.len() + names::SAMPLE.len() + 1);
        for (key, value) in &own {
            headers = headers.insert(Header { key, value: Some(value) });
        }
        if dead {
            for (key, value) in names::SAMPLE {
                headers = headers.insert(Header { key, value: Some(value) });
            }
            headers = headers.insert(Header { key: names::OFFSET, value: Some(&index.to_string()) });
        }
        let partition = (index % PARTITIONS as u64) as i32;
        let record = BaseRecord::to(&job.topic).partition(partition).key(&key).payload(&value).headers(headers);
        send(&producer, record)?;
    }
    producer.flush(Duration::from_secs(60))?;
    tally.records = counter.acknowledged.load(Ordering::Relaxed);
    stopwatch.finish(tally);
    Ok(())
}

/// Sends a record; where the queue is full, it waits for room.
fn send(producer: &ThreadedProducer<Counter>, mut record: BaseRecord<'_, String, String>) -> Result<()> {
    loop {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                std::thread::sleep(Duration::from_millis(1));
                record = back;
            }
            Err((error, _)) => return Err(error.into()),
        }
    }
}
