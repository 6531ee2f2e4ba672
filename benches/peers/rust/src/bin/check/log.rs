use std::time::Duration;

use bezoar_peers::Result;
use bezoar_peers::job::{Job, PARTITIONS};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::BorrowedMessage;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

/// How long the broker may take to answer.
pub const TIMEOUT: Duration = Duration::from_secs(30);

pub fn config(job: &Job) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &job.bootstrap).set("group.id", &job.group).set("enable.auto.commit", "false");
    config.set("fetch.queue.backoff.ms", "10");
    config
}

/// Shows `see` each record of a topic. Fails where the topic does not hold one record per offset.
pub fn read(job: &Job, topic: &str, mut see: impl FnMut(&BorrowedMessage<'_>) -> Result<()>) -> Result<()> {
    let consumer: BaseConsumer = config(job).create()?;
    let mut list = TopicPartitionList::new();
    let mut left = 0;
    for partition in 0..PARTITIONS {
        let (start, end) = consumer.fetch_watermarks(topic, partition, TIMEOUT)?;
        left += end - start;
        list.add_partition_offset(topic, partition, Offset::Beginning)?;
    }
    consumer.assign(&list)?;
    while left > 0 {
        let message = consumer.poll(TIMEOUT).ok_or_else(|| format!("{left} records of {topic} did not come"))??;
        see(&message)?;
        left -= 1;
    }
    Ok(())
}
