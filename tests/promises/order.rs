//! Promise 2: within one ownership first attempts ascend strictly, across incarnations; a retry repeats the current
//! offset and nothing overtakes it; a new ownership starts at the watermark.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, Fault};
use bezoar::policy::{Backoff, Category};
use bezoar::record::Record;
use bezoar::{Delivery, Event, Failure, Raw, handler_fn};
use tokio::sync::Notify;

use crate::support::{Cluster, Journal, eventually, hasty, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_repeats_the_record_and_nothing_overtakes_it() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("retries", 1).await, cluster.name("retries"));
    cluster.values(&topic, 0, 0..6).await;
    let journal = Journal::default();
    let handler = {
        let journal = journal.clone();
        handler_fn(move |_: Record, delivery: Delivery| {
            journal.note(&delivery);
            async move {
                match (delivery.offset(), delivery.attempt()) {
                    (1, 1..=3) => Err(Failure::transient("not yet")),
                    (3, _) => Err(Failure::unknown("never")),
                    _ => Ok(()),
                }
            }
        })
    };
    // Waits that differ, and one that the handler would have had overtaken.
    let policies = hasty().with(Category::Transient, |policy| {
        policy.backoff(Backoff::exponential(Duration::from_millis(5), 4.0, Duration::from_secs(1)).jitter(false))
    });
    let consumer = cluster.consumer(&group).policies(policies).topic(&topic, Raw, handler).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 6).await;
    let expected = [(0, 1), (1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (3, 1), (3, 2), (3, 3), (3, 4), (4, 1), (5, 1)];
    assert_eq!(journal.of(0), expected);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// The retries of one partition's record are its own: another partition's success does not reset them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_healthy_partition_does_not_wipe_anothers_attempts() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("healthy", 2).await, cluster.name("healthy"));
    cluster.values(&topic, 0, ["bad"]).await;
    cluster.values(&topic, 1, 0..300).await;
    let journal = Journal::default();
    let handler = {
        let journal = journal.clone();
        handler_fn(move |record: Record, delivery: Delivery| {
            journal.note(&delivery);
            async move {
                tokio::task::yield_now().await;
                if record.value() == Some(b"bad") { Err(Failure::transient("never")) } else { Ok(()) }
            }
        })
    };
    let consumer = cluster.consumer(&group).topic(&topic, Raw, handler).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 1).await;
    cluster.until_committed(&group, &topic, 1, 300).await;
    assert_eq!(journal.of(0), [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6)]);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// After a panic the next incarnation goes on behind the record, on what was fetched before: while the broker answers no
/// fetch any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_goes_on_at_the_next_offset_without_fetching_again() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("panics", 1).await, cluster.name("panics"));
    cluster.values(&topic, 0, 0..100).await;
    let (journal, started, go_on) = (Journal::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = {
        let (journal, started, go_on) = (journal.clone(), Arc::clone(&started), Arc::clone(&go_on));
        handler_fn(move |_: Record, delivery: Delivery| {
            let (journal, started, go_on) = (journal.clone(), Arc::clone(&started), Arc::clone(&go_on));
            async move {
                journal.note(&delivery);
                if delivery.offset() == 0 {
                    started.notify_one();
                    go_on.notified().await;
                }
                assert!(delivery.offset() % 10 != 5, "record {} is poison", delivery.offset());
                Ok::<(), Failure>(())
            }
        })
    };
    let builder = cluster.consumer(&group);
    let mut events = builder.events();
    let consumer = builder.topic(&topic, Raw, handler).start().await.unwrap();
    soon("the first record is in flight", started.notified()).await;
    cluster.broker().inject(Fault::on(Api::Fetch).topic(&topic).forever().error(ErrorCode(6)));
    go_on.notify_one();
    cluster.until_committed(&group, &topic, 0, 100).await;
    assert_eq!(journal.of(0), (0..100).map(|offset| (offset, 1)).collect::<Vec<_>>());
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    let mut lost = Vec::new();
    while let Some(event) = events.try_next() {
        if let Event::HandlerLost { record, fault, location, .. } = event {
            assert!(location.is_some_and(|location| location.contains("order.rs:")), "the panic's place is told");
            lost.push((record.offset, fault));
        }
    }
    assert_eq!(lost, (5..100).step_by(10).map(|offset| (offset, "panic".to_owned())).collect::<Vec<_>>());
}

/// Stopped in the middle and started again, a consumer goes on at the watermark: nothing twice, nothing left out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clean_restart_goes_on_at_the_watermark() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("restarts", 3).await, cluster.name("restarts"));
    for partition in 0..3 {
        for _ in 0..4 {
            cluster.values(&topic, partition, 0..100).await;
        }
    }
    let journal = Journal::default();
    let handler = {
        let journal = journal.clone();
        handler_fn(move |_: Record, delivery: Delivery| {
            journal.note(&delivery);
            async move {
                tokio::task::yield_now().await;
                match delivery.offset() % 50 {
                    7 => Err(Failure::validation("never")),
                    9 => panic!("poison"),
                    _ => Ok(()),
                }
            }
        })
    };
    let mut stops = 0;
    while journal.len() < 1_200 {
        let before = journal.len();
        let consumer = cluster.consumer(&group).topic(&topic, Raw, handler.clone()).start().await.unwrap();
        eventually("some more records are delivered", async || journal.len() >= (before + 150).min(1_200)).await;
        let summary = soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
        assert!(summary.committed && summary.dropped.is_empty(), "{summary:?}");
        for position in &summary.partitions {
            let partition = position.partition.partition();
            let next = journal.of(partition).last().map_or(0, |(offset, _)| offset + 1);
            let committed = cluster.committed(&group, &topic, partition).await;
            assert_eq!((position.watermark, position.committed, committed), (next, next, Some(next)));
        }
        stops += 1;
    }
    assert!(stops > 1, "it was not stopped in the middle");
    for partition in 0..3 {
        assert_eq!(journal.of(partition), (0..400).map(|offset| (offset, 1)).collect::<Vec<_>>());
    }
    assert_eq!(cluster.read(&format!("{topic}.dlq")).await.len(), 3 * 16);
}

/// A stop during a wait before a retry ends the wait; the record is delivered again by the next consumer, from its first
/// attempt on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_a_long_wait_before_a_retry() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("waits", 1).await, cluster.name("waits"));
    cluster.values(&topic, 0, 0..3).await;
    let (journal, mended) = (Journal::default(), Arc::new(AtomicBool::new(false)));
    let handler = {
        let (journal, mended) = (journal.clone(), Arc::clone(&mended));
        handler_fn(move |_: Record, delivery: Delivery| {
            journal.note(&delivery);
            let failing = delivery.offset() == 1 && !mended.load(Ordering::SeqCst);
            async move { if failing { Err(Failure::transient("not yet")) } else { Ok(()) } }
        })
    };
    let long = hasty().with(Category::Transient, |policy| policy.backoff(Backoff::fixed(Duration::from_secs(300))));
    let builder = cluster.consumer(&group).policies(long);
    let mut events = builder.events();
    let consumer = builder.topic(&topic, Raw, handler.clone()).start().await.unwrap();
    crate::support::event(&mut events, "record 1 waits for its retry", |event| {
        matches!(event, Event::Retrying { record, .. } if record.offset == 1).then_some(())
    })
    .await;
    let summary = soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert_eq!((summary.partitions[0].watermark, summary.dropped.len()), (1, 0));
    mended.store(true, Ordering::SeqCst);
    let consumer = cluster.consumer(&group).topic(&topic, Raw, handler).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 3).await;
    assert_eq!(journal.of(0), [(0, 1), (1, 1), (1, 1), (2, 1)]);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}
