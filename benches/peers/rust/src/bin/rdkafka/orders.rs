//! The loops that a service would have: orders decoded and handled, dead letters acknowledged before the offsets of
//! their messages are committed, commits once a second and at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use bezoar_peers::Result;
use bezoar_peers::job::{Job, PARTITIONS};
use bezoar_peers::measure::{Stopwatch, Tally};
use rdkafka::consumer::{CommitMode, Consumer, StreamConsumer};
use rdkafka::producer::FutureProducer;
use rdkafka::{Message, Offset, TopicPartitionList};
use tokio::task::JoinSet;

use super::partition::Partition;

const COMMIT_INTERVAL: Duration = Duration::from_secs(1);

type Positions = Vec<Arc<AtomicI64>>;

/// One loop over all partitions.
pub async fn one_loop(job: &Job) -> Result<()> {
    let consumer: StreamConsumer = super::consumer_config(job).create()?;
    let (mut partitions, positions) = partitions(job)?;
    super::assign(job, &consumer)?;
    let stopwatch = Stopwatch::start();
    let mut commit_at = Instant::now() + COMMIT_INTERVAL;
    for count in 1..=job.records {
        let message = consumer.recv().await?;
        partitions[message.partition() as usize].process(&message).await?;
        if count % 256 == 0 && Instant::now() >= commit_at {
            consumer.commit(&list(job, &positions)?, CommitMode::Async)?;
            commit_at = Instant::now() + COMMIT_INTERVAL;
        }
    }
    let mut tally = Tally::default();
    for partition in &mut partitions {
        tally += partition.finish().await?;
    }
    consumer.commit(&list(job, &positions)?, CommitMode::Sync)?;
    stopwatch.finish(tally);
    Ok(())
}

/// A task per partition, so that one that waits between attempts delays no other.
pub async fn task_per_partition(job: &Job) -> Result<()> {
    let consumer: Arc<StreamConsumer> = Arc::new(super::consumer_config(job).create()?);
    let (partitions, positions) = partitions(job)?;
    let mut tasks = JoinSet::new();
    let mut queues = Vec::new();
    for number in 0..PARTITIONS {
        // Before the assignment, so that no message comes through the consumer itself.
        let queue = consumer.split_partition_queue(&job.topic, number);
        queues.push(queue.ok_or("librdkafka gave no queue for a partition")?);
    }
    super::assign(job, &*consumer)?;
    let stopwatch = Stopwatch::start();
    for (queue, mut partition) in queues.into_iter().zip(partitions) {
        let count = job.per_partition();
        tasks.spawn(async move {
            for _ in 0..count {
                partition.process(&queue.recv().await?).await?;
            }
            partition.finish().await
        });
    }
    let mut tally = Tally::default();
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + COMMIT_INTERVAL, COMMIT_INTERVAL);
    while !tasks.is_empty() {
        tokio::select! {
            done = tasks.join_next() => if let Some(done) = done { tally += done?? },
            // Serves the client's events.
            message = consumer.recv() => return Err(format!("unexpected: {:?}", message.map(|m| m.offset())).into()),
            _ = ticks.tick() => consumer.commit(&list(job, &positions)?, CommitMode::Async)?,
        }
    }
    consumer.commit(&list(job, &positions)?, CommitMode::Sync)?;
    stopwatch.finish(tally);
    Ok(())
}

fn partitions(job: &Job) -> Result<(Vec<Partition>, Positions)> {
    let producer: FutureProducer = super::producer_config(job).create()?;
    let job = Arc::new(job.clone());
    let positions: Positions = (0..PARTITIONS).map(|_| Arc::default()).collect();
    let make = |position: &Arc<AtomicI64>| Partition::new(Arc::clone(&job), producer.clone(), Arc::clone(position));
    Ok((positions.iter().map(make).collect(), positions))
}

fn list(job: &Job, positions: &Positions) -> Result<TopicPartitionList> {
    let mut list = TopicPartitionList::new();
    for (partition, position) in (0..).zip(positions) {
        list.add_partition_offset(&job.topic, partition, Offset::Offset(position.load(Ordering::Acquire)))?;
    }
    Ok(list)
}
