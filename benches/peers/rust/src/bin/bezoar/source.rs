//! The source alone: its feeds, drained by hand.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::{CommittedOffset, Feed, Ports};
use bezoar::record::{RecordBatch, TopicPartition};
use bezoar_peers::Result;
use bezoar_peers::job::{Job, PARTITIONS};
use bezoar_peers::measure::{Stopwatch, Tally};
use bezoar_peers::order::{Ledger, Order};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// As much as the framework reads ahead by default.
const FEED_BYTES: usize = 2 << 20;

pub async fn consume(job: &Job, ports: Ports) -> Result<()> {
    let stopwatch = Stopwatch::start();
    let mut readers = JoinSet::new();
    for partition in partitions(job) {
        let mut tally = Tally::default();
        let end = job.per_partition() as i64;
        readers.spawn(drain(ports.clone(), partition, end, move |batch| {
            tally.records += batch.len() as u64;
            for record in batch.iter() {
                tally.bytes += record.value().map_or(0, <[u8]>::len) as u64;
            }
            Ok(tally)
        }));
    }
    stopwatch.finish(total(readers).await?);
    Ok(())
}

pub async fn typed(job: &Job, ports: Ports) -> Result<()> {
    let stopwatch = Stopwatch::start();
    let processed = Arc::new(Mutex::new(vec![0; PARTITIONS as usize]));
    let mut readers = JoinSet::new();
    for partition in partitions(job) {
        let mut ledger = Ledger::default();
        let mut tally = Tally::default();
        let end = job.per_partition() as i64;
        let (processed, place) = (Arc::clone(&processed), partition.partition() as usize);
        readers.spawn(drain(ports.clone(), partition, end, move |batch| {
            for record in batch.iter() {
                let order: Order = serde_json::from_slice(record.value().unwrap_or_default())?;
                ledger.handle(&order, 1)?;
                tally.records += 1;
            }
            processed.lock().unwrap()[place] = batch.next_offset();
            (tally.sum, tally.disorder) = (ledger.sum, ledger.disorder);
            Ok(tally)
        }));
    }
    let mut all = std::pin::pin!(total(readers));
    let tally = loop {
        tokio::select! {
            tally = &mut all => break tally?,
            () = tokio::time::sleep(Duration::from_secs(1)) => commit(job, &ports, &processed).await?,
        }
    };
    commit(job, &ports, &processed).await?;
    stopwatch.finish(tally);
    Ok(())
}

fn partitions(job: &Job) -> impl Iterator<Item = TopicPartition> {
    let topic: Arc<str> = job.topic.as_str().into();
    (0..PARTITIONS).map(move |partition| TopicPartition::new(Arc::clone(&topic), partition))
}

/// Reads a partition up to `end` and returns what `see` returned for the last batch.
async fn drain(
    ports: Ports,
    partition: TopicPartition,
    end: i64,
    mut see: impl FnMut(&RecordBatch) -> Result<Tally>,
) -> Result<Tally> {
    let ready = Arc::new(Notify::new());
    let feed = Arc::new(Feed::new(partition.clone(), FEED_BYTES, |problem| eprintln!("{problem:?}")));
    let listener = Arc::clone(&ready);
    feed.on_ready(move || listener.notify_one());
    ports.source.add(partition.clone(), None, 0, Arc::clone(&feed));
    let tally = loop {
        let Some(batch) = feed.front() else {
            ready.notified().await;
            continue;
        };
        let tally = see(&batch)?;
        feed.pop_front();
        if batch.next_offset() >= end {
            break tally;
        }
    };
    ports.source.remove(&partition);
    feed.close();
    Ok(tally)
}

async fn total(mut readers: JoinSet<Result<Tally>>) -> Result<Tally> {
    let mut total = Tally::default();
    while let Some(tally) = readers.join_next().await {
        total += tally??;
    }
    Ok(total)
}

async fn commit(job: &Job, ports: &Ports, processed: &Mutex<Vec<i64>>) -> Result<()> {
    let processed = processed.lock().unwrap().clone();
    let offsets = partitions(job).zip(processed).map(|(partition, offset)| CommittedOffset::new(partition, offset));
    for result in ports.offsets.commit(job.group.clone(), offsets.collect()).await? {
        result?;
    }
    Ok(())
}
