//! Sizes at their ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bezoar::broker::ErrorCode;
use bezoar::consumer::{Isolation, RestartPolicy};
use bezoar::embedded::{Api, Fault};
use bezoar::policy::Backoff;
use bezoar::record::{ProducerRecord, Record};
use bezoar::{Delivery, Event, FactoryContext, FactoryError, Failure, Raw, factory_fn, handler_fn};

use crate::support::{Cluster, Journal, event, eventually, soon, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_far_larger_than_feed_and_fetch_pass_between_thousands_of_tiny_ones() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("sizes", 1).await, cluster.name("sizes"));
    let huge = vec![b'x'; 900_000];
    for _ in 0..3 {
        cluster.append(&topic, 0, vec![ProducerRecord::to(topic.as_str()).value(huge.clone())]).await;
        for _ in 0..200 {
            cluster.append(&topic, 0, vec![ProducerRecord::to(topic.as_str())]).await;
        }
        cluster.values(&topic, 0, 0..1000).await;
    }
    let bytes = Arc::new(AtomicU64::new(0));
    let journal = Journal::default();
    let handler = {
        let (bytes, journal) = (Arc::clone(&bytes), journal.clone());
        handler_fn(move |record: Record, delivery: Delivery| {
            journal.note(&delivery);
            bytes.fetch_add(record.value().map_or(0, <[u8]>::len) as u64, Ordering::SeqCst);
            async move {
                assert!(delivery.offset() % 400 != 1, "now and then");
                Ok::<(), Failure>(())
            }
        })
    };
    let consumer = cluster
        .consumer(&group)
        .feed_bytes(1_024)
        .fetch_max_bytes(1)
        .topic(&topic, Raw, handler)
        .start()
        .await
        .unwrap();
    cluster.until_committed(&group, &topic, 0, 3 * 1201).await;
    assert_eq!(journal.len(), 3 * 1201);
    journal.assert_in_order();
    assert!(bytes.load(Ordering::SeqCst) > 2_700_000);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_partitions_start_and_are_processed() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("many", 300).await, cluster.name("many"));
    for partition in 0..300 {
        cluster.values(&topic, partition, 0..2).await;
    }
    let journal = Journal::default();
    let noted = journal.clone();
    let handler = handler_fn(move |_: Record, delivery: Delivery| {
        noted.note(&delivery);
        async { Ok::<(), Failure>(()) }
    });
    let consumer = cluster.consumer(&group).topic(&topic, Raw, handler).start().await.unwrap();
    within(Duration::from_secs(180), "all are handled", async || journal.len() >= 600).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    for partition in 0..300 {
        assert_eq!(cluster.committed(&group, &topic, partition).await, Some(2), "{partition}");
    }
}

/// Drains while records panic one after another and the dead-letter topic takes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_among_panics_with_an_unavailable_dead_letter_topic_ends_and_commits_nothing_unsettled() {
    for max in [0, 1, 3] {
        let cluster = Cluster::embedded().await;
        let (topic, group) = (cluster.topic("drain", 1).await, cluster.name("drain"));
        cluster.values(&topic, 0, 0..10).await;
        let handler = handler_fn(|_: Record, delivery: Delivery| async move {
            assert!(delivery.offset() < 4, "from here on");
            Ok::<(), Failure>(())
        });
        let fault = cluster
            .broker()
            .inject(Fault::on(Api::Produce).topic(format!("{topic}.dlq")).forever().error(ErrorCode(6)));
        let consumer = cluster
            .consumer(&group)
            .request_timeout(Duration::from_millis(500))
            .max_unacknowledged_dead_letters(max)
            .drain_timeout(Duration::from_millis(300))
            .topic(&topic, Raw, handler)
            .start()
            .await
            .unwrap();
        let mut events = consumer.events();
        event(&mut events, "a hold", |event| matches!(event, Event::Held { .. }).then_some(())).await;
        let summary = soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
        assert_eq!(summary.unacknowledged, max + 1, "{summary:?}");
        assert_eq!(cluster.committed(&group, &topic, 0).await, Some(4));
        drop(fault);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn inline_on_a_current_thread_runtime_panics_and_drains() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("inline", 1).await, cluster.name("inline"));
    cluster.values(&topic, 0, 0..20).await;
    let done = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&done);
    let handler = handler_fn(move |_: Record, delivery: Delivery| {
        set.fetch_or(delivery.offset() == 19, Ordering::SeqCst);
        async move {
            assert!(delivery.offset() % 5 != 2, "fifth");
            Ok::<(), Failure>(())
        }
    });
    let consumer =
        cluster.consumer(&group).isolation(Isolation::Inline).topic(&topic, Raw, handler).start().await.unwrap();
    eventually("the last is seen", async || done.load(Ordering::SeqCst)).await;
    let summary = soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert_eq!(summary.unacknowledged, 0);
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(20));
}

/// A partition that waits before its next restart has nothing in flight: a stop does not wait for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_does_not_wait_for_a_restart_that_is_an_hour_away() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("away", 2).await, cluster.name("away"));
    cluster.values(&topic, 1, 0..3).await;
    let factory = factory_fn(|context: FactoryContext| async move {
        if context.partition().partition() == 0 {
            return Err(FactoryError::from("no handler"));
        }
        Ok(handler_fn(|_: Record, _: Delivery| async { Ok::<(), Failure>(()) }))
    });
    let mut policy = RestartPolicy::default();
    policy.backoff = Backoff::fixed(Duration::from_secs(3600));
    let builder = cluster.consumer(&group).restart(policy).drain_timeout(Duration::from_secs(2));
    let mut events = builder.events();
    let consumer = builder.topic(&topic, Raw, factory).start().await.unwrap();
    event(&mut events, "a restart", |event| matches!(event, Event::RestartScheduled { .. }).then_some(())).await;
    cluster.until_committed(&group, &topic, 1, 3).await;
    let summary = soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert_eq!(summary.dropped, []);
}
