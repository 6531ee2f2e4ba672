//! Partitions that are added, removed and added again while feeds fill up and empty at random: none may be forgotten.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bezoar::broker::Ports;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::plane::{Reader, broker, orders, produce};

const PARTITIONS: i32 = 24;
const RECORDS: usize = 1_200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_partition_is_forgotten_whatever_its_feed_does() {
    let seeds = std::env::var("CHAOS_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1u64);
    for seed in 0..seeds {
        let (broker, ports) = broker(PARTITIONS, |settings| {
            settings.fetch_max_wait = Duration::from_millis(300);
            settings.fetch_max_bytes = 2_000;
            settings.fetch_max_bytes_per_broker = 20_000;
        })
        .await;
        let readers: Vec<_> = (0..PARTITIONS)
            .map(|number| {
                let random = StdRng::seed_from_u64(seed * 1_000 + number as u64);
                tokio::spawn(read(ports.clone(), number, random))
            })
            .collect();
        let gone = Arc::new(AtomicBool::new(false));
        let cutting = tokio::spawn({
            let gone = Arc::clone(&gone);
            async move {
                while !gone.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(400)).await;
                    broker.close_connections();
                }
            }
        });
        let writers: Vec<_> = (0..PARTITIONS).map(|number| tokio::spawn(write(ports.clone(), number))).collect();
        for (number, task) in writers.into_iter().enumerate() {
            task.await.unwrap_or_else(|error| panic!("seed {seed}, writing {number}: {error}"));
        }
        for (number, task) in readers.into_iter().enumerate() {
            task.await.unwrap_or_else(|error| panic!("seed {seed}, partition {number}: {error}"));
        }
        gone.store(true, Ordering::Relaxed);
        cutting.await.unwrap();
    }
}

async fn write(ports: Ports, number: i32) {
    let mut next = 0;
    while next < RECORDS {
        let count = rand::random_range(1..40).min(RECORDS - next);
        produce(&ports, number, next..next + count).await.unwrap().unwrap();
        next += count;
        if rand::random_bool(0.3) {
            tokio::time::sleep(Duration::from_millis(rand::random_range(1..30))).await;
        }
    }
}

/// Reads all records, with pauses, and with new readings of the partition in between.
async fn read(ports: Ports, number: i32, mut random: StdRng) {
    let partition = orders(number);
    let mut next = 0;
    let begin = |random: &mut StdRng, next: usize| {
        Reader::begin(&ports.source, &partition, next as i64, random.random_range(1..6_000))
    };
    let mut reader = begin(&mut random, next);
    while next < RECORDS {
        for (offset, value) in reader.next().await {
            assert_eq!((offset, value), (next as i64, next));
            next += 1;
        }
        match random.random_range(0..40) {
            0 => tokio::time::sleep(Duration::from_millis(random.random_range(1..200))).await,
            1 => tokio::task::yield_now().await,
            // Takes the place of the one before.
            2 => reader = begin(&mut random, next),
            3 => {
                ports.source.remove(&partition);
                reader.feed.close();
                reader = begin(&mut random, next);
            }
            4 => {
                // From elsewhere, at the same time as the one that stays.
                let (ports, partition) = (ports.clone(), partition.clone());
                tokio::task::spawn_blocking(move || ports.source.remove(&partition)).await.unwrap();
                drop(begin(&mut random, next));
                reader = begin(&mut random, next);
            }
            _ => {}
        }
    }
    ports.source.remove(&partition);
}
