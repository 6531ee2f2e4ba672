//! The producer alone, through its port.

use std::sync::Arc;

use bezoar::broker::Ports;
use bezoar::record::{ProducerRecord, TopicPartition};
use bezoar_peers::Result;
use bezoar_peers::dead_letter;
use bezoar_peers::job::{Job, PARTITIONS};
use bezoar_peers::measure::{Stopwatch, Tally};
use bezoar_peers::plan::{self, Fate};
use futures_util::stream::{FuturesUnordered, StreamExt};

/// Records per call.
const BATCH: u64 = 500;
/// Calls not yet acknowledged, per partition.
const IN_FLIGHT: usize = 5;

/// Orders with their two headers.
pub async fn plain(job: &Job, ports: Ports) -> Result<()> {
    run(job, ports, |_, record| record).await
}

/// Orders with the headers of a dead letter of Bezoar's on top, so that what the framework needs for its dead letters
/// can be told from what the producer needs.
pub async fn dead(job: &Job, ports: Ports) -> Result<()> {
    let names = dead_letter::SAMPLE;
    run(job, ports, move |index, record| {
        names
            .iter()
            .fold(record, |record, (name, value)| record.header(name.as_bytes(), value.as_bytes()))
            .header(dead_letter::OFFSET.as_bytes(), index.to_string())
    })
    .await
}

async fn run(
    job: &Job,
    ports: Ports,
    finish: impl Fn(u64, ProducerRecord) -> ProducerRecord + Clone + Send + 'static,
) -> Result<()> {
    let stopwatch = Stopwatch::start();
    let mut tasks = tokio::task::JoinSet::new();
    for partition in 0..PARTITIONS {
        tasks.spawn(partition_of(job.clone(), ports.clone(), partition, finish.clone()));
    }
    let mut tally = Tally::default();
    while let Some(done) = tasks.join_next().await {
        tally += done??;
    }
    stopwatch.finish(tally);
    Ok(())
}

/// Produces the records of one partition.
async fn partition_of(
    job: Job,
    ports: Ports,
    number: i32,
    finish: impl Fn(u64, ProducerRecord) -> ProducerRecord,
) -> Result<Tally> {
    let topic: Arc<str> = job.topic.as_str().into();
    let partition = TopicPartition::new(Arc::clone(&topic), number);
    let mut value = String::new();
    let mut tally = Tally::default();
    let mut in_flight = FuturesUnordered::new();
    let mut place = 0;
    while place < job.per_partition() {
        let until = (place + BATCH).min(job.per_partition());
        let records = (place..until).map(|place| {
            let index = place * PARTITIONS as u64 + number as u64;
            plan::write_value(&mut value, index, Fate::Handled);
            tally.bytes += value.len() as u64;
            let record = ProducerRecord::to(Arc::clone(&topic)).key(plan::key(index)).value(value.clone());
            let record =
                plan::headers(index).into_iter().fold(record, |record, (name, text)| record.header(name, text));
            finish(index, record)
        });
        in_flight.push(ports.produce.produce(partition.clone(), records.collect()));
        place = until;
        if in_flight.len() == IN_FLIGHT
            && let Some(offsets) = in_flight.next().await
        {
            tally.records += offsets?.len() as u64;
        }
    }
    while let Some(offsets) = in_flight.next().await {
        tally.records += offsets?.len() as u64;
    }
    Ok(tally)
}
