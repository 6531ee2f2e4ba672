//! The queue between the source and the partition actor.

use bezoar::broker::Feed;
use bezoar::record::{RecordBatch, TopicPartition};
use divan::Bencher;
use divan::counter::ItemsCount;

use super::support::records::{TOPIC, orders};

fn feed(limit: usize) -> (Feed, Vec<RecordBatch>) {
    let partition = TopicPartition::new(TOPIC, 0);
    let batches = orders(&partition, 16_000).to_vec();
    (Feed::new(partition, limit, |_| {}), batches)
}

/// One batch through a feed that is empty before: asked for credit, pushed, looked at, given up.
#[divan::bench]
fn batch_through_an_empty_feed(bencher: Bencher<'_, '_>) {
    let (feed, batches) = feed(2 << 20);
    bencher.counter(ItemsCount::new(batches.len())).bench_local(|| {
        for batch in &batches {
            assert!(feed.credit().is_some_and(|credit| credit > 0) && feed.push(batch.clone()));
            divan::black_box_drop(feed.front());
            feed.pop_front();
        }
    });
}

/// Batches as long as there is credit, then all of them drained, until all are through.
#[divan::bench]
fn filled_and_drained_under_credit(bencher: Bencher<'_, '_>) {
    let (feed, batches) = feed(1 << 20);
    bencher.counter(ItemsCount::new(batches.len())).bench_local(|| {
        let mut left = batches.iter().peekable();
        while left.peek().is_some() {
            while feed.credit().is_some_and(|credit| credit > 0)
                && let Some(batch) = left.next()
            {
                assert!(feed.push(batch.clone()));
            }
            while feed.front().is_some() {
                feed.pop_front();
            }
        }
    });
}

/// What every record of a batch costs at least: a view of it, and its offset.
#[divan::bench]
fn views_of_a_batch(bencher: Bencher<'_, '_>) {
    let (_, batches) = feed(2 << 20);
    let records: usize = batches.iter().map(RecordBatch::len).sum();
    bencher
        .counter(ItemsCount::new(records))
        .bench_local(|| batches.iter().flat_map(RecordBatch::iter).map(|record| record.offset()).fold(0, i64::max));
}
