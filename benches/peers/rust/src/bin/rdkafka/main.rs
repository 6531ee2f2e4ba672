//! librdkafka through the rdkafka crate: `base` and `stream` are its two consumers, `queues` a task per partition.

mod consume;
mod dead_letter;
mod orders;
mod partition;
mod produce;

use std::time::Duration;

use bezoar_peers::Result;
use bezoar_peers::job::{Job, PARTITIONS};
use rdkafka::consumer::{Consumer, ConsumerContext};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let job = Job::from_args()?;
    match (job.form.as_str(), job.name.as_str()) {
        ("base", "consume") => consume::base(&job),
        ("stream", "consume") => consume::stream(&job).await,
        ("stream", "typed" | "storm" | "mixed") => orders::one_loop(&job).await,
        ("queues", "typed" | "storm" | "mixed") => orders::task_per_partition(&job).await,
        ("threaded", "produce") => produce::run(&job, false),
        ("threaded", "produce-dead") => produce::run(&job, true),
        _ => Err(job.unknown()),
    }
}

/// Settings of every consumer here. Offsets are committed by hand.
fn consumer_config(job: &Job) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &job.bootstrap)
        .set("group.id", &job.group)
        .set("enable.auto.commit", "false")
        // By default a consumer whose queue is full asks again only after a second, which idles fast loops.
        .set("fetch.queue.backoff.ms", "10");
    config
}

/// Settings of every producer here: as safe as Bezoar's.
fn producer_config(job: &Job) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &job.bootstrap).set("acks", "all").set("enable.idempotence", "true");
    config
}

/// Assigns all partitions of the topic, from their beginning. The client is connected then.
fn assign<C: ConsumerContext>(job: &Job, consumer: &impl Consumer<C>) -> Result<()> {
    consumer.fetch_metadata(Some(&job.topic), Duration::from_secs(30))?;
    let mut list = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        list.add_partition_offset(&job.topic, partition, Offset::Beginning)?;
    }
    consumer.assign(&list)?;
    Ok(())
}
