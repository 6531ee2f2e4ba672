use std::time::Duration;

use bezoar_peers::Result;
use bezoar_peers::job::Job;
use bezoar_peers::measure::{Stopwatch, Tally};
use rdkafka::Message;
use rdkafka::consumer::{BaseConsumer, StreamConsumer};

pub fn base(job: &Job) -> Result<()> {
    let consumer: BaseConsumer = super::consumer_config(job).create()?;
    super::assign(job, &consumer)?;
    let stopwatch = Stopwatch::start();
    let mut tally = Tally::default();
    while tally.records < job.records {
        let Some(message) = consumer.poll(Duration::from_secs(1)) else { continue };
        tally.records += 1;
        tally.bytes += message?.payload().map_or(0, <[u8]>::len) as u64;
    }
    stopwatch.finish(tally);
    Ok(())
}

pub async fn stream(job: &Job) -> Result<()> {
    let consumer: StreamConsumer = super::consumer_config(job).create()?;
    super::assign(job, &consumer)?;
    let stopwatch = Stopwatch::start();
    let mut tally = Tally::default();
    while tally.records < job.records {
        let message = consumer.recv().await?;
        tally.records += 1;
        tally.bytes += message.payload().map_or(0, <[u8]>::len) as u64;
    }
    stopwatch.finish(tally);
    Ok(())
}
