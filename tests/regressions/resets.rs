//! Partitions that start anew elsewhere, while something else is still going on.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::{BoxFuture, BrokerError, CommittedOffset, ErrorCode, OffsetStore, Ports};
use bezoar::consumer::{Escalation, RestartPolicy};
use bezoar::embedded::{Api, Fault};
use bezoar::policy::Backoff;
use bezoar::record::{Record, TopicPartition};
use bezoar::{Delivery, Event, FactoryContext, FactoryError, Failure, Raw, factory_fn, handler_fn};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{sleep, timeout};

use crate::support::{Cluster, Journal, event, eventually, soon};

/// The first answer of the broker is that the offset is out of range, and it comes before there is a handler: the actor
/// that then starts on an empty feed must learn that nothing more will come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offset_out_of_range_before_the_handler_is_made_does_not_leave_the_partition_standing() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("early", 1).await, cluster.name("early"));
    cluster.values(&topic, 0, 0..3).await;
    let committed = CommittedOffset {
        partition: TopicPartition::new(topic.as_str(), 0),
        offset: 100,
        metadata: String::new(),
        leader_epoch: None,
    };
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
    // The new start is committed after it, before anything is delivered.
    eventually("the new start is committed", async || cluster.committed(&group, &topic, 0).await == Some(0)).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(0));
}

/// The topic is created anew again and again, shorter and longer than before, among panics, failures and dead letters that
/// are not taken: of the topic that stays everything is handled or dead-lettered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_topic_created_anew_again_and_again_nothing_is_lost() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("again", 2).await, cluster.name("again"));
    let handled: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let noted = Arc::clone(&handled);
    let handler = handler_fn(move |record: Record, delivery: Delivery| {
        let handled = Arc::clone(&noted);
        async move {
            match delivery.offset() % 9 {
                2 => panic!("in the handler"),
                4 => return Err(Failure::validation("no")),
                6 => tokio::task::yield_now().await,
                _ => {}
            }
            handled.lock().unwrap().insert(String::from_utf8(record.value().unwrap().to_vec()).unwrap());
            Ok(())
        }
    });
    let consumer = cluster
        .consumer(&group)
        .feed_bytes(2_048)
        .max_unacknowledged_dead_letters(2)
        .request_timeout(Duration::from_secs(1))
        .topic(&topic, Raw, handler)
        .start()
        .await
        .unwrap();
    let lengths = [40, 15, 60, 60, 5, 90];
    for (generation, length) in lengths.into_iter().enumerate() {
        let fault = Fault::on(Api::Produce).topic(format!("{topic}.dlq")).times(2).error(ErrorCode(6));
        cluster.broker().inject(fault);
        for partition in 0..2 {
            for n in 0..length {
                cluster.values(&topic, partition, [format!("{generation}/{partition}/{n}")]).await;
            }
        }
        if generation + 1 < lengths.len() {
            cluster.broker().recreate_topic(&topic).unwrap();
        }
    }
    // Not the commits are waited for: until the reader notices, the old ownership goes on in the new log, by offset.
    let dead_letters = format!("{topic}.dlq");
    let settled = || {
        let mut settled = handled.lock().unwrap().clone();
        for partition in 0..2 {
            for letter in cluster.broker().records(&dead_letters, partition).unwrap() {
                settled.insert(String::from_utf8(letter.value.unwrap().to_vec()).unwrap());
            }
        }
        settled
    };
    let all: Vec<String> = (0..180).map(|n| format!("5/{}/{}", n % 2, n / 2)).collect();
    eventually("all of the last topic is settled", async || {
        let settled = settled();
        all.iter().all(|value| settled.contains(value))
    })
    .await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// A partition that was given up stays so: what was fetched and never handled is not passed by a new start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_is_given_up_does_not_start_anew_past_what_it_has_not_handled() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("given-up", 1).await, cluster.name("given-up"));
    cluster.values(&topic, 0, 0..5).await;
    let go_on = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&go_on);
    let factory = factory_fn(move |_: FactoryContext| {
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await.unwrap().forget();
            // The type of the handler that is never made.
            let handler = handler_fn(|_: Record, _: Delivery| async { Ok::<(), Failure>(()) });
            if gate.is_closed() { Ok(handler) } else { Err(FactoryError::from("no handler")) }
        }
    });
    let mut policy = RestartPolicy::default();
    policy.backoff = Backoff::fixed(Duration::from_millis(1));
    policy.escalation = Escalation::StopPartition;
    let builder = cluster.consumer(&group).restart(policy);
    let mut events = builder.events();
    let consumer = builder.topic(&topic, Raw, factory).start().await.unwrap();
    eventually("the log is read", async || cluster.broker().requests(Api::Fetch) >= 2).await;
    cluster.broker().recreate_topic(&topic).unwrap();
    // Time to notice that; with less the test is easier, not wrong.
    sleep(Duration::from_secs(1)).await;
    go_on.add_permits(1_000);
    event(&mut events, "the partition is given up", |event| match event {
        Event::PartitionStopped { .. } => Some(()),
        _ => None,
    })
    .await;
    sleep(Duration::from_millis(300)).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert_eq!(cluster.committed(&group, &topic, 0).await, None);
}

/// While the feed is full no fetch is under way whose error would tell that the topic was created anew: the reader looks
/// before it goes on, so that no record of the new log is taken for one that follows those of the old one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_created_anew_behind_a_full_feed_is_read_from_its_start() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("behind", 1).await, cluster.name("behind"));
    for n in 0..20 {
        cluster.values(&topic, 0, [format!("old {n} {}", "x".repeat(400))]).await;
    }
    let (go_on, seen) = (Arc::new(Semaphore::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (gate, noted) = (Arc::clone(&go_on), Arc::clone(&seen));
    let handler = handler_fn(move |record: Record, _: Delivery| {
        let (gate, seen) = (Arc::clone(&gate), Arc::clone(&noted));
        async move {
            gate.acquire().await.unwrap().forget();
            seen.lock().unwrap().push(String::from_utf8(record.value().unwrap().to_vec()).unwrap());
            Ok::<(), Failure>(())
        }
    });
    let consumer = cluster
        .consumer(&group)
        .feed_bytes(1_024)
        .fetch_max_bytes(1)
        .topic(&topic, Raw, handler)
        .start()
        .await
        .unwrap();
    eventually("the feed fills", async || cluster.broker().requests(Api::Fetch) >= 1).await;
    // Longer than a pause after which the reader looks, and shorter than it looks anyway.
    sleep(Duration::from_secs(1)).await;
    cluster.broker().recreate_topic(&topic).unwrap();
    for n in 0..20 {
        cluster.values(&topic, 0, [format!("new {n} {}", "x".repeat(400))]).await;
    }
    go_on.add_permits(1_000);
    cluster.until_committed(&group, &topic, 0, 20).await;
    let new: Vec<String> = seen.lock().unwrap().iter().filter(|text| text.starts_with("new")).cloned().collect();
    let numbers: Vec<&str> = new.iter().map(|text| text.split(' ').nth(1).unwrap()).collect();
    let expected: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    assert_eq!(numbers, expected);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}
