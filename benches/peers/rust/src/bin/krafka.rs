//! krafka: `default` polls as it comes, `large` takes up to 10,000 records per poll.

use std::time::{Duration, Instant};

use bezoar_peers::Result;
use bezoar_peers::job::{Job, PARTITIONS};
use bezoar_peers::measure::{Stopwatch, Tally};
use bezoar_peers::order::{Ledger, Order};
use krafka::Kafka;
use krafka::consumer::{AutoOffsetReset, ConsumerBuilder};

const WAIT: Duration = Duration::from_secs(1);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let job = Job::from_args()?;
    let kafka = Kafka::builder(&job.bootstrap).connect().await?;
    match job.name.as_str() {
        "consume" => consume(&job, configure(&job, kafka.consumer_without_group())?).await,
        "typed" => typed(&job, configure(&job, kafka.consumer(&job.group))?).await,
        _ => Err(job.unknown()),
    }
}

fn configure(job: &Job, builder: ConsumerBuilder) -> Result<ConsumerBuilder> {
    let builder = builder.auto_offset_reset(AutoOffsetReset::Earliest).enable_auto_commit(false);
    match job.form.as_str() {
        "default" => Ok(builder),
        "large" => Ok(builder.max_poll_records(10_000)),
        _ => Err(job.unknown()),
    }
}

async fn consume(job: &Job, builder: ConsumerBuilder) -> Result<()> {
    let consumer = builder.build().await?;
    consumer.assign(&job.topic, (0..PARTITIONS).collect()).await?;
    let stopwatch = Stopwatch::start();
    let mut tally = Tally::default();
    while tally.records < job.records {
        for record in consumer.poll(WAIT).await? {
            tally.records += 1;
            tally.bytes += record.value.map_or(0, |value| value.len()) as u64;
        }
    }
    stopwatch.finish(tally);
    Ok(())
}

async fn typed(job: &Job, builder: ConsumerBuilder) -> Result<()> {
    let consumer = builder.build().await?;
    consumer.subscribe([&job.topic]).await?;
    let stopwatch = Stopwatch::start();
    let mut ledgers: Vec<Ledger> = (0..PARTITIONS).map(|_| Ledger::default()).collect();
    let mut tally = Tally::default();
    let mut committed = Instant::now();
    while tally.records < job.records {
        for record in consumer.poll(WAIT).await? {
            let order: Order = serde_json::from_slice(record.value.as_deref().unwrap_or_default())?;
            ledgers[record.partition as usize].handle(&order, 1)?;
            tally.records += 1;
        }
        if committed.elapsed() >= WAIT {
            consumer.commit().await?;
            committed = Instant::now();
        }
    }
    consumer.commit().await?;
    tally.sum = ledgers.iter().map(|ledger| ledger.sum).sum();
    tally.disorder = ledgers.iter().map(|ledger| ledger.disorder).sum();
    stopwatch.finish(tally);
    Ok(())
}
