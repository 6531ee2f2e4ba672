//! Partitions that start anew elsewhere, while something else is still going on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bezoar::broker::{BoxFuture, BrokerError, CommittedOffset, OffsetStore, Ports};
use bezoar::embedded::Api;
use bezoar::record::{Record, TopicPartition};
use bezoar::{Delivery, Event, FactoryContext, Failure, Raw, factory_fn, handler_fn};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::support::{Cluster, Journal, event, eventually, soon};

/// The first answer of the broker is that the offset is out of range, and it comes before there is a handler: the actor
/// that then starts on an empty feed must learn that nothing more will come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offset_out_of_range_before_the_handler_is_made_does_not_leave_the_partition_standing() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("early", 1).await, cluster.name("early"));
    cluster.values(&topic, 0, 0..3).await;
    let committed =
        CommittedOffset { partition: TopicPartition::new(topic.as_str(), 0), offset: 100, metadata: String::new() };
    cluster.ports.offsets.commit(group.clone(), vec![committed]).await.unwrap();
    let go_on = Arc::new(Notify::new());
    let (journal, gate) = (Journal::default(), Arc::clone(&go_on));
    let noted = journal.clone();
    let factory = factory_fn(move |context: FactoryContext| {
        let (gate, journal) = (Arc::clone(&gate), noted.clone());
        async move {
            if context.incarnation() == 1 {
                gate.notified().await;
            }
            Ok(handler_fn(move |_: Record, delivery: Delivery| {
                journal.note(&delivery);
                async { Ok::<(), Failure>(()) }
            }))
        }
    });
    let before = cluster.broker().requests(Api::ListOffsets);
    let consumer = cluster.consumer(&group).topic(&topic, Raw, factory).start().await.unwrap();
    eventually("the log's range is looked at", async || cluster.broker().requests(Api::ListOffsets) >= before + 2)
        .await;
    // Time for the problem to reach the supervisor; with less the test is easier, not wrong.
    sleep(Duration::from_millis(300)).await;
    // One permit for the first ownership, one for the next.
    go_on.notify_one();
    let released = Arc::clone(&go_on);
    let second = tokio::spawn(async move {
        loop {
            sleep(Duration::from_millis(20)).await;
            released.notify_one();
        }
    });
    cluster.until_committed(&group, &topic, 0, 3).await;
    second.abort();
    assert_eq!(journal.of(0), [(0, 1), (1, 1), (2, 1)]);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// Commits in Kafka, holding the first commit of one offset back.
struct HoldsBack {
    inner: Arc<dyn OffsetStore>,
    offset: i64,
    held: Arc<Notify>,
    go_on: Arc<Notify>,
    landed: Arc<AtomicBool>,
    once: AtomicBool,
}

impl OffsetStore for HoldsBack {
    fn fetch(
        &self,
        group: String,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<Result<Vec<Option<CommittedOffset>>, BrokerError>> {
        self.inner.fetch(group, partitions)
    }

    fn commit(
        &self,
        group: String,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        let hold = offsets.iter().any(|offset| offset.offset == self.offset) && !self.once.swap(true, Ordering::SeqCst);
        if !hold {
            return self.inner.commit(group, offsets);
        }
        let (inner, held, go_on) = (Arc::clone(&self.inner), Arc::clone(&self.held), Arc::clone(&self.go_on));
        let landed = Arc::clone(&self.landed);
        Box::pin(async move {
            held.notify_one();
            go_on.notified().await;
            let result = inner.commit(group, offsets).await;
            landed.store(true, Ordering::SeqCst);
            result
        })
    }

    fn group_exists(&self, group: String) -> BoxFuture<Result<bool, BrokerError>> {
        self.inner.group_exists(group)
    }

    fn delete_group(&self, group: String) -> BoxFuture<Result<(), BrokerError>> {
        self.inner.delete_group(group)
    }
}

/// A commit of the old ownership that is still under way when the partition starts anew must not land after the new start
/// was committed: it would be ahead of records that nobody has handled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_under_way_does_not_land_after_the_start_of_the_next_ownership() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("recreated", 1).await, cluster.name("recreated"));
    cluster.values(&topic, 0, 0..10).await;
    let (held, go_on, landed) = (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
    let store = HoldsBack {
        inner: Arc::clone(&cluster.ports.offsets),
        offset: 10,
        held: Arc::clone(&held),
        go_on: Arc::clone(&go_on),
        landed: Arc::clone(&landed),
        once: AtomicBool::new(false),
    };
    let ports = Ports { offsets: Arc::new(store), ..cluster.ports.clone() };
    // What is in the new topic is never handled.
    let handler = handler_fn(|record: Record, _: Delivery| async move {
        if record.value() == Some(b"new") {
            std::future::pending::<()>().await;
        }
        Ok::<(), Failure>(())
    });
    let consumer = cluster
        .consumer(&group)
        .ports(ports)
        .drain_timeout(Duration::from_millis(100))
        .topic(&topic, Raw, handler)
        .start()
        .await
        .unwrap();
    soon("the old ownership commits", held.notified()).await;
    let mut events = consumer.events();
    cluster.broker().recreate_topic(&topic).unwrap();
    cluster.values(&topic, 0, ["new", "new"]).await;
    let reset = async |events: &mut _| {
        event(events, "the partition starts anew", |event| match event {
            Event::OffsetReset { to, .. } => Some(*to),
            _ => None,
        })
        .await
    };
    // It may have to wait for the commit, or not.
    let early = timeout(Duration::from_secs(3), reset(&mut events)).await;
    go_on.notify_one();
    if early.is_err() {
        assert_eq!(reset(&mut events).await, 0);
    }
    eventually("the commit that was held back lands", async || landed.load(Ordering::SeqCst)).await;
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(0));
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(0));
}
