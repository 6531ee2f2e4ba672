//! Compressed batches grow many times when they are read: what a feed may hold counts then, not what was fetched.

use std::time::Duration;

use bezoar::broker::Compression;
use bezoar::embedded::BatchWriter;

use crate::plane::{Reader, broker, orders};

const FEED: usize = 256 << 10;
const VALUE: usize = 100 << 10;
const BATCHES: usize = 40;

#[tokio::test]
async fn decompressed_batches_do_not_overfill_a_feed() {
    let (broker, ports) = broker(1, |settings| settings.fetch_max_wait = Duration::from_millis(50)).await;
    for _ in 0..BATCHES {
        let batch = BatchWriter::new().record(None, Some(&[b'7'; VALUE]), vec![]).compression(Compression::Zstd);
        broker.append_raw("orders", 0, batch.build()).unwrap();
    }
    let reader = Reader::begin(&ports.source, &orders(0), 0, FEED);
    let mut next = 0;
    while next < BATCHES as i64 {
        reader.arrived.notified().await;
        // Long enough for more than there is room for.
        tokio::time::sleep(Duration::from_millis(150)).await;
        let mut held = 0;
        let mut taken = Vec::new();
        while let Some(batch) = reader.feed.front() {
            held += batch.cost();
            taken.extend(batch.iter().map(|record| record.offset()));
            reader.feed.pop_front();
            if held > 2 * FEED {
                break;
            }
        }
        // It is drained while it is filled, so once more than it may hold can come.
        assert!(held <= 2 * FEED, "{held} bytes in a feed of {FEED}");
        assert_eq!(taken, (next..next + taken.len() as i64).collect::<Vec<_>>());
        next += taken.len() as i64;
    }
}
