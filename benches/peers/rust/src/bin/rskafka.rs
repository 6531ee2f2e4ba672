//! rskafka: a task per partition, fetches of up to 1 MiB. It has no calls for committed offsets.

use std::sync::Arc;

use bezoar_peers::Result;
use bezoar_peers::job::{Job, PARTITIONS};
use bezoar_peers::measure::{Stopwatch, Tally};
use rskafka::client::ClientBuilder;
use rskafka::client::partition::{PartitionClient, UnknownTopicHandling};
use tokio::task::JoinSet;

const MAX_BYTES: i32 = 1 << 20;
const MAX_WAIT_MS: i32 = 500;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let job = Job::from_args()?;
    if job.name != "consume" {
        return Err(job.unknown());
    }
    let client = ClientBuilder::new(vec![job.bootstrap.clone()]).build().await?;
    let mut clients = Vec::new();
    for partition in 0..PARTITIONS {
        clients.push(client.partition_client(&job.topic, partition, UnknownTopicHandling::Error).await?);
    }
    let stopwatch = Stopwatch::start();
    let mut readers = JoinSet::new();
    for client in clients {
        readers.spawn(consume(Arc::new(client), job.per_partition()));
    }
    let mut tally = Tally::default();
    while let Some(done) = readers.join_next().await {
        tally += done??;
    }
    stopwatch.finish(tally);
    Ok(())
}

async fn consume(client: Arc<PartitionClient>, count: u64) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut offset = 0;
    while tally.records < count {
        let (records, _) = client.fetch_records(offset, 1..MAX_BYTES, MAX_WAIT_MS).await?;
        offset = records.last().map_or(offset, |record| record.offset + 1);
        tally.records += records.len() as u64;
        tally.bytes +=
            records.iter().map(|record| record.record.value.as_ref().map_or(0, Vec::len) as u64).sum::<u64>();
    }
    Ok(tally)
}
