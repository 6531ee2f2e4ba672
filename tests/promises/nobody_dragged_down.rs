//! Promise 5: a slow, retrying or panicking handler delays no other partition; a blocked thread delays only its lane, and
//! neither commits nor shutdown.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bezoar::consumer::Isolation;
use bezoar::record::{ProducerRecord, Record};
use bezoar::{Delivery, Event, Failure, Raw, Utf8, factory_fn, handler_fn};
use tokio::sync::Notify;

use crate::support::{Cluster, Journal, event, eventually, soon};

/// Blocks the threads that come to it until it is opened.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
    reached: AtomicBool,
}

impl Gate {
    fn block(&self) {
        self.reached.store(true, Ordering::SeqCst);
        let open = self.open.lock().unwrap();
        drop(self.opened.wait_while(open, |open| !*open).unwrap());
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    async fn until_reached(&self) {
        eventually("a handler blocks its thread", async || self.reached.load(Ordering::SeqCst)).await;
    }
}

/// A test that fails leaves no blocked thread behind.
struct OpenedAtTheEnd(Arc<Gate>);

impl Drop for OpenedAtTheEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

fn gate() -> (Arc<Gate>, OpenedAtTheEnd) {
    let gate = Arc::new(Gate::default());
    (Arc::clone(&gate), OpenedAtTheEnd(gate))
}

/// While a handler blocks its thread, other lanes' partitions are handled and committed, the blocked partition's own
/// progress is committed too, and the consumer answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_thread_delays_only_its_lane_and_no_commit() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("blocked", 2).await, cluster.name("blocked"));
    cluster.values(&topic, 0, 0..3).await;
    let (gate, _opened) = gate();
    let handler = {
        let gate = Arc::clone(&gate);
        handler_fn(move |_: Record, delivery: Delivery| {
            let gate = Arc::clone(&gate);
            async move {
                if (delivery.partition(), delivery.offset()) == (0, 2) {
                    // The record before it is reported when this one begins to wait.
                    tokio::task::yield_now().await;
                    gate.block();
                }
                Ok::<(), Failure>(())
            }
        })
    };
    let builder = cluster.consumer(&group).isolation(Isolation::Lanes(2));
    let consumer = builder.topic(&topic, Raw, handler).start().await.unwrap();
    gate.until_reached().await;
    for round in 1..=3 {
        cluster.values(&topic, 1, 0..50).await;
        cluster.until_committed(&group, &topic, 1, round * 50).await;
    }
    cluster.until_committed(&group, &topic, 0, 2).await;
    assert_eq!(soon("the consumer tells its positions", consumer.positions()).await.len(), 2);
    gate.open();
    cluster.until_committed(&group, &topic, 0, 3).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// A shutdown does not wait for a blocked thread beyond the drain timeout; the record is delivered again later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_ends_while_a_handler_blocks_its_thread() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("blocking", 2).await, cluster.name("blocking"));
    cluster.values(&topic, 0, 0..2).await;
    cluster.values(&topic, 1, 0..2).await;
    let (gate, _opened) = gate();
    let (journal, late) = (Journal::default(), Arc::new(AtomicBool::new(false)));
    let handler = {
        let (gate, journal, late) = (Arc::clone(&gate), journal.clone(), Arc::clone(&late));
        handler_fn(move |_: Record, delivery: Delivery| {
            let (gate, journal, late) = (Arc::clone(&gate), journal.clone(), Arc::clone(&late));
            async move {
                if (delivery.partition(), delivery.offset()) == (0, 1) {
                    gate.block();
                    late.store(true, Ordering::SeqCst);
                }
                journal.note(&delivery);
                Ok::<(), Failure>(())
            }
        })
    };
    let builder = cluster.consumer(&group).isolation(Isolation::Lanes(2)).drain_timeout(Duration::from_millis(200));
    let consumer = builder.topic(&topic, Raw, handler.clone()).start().await.unwrap();
    gate.until_reached().await;
    cluster.until_committed(&group, &topic, 1, 2).await;
    let summary = soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert!(!late.load(Ordering::SeqCst), "the shutdown waited for the blocked handler");
    let dropped: Vec<_> = summary.dropped.iter().map(|partition| partition.partition()).collect();
    assert_eq!(dropped, [0]);
    let committed = cluster.committed(&group, &topic, 0).await.unwrap();
    assert!(committed <= 1, "{committed} is committed, but record 1 is not handled");
    gate.open();
    eventually("the blocked handler comes back", async || late.load(Ordering::SeqCst)).await;
    // What it returns late is nobody's any more: the record is delivered again.
    let consumer = cluster.consumer(&group).topic(&topic, Raw, handler).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 2).await;
    assert_eq!(journal.of(0).iter().filter(|(offset, _)| *offset == 1).count(), 2);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// A partition whose records panic, one whose handler is being made, and one that awaits: the fourth goes on meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_in_trouble_delays_no_other_even_on_its_lane() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("trouble", 4).await, cluster.name("trouble"));
    for partition in 0..3 {
        cluster.values(&topic, partition, 0..3).await;
    }
    let (mended, made) = (Arc::new(Notify::new()), Arc::new(AtomicI64::new(0)));
    let journal = Journal::default();
    let factory = {
        let (mended, made, journal) = (Arc::clone(&mended), Arc::clone(&made), journal.clone());
        factory_fn(move |context: bezoar::FactoryContext| {
            let (mended, made, journal) = (Arc::clone(&mended), Arc::clone(&made), journal.clone());
            async move {
                made.fetch_add(1, Ordering::SeqCst);
                if context.partition().partition() == 1 || context.incarnation() > 1 {
                    mended.notified().await;
                    mended.notify_one();
                }
                Ok(Tester { journal, mended })
            }
        })
    };
    let builder = cluster.consumer(&group).isolation(Isolation::Lanes(1));
    let mut events = builder.events();
    let consumer = builder.topic(&topic, Raw, factory).start().await.unwrap();
    event(&mut events, "partition 0 panics", |event| matches!(event, Event::HandlerLost { .. }).then_some(())).await;
    // The fifth handler is partition 0's second, which is not ready.
    eventually("the next incarnation is being made", async || made.load(Ordering::SeqCst) == 5).await;
    for round in 1..=3 {
        cluster.values(&topic, 3, 0..50).await;
        cluster.until_committed(&group, &topic, 3, round * 50).await;
    }
    assert_eq!(journal.of(1), []);
    mended.notify_one();
    for partition in 0..3 {
        cluster.until_committed(&group, &topic, partition, 3).await;
    }
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

struct Tester {
    journal: Journal,
    mended: Arc<Notify>,
}

impl bezoar::Handler for Tester {
    type Message = Record;
    type Error = Failure;

    async fn handle(&mut self, _: Record, delivery: Delivery) -> Result<(), Failure> {
        self.journal.note(&delivery);
        match (delivery.partition(), delivery.offset()) {
            (0, 0) => panic!("poison"),
            (2, 0) => {
                self.mended.notified().await;
                self.mended.notify_one();
            }
            _ => {}
        }
        Ok(())
    }
}

/// A slow partition holds back its own fetching and nothing else. What is fetched of it beyond what its feed may hold
/// would be handled although it was deleted at the broker meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_partition_holds_back_only_its_own_fetching() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("slow", 2).await, cluster.name("slow"));
    let large = || (0..100).map(|_| ProducerRecord::to("").value(vec![b'x'; 1_000])).collect();
    for _ in 0..20 {
        cluster.append(&topic, 0, large()).await;
        cluster.append(&topic, 1, large()).await;
    }
    let (journal, go_on) = (Journal::default(), Arc::new(Notify::new()));
    let handler = {
        let (journal, go_on) = (journal.clone(), Arc::clone(&go_on));
        handler_fn(move |_: Record, delivery: Delivery| {
            let (journal, go_on) = (journal.clone(), Arc::clone(&go_on));
            async move {
                journal.note(&delivery);
                if (delivery.partition(), delivery.offset()) == (0, 0) {
                    go_on.notified().await;
                }
                Ok::<(), Failure>(())
            }
        })
    };
    // Three batches of about 100 KiB fill the feed.
    let builder = cluster.consumer(&group).feed_bytes(256 << 10).fetch_max_bytes(100 << 10);
    let consumer = builder.topic(&topic, Raw, handler).start().await.unwrap();
    cluster.until_committed(&group, &topic, 1, 2_000).await;
    assert_eq!(journal.of(0), [(0, 1)]);
    cluster.broker().delete_records_before(&topic, 0, 2_000).unwrap();
    go_on.notify_one();
    cluster.until_committed(&group, &topic, 0, 2_000).await;
    journal.assert_in_order();
    let fetched = journal.of(0).len();
    assert!((1..=400).contains(&fetched), "{fetched} records of the slow partition were fetched");
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// Dead letters gather before they are handed over, yet wait for no record behind them: neither for one that takes long nor
/// for one that is retried; and one that takes the handler down leaves none behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_do_not_wait_for_the_record_behind_them() {
    let handler = |text: String, _: Delivery| async move {
        match text.as_str() {
            "takes long" => std::future::pending::<Result<(), Failure>>().await,
            "is retried" => Err(Failure::transient("busy").retry_after(Duration::from_secs(3_600))),
            "panics" => panic!("poison"),
            _ => Err(Failure::validation("never")),
        }
    };
    for (last, settled) in [("takes long", 3), ("is retried", 3), ("panics", 4)] {
        let cluster = Cluster::embedded().await;
        let (topic, group) = (cluster.topic("gathered", 1).await, cluster.name("gathered"));
        cluster.values(&topic, 0, ["bad", "bad", "bad", last]).await;
        let builder = cluster.consumer(&group).drain_timeout(Duration::from_millis(200));
        let consumer = builder.topic(&topic, Utf8, handler_fn(handler)).start().await.unwrap();
        cluster.until_committed(&group, &topic, 0, settled).await;
        let letters = cluster.dead_letters(&format!("{topic}.dlq")).await;
        let offsets: Vec<i64> = letters.iter().map(|letter| letter.origin.offset.unwrap()).collect();
        assert_eq!(offsets, (0..settled).collect::<Vec<i64>>(), "{last}");
        soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    }
}
