//! Checks by itself what a peer left behind; ends with an error that names the first thing that is wrong.
//!
//! - `check offsets - topic= group= ...`: each partition's committed offset is the end of its log.
//! - `check letters - topic= dead= ...`: the dead letters are exactly those that the topic's records call for.
//! - `check length - topic= records= ...`: the topic holds that many records.
//!
//! It reads through librdkafka, so that Bezoar does not check itself.

mod letters;
mod log;

use bezoar_peers::Result;
use bezoar_peers::job::{Job, PARTITIONS};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};

use crate::log::TIMEOUT;

fn main() -> Result<()> {
    let job = Job::from_args()?;
    match job.form.as_str() {
        "offsets" => offsets(&job),
        "letters" => letters::check(&job),
        "length" => length(&job),
        _ => Err("usage: check offsets|letters|length - key=value...".into()),
    }
}

fn offsets(job: &Job) -> Result<()> {
    let consumer: BaseConsumer = log::config(job).create()?;
    let mut wanted = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        wanted.add_partition(&job.topic, partition);
    }
    for committed in consumer.committed_offsets(wanted, TIMEOUT)?.elements() {
        let (_, end) = consumer.fetch_watermarks(&job.topic, committed.partition(), TIMEOUT)?;
        if committed.offset() != Offset::Offset(end) {
            let (partition, offset) = (committed.partition(), committed.offset());
            return Err(format!("partition {partition}: committed {offset:?}, but the log ends at {end}").into());
        }
    }
    Ok(())
}

fn length(job: &Job) -> Result<()> {
    let consumer: BaseConsumer = log::config(job).create()?;
    let mut length = 0;
    for partition in 0..PARTITIONS {
        let (start, end) = consumer.fetch_watermarks(&job.topic, partition, TIMEOUT)?;
        length += (end - start) as u64;
    }
    if length != job.records {
        return Err(format!("topic {} holds {length} records instead of {}", job.topic, job.records).into());
    }
    Ok(())
}
