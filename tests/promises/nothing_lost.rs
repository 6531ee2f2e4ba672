//! Promise 1: every fetched record is handled, or dead-lettered with the broker's acknowledgement, before any commit
//! passes it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use bezoar::broker::ErrorCode;
use bezoar::consumer::OffsetReset;
use bezoar::embedded::{Api, Broker, Fault};
use bezoar::record::{ProducerRecord, Record};
use bezoar::{Delivery, Failure, Raw, handler_fn};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::sync::Notify;

use crate::support::{Cluster, Journal, SOON, eventually, soon, within};

const PARTITIONS: i32 = 8;
const PER_PARTITION: i64 = 12_500;

/// What becomes of a record; known to the test before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Handled,
    /// Fails so often, then succeeds.
    Retried(u32),
    /// Fails for good, for a reason that no retry mends.
    Invalid,
    /// Fails for a reason that is retried until the retries are used up.
    Exhausted,
    Panics,
}

impl Fate {
    /// About one record in 25 fails in some way, and one in 300 panics.
    fn of(partition: i32, offset: i64) -> Self {
        let mut random = StdRng::seed_from_u64(((partition as u64) << 32) | offset as u64);
        match random.random_range(0..3_000) {
            0..10 => Self::Panics,
            10..20 => Self::Exhausted,
            20..60 => Self::Invalid,
            60..120 => Self::Retried(random.random_range(1..=5)),
            _ => Self::Handled,
        }
    }

    fn is_dead_lettered(self) -> bool {
        matches!(self, Self::Invalid | Self::Exhausted | Self::Panics)
    }
}

/// Which records were handled: 0 or 1 for each.
struct Handled(Vec<Vec<AtomicU8>>);

impl Handled {
    fn new() -> Self {
        let partition = || (0..PER_PARTITION).map(|_| AtomicU8::new(0)).collect();
        Self((0..PARTITIONS).map(|_| partition()).collect())
    }

    fn count(&self, partition: i32, offset: i64) -> u8 {
        self.0[partition as usize][offset as usize].load(Ordering::SeqCst)
    }

    fn mark(&self, partition: i32, offset: i64) {
        self.0[partition as usize][offset as usize].fetch_add(1, Ordering::SeqCst);
    }
}

/// How often each offset of each partition was dead-lettered, by what lies in the dead-letter topic.
fn dead_lettered(broker: &Broker, topic: &str) -> BTreeMap<(i32, i64), u32> {
    let mut found = BTreeMap::new();
    for partition in 0..PARTITIONS {
        for record in broker.records(topic, partition).unwrap_or_default() {
            let number = |name: &str| {
                let header = record.headers.iter().find(|header| header.name == name.as_bytes()).unwrap();
                String::from_utf8(header.value.as_ref().unwrap().to_vec()).unwrap()
            };
            let source: i32 = number("__dlq.errors.partition").parse().unwrap();
            let offset: i64 = number("__dlq.errors.offset").parse().unwrap();
            *found.entry((source, offset)).or_default() += 1;
        }
    }
    found
}

/// Breaks requests at random until it is told to stop.
async fn break_things(broker: &Broker, stop: &AtomicBool) -> u64 {
    let mut random = StdRng::seed_from_u64(7);
    let mut injected = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let api = [Api::Produce, Api::Fetch, Api::OffsetCommit][random.random_range(0..3)];
        // NOT_LEADER_OR_FOLLOWER and REQUEST_TIMED_OUT for partitions, COORDINATOR_NOT_AVAILABLE for groups.
        let code = ErrorCode(if api == Api::OffsetCommit { 15 } else { [6, 7][random.random_range(0..2)] });
        let mut fault = Fault::on(api);
        if api != Api::OffsetCommit && random.random_bool(0.5) {
            fault = fault.partition(random.random_range(0..PARTITIONS));
        }
        injected.push(broker.inject(match random.random_range(0..9) {
            0..2 => fault.error(code),
            2..4 => fault.delay(Duration::from_millis(random.random_range(1..60))),
            4..6 => fault.drop_before_effect(),
            6..8 => fault.drop_after_effect(),
            _ => {
                broker.close_connections();
                fault.error(code)
            }
        }));
        tokio::time::sleep(Duration::from_millis(random.random_range(20..120))).await;
    }
    injected.iter().map(|fault| fault.fired()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_100_000_records_with_failures_panics_and_a_broken_broker_none_is_lost() {
    let cluster = Arc::new(Cluster::embedded().await);
    let (topic, group) = (cluster.topic("storm", PARTITIONS).await, cluster.name("storm"));
    let dead_letters = format!("{topic}.dlq");
    for partition in 0..PARTITIONS {
        for start in (0..PER_PARTITION).step_by(500) {
            cluster.values(&topic, partition, start..start + 500).await;
        }
    }
    let (journal, handled) = (Journal::default(), Arc::new(Handled::new()));
    let handler = {
        let (journal, handled, cluster, group) =
            (journal.clone(), Arc::clone(&handled), Arc::clone(&cluster), group.clone());
        handler_fn(move |_: Record, delivery: Delivery| {
            journal.note(&delivery);
            let (partition, offset) = (delivery.partition(), delivery.offset());
            let committed = cluster.broker().committed(&group, delivery.topic(), partition);
            let handled = Arc::clone(&handled);
            async move {
                if committed.is_none_or(|committed| committed > offset) {
                    // Not a panic, which the consumer would catch: the record is missing in the end.
                    return Err(Failure::validation(format!("{committed:?} is committed before {offset} is settled")));
                }
                if offset % 16 == 0 {
                    tokio::task::yield_now().await;
                }
                match Fate::of(partition, offset) {
                    Fate::Retried(times) if delivery.attempt() <= times => Err(Failure::transient("not yet")),
                    Fate::Handled | Fate::Retried(_) => {
                        handled.mark(partition, offset);
                        Ok(())
                    }
                    Fate::Invalid => Err(Failure::validation("never")),
                    Fate::Exhausted => Err(Failure::transient("never")),
                    Fate::Panics => panic!("record {offset} is poison"),
                }
            }
        })
    };
    let consumer = cluster.consumer(&group).topic(&topic, Raw, handler).start().await.unwrap();

    let stop = Arc::new(AtomicBool::new(false));
    let chaos = tokio::spawn({
        let (cluster, stop) = (Arc::clone(&cluster), Arc::clone(&stop));
        async move { break_things(cluster.broker(), &stop).await }
    });
    // Looks all through the run: what is committed was settled before, whatever comes of the requests in between.
    let committed = |partition| cluster.broker().committed(&group, &topic, partition).unwrap();
    let checked = std::sync::Mutex::new(vec![0i64; PARTITIONS as usize]);
    within(SOON * 4, "all of the 100,000 records are committed", async || {
        let ends: Vec<i64> = (0..PARTITIONS).map(committed).collect();
        let dead = dead_lettered(cluster.broker(), &dead_letters);
        let mut checked = checked.lock().unwrap();
        for (partition, end) in (0..).zip(&ends) {
            let from = std::mem::replace(&mut checked[partition as usize], *end);
            assert!(from <= *end, "partition {partition}: the committed offset went from {from} back to {end}");
            for offset in from..*end {
                let settled = handled.count(partition, offset) > 0 || dead.contains_key(&(partition, offset));
                assert!(settled, "{end} is committed for partition {partition}, but {offset} is not settled");
            }
        }
        ends.iter().all(|end| *end == PER_PARTITION)
    })
    .await;
    stop.store(true, Ordering::SeqCst);
    let fired = chaos.await.unwrap();
    assert!(fired >= 10, "only {fired} faults have hit");
    let summary = soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert!(summary.committed && summary.dropped.is_empty() && summary.unacknowledged == 0, "{summary:?}");

    journal.assert_in_order();
    let dead = dead_lettered(cluster.broker(), &dead_letters);
    for partition in 0..PARTITIONS {
        for offset in 0..PER_PARTITION {
            let fate = Fate::of(partition, offset);
            // A dead letter whose acknowledgement was lost is published again: once or more.
            let settled = (handled.count(partition, offset), dead.contains_key(&(partition, offset)));
            let expected = if fate.is_dead_lettered() { (0, true) } else { (1, false) };
            assert_eq!(settled, expected, "partition {partition}, offset {offset}, {fate:?}");
        }
        let attempts: BTreeMap<i64, u32> = journal.of(partition).into_iter().collect();
        for (offset, attempts) in attempts {
            let expected = match Fate::of(partition, offset) {
                Fate::Retried(times) => times + 1,
                Fate::Exhausted => 6,
                _ => 1,
            };
            assert_eq!(attempts, expected, "attempts at {partition}/{offset}");
        }
    }
}

/// A group without offsets, `latest`, and a process that dies before it has handled anything: what came in between is
/// delivered, since the offset to start from was committed first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn latest_and_a_crash_skip_nothing() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("latest", 1).await, cluster.name("latest"));
    cluster.values(&topic, 0, 0..5).await;
    let journal = Journal::default();
    let handler = {
        let journal = journal.clone();
        handler_fn(move |_: Record, delivery: Delivery| {
            let journal = journal.clone();
            async move {
                journal.note(&delivery);
                Ok::<(), Failure>(())
            }
        })
    };
    let latest = || {
        // What is committed below was not committed by the clock.
        cluster.consumer(&group).offset_reset(OffsetReset::Latest).commit_interval(Duration::from_secs(3600))
    };
    let first = latest().topic(&topic, Raw, handler.clone()).start().await.unwrap();
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(5));
    drop(first);
    cluster.values(&topic, 0, 5..8).await;
    let second = latest().topic(&topic, Raw, handler).start().await.unwrap();
    eventually("the records after the crash are handled", async || journal.len() == 3).await;
    assert_eq!(journal.of(0), [(5, 1), (6, 1), (7, 1)]);
    soon("the consumer shuts down", second.shutdown()).await.unwrap();
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(8));
}

/// What a handler sends onward is acknowledged before its own record is settled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_is_not_settled_before_what_it_sent_onward_is_acknowledged() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("onward", 1).await, cluster.name("onward"));
    let invoices = cluster.topic("invoices", 1).await;
    cluster.values(&topic, 0, 0..3).await;
    let held = cluster.broker().inject(Fault::on(Api::Produce).topic(&invoices).forever().error(ErrorCode(6)));
    let journal = Journal::default();
    let handler = {
        let (journal, invoices) = (journal.clone(), invoices.clone());
        handler_fn(move |record: Record, delivery: Delivery| {
            journal.note(&delivery);
            let copy = ProducerRecord::to(invoices.as_str()).value(record.value_bytes().unwrap());
            // Not awaited: the consumer waits for it all the same.
            drop(delivery.produce(copy));
            async { Ok::<(), Failure>(()) }
        })
    };
    let consumer = cluster.consumer(&group).topic(&topic, Raw, handler).start().await.unwrap();
    soon("three attempts to send onward are refused", held.wait_fired(3)).await;
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(0));
    assert_eq!(journal.of(0), [(0, 1)]);
    held.remove();
    cluster.until_committed(&group, &topic, 0, 3).await;
    let sent: Vec<_> = cluster.read(&invoices).await.iter().map(|record| record.value().unwrap().to_vec()).collect();
    assert_eq!(sent, [b"0", b"1", b"2"]);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// A consumer that is dropped lets go of everything: threads, handlers, connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_consumer_lets_go_of_its_handlers_and_commits_nothing_unsettled() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("dropped", 2).await, cluster.name("dropped"));
    cluster.values(&topic, 0, 0..3).await;
    let (held, started) = (Arc::new(()), Arc::new(Notify::new()));
    let handler = {
        let (held, started) = (Arc::clone(&held), Arc::clone(&started));
        handler_fn(move |_: Record, _: Delivery| {
            let (held, started) = (Arc::clone(&held), Arc::clone(&started));
            async move {
                started.notify_one();
                std::future::pending::<()>().await;
                drop(held);
                Ok::<(), Failure>(())
            }
        })
    };
    let consumer = cluster.consumer(&group).topic(&topic, Raw, handler).start().await.unwrap();
    soon("a record is in flight", started.notified()).await;
    drop(consumer);
    eventually("nothing of the handlers is left", async || Arc::strong_count(&held) == 1).await;
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(0));
}
