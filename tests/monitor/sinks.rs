//! A sink that does not work delays nobody.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use bezoar::Utf8;
use bezoar::broker::BoxFuture;
use bezoar::monitor::{Alert, AlertKind, Monitor, Sink, SinkError, Webhook};

use crate::http::{Answer, Server};
use crate::support::{Cluster, Heard, SOON, eventually, obey, quick};

/// What is wrong with a sink.
#[derive(Clone, Copy)]
enum Wrong {
    Hangs,
    Fails,
    Panics,
    PanicsAtOnce,
    BlocksItsThread,
}

struct Broken(Wrong, Arc<AtomicU32>);

impl Sink for Broken {
    fn name(&self) -> String {
        "broken".to_owned()
    }

    fn send(&self, _: Arc<Alert>) -> BoxFuture<Result<(), SinkError>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        match self.0 {
            Wrong::Hangs => Box::pin(std::future::pending()),
            Wrong::Fails => Box::pin(async { Err(SinkError::temporary("always")) }),
            Wrong::Panics => Box::pin(async { panic!("in the sink") }),
            Wrong::PanicsAtOnce => panic!("in the sink"),
            Wrong::BlocksItsThread => Box::pin(async {
                std::thread::sleep(Duration::from_secs(5));
                Ok(())
            }),
        }
    }
}

/// All at once: the consumer goes on to the end, a sink that works hears everything, and the stop does not wait for the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn consumption_goes_on_whatever_sinks_do() {
    let (cluster, heard) = (Cluster::embedded().await, Heard::default());
    let (topic, group) = (cluster.topic("broken", 1).await, cluster.name("broken"));
    let server = Server::start([]).await;
    server.always(Answer::Status(500));
    let silent = Server::start([]).await;
    silent.always(Answer::Hang);
    let asked = Arc::new(AtomicU32::new(0));
    let mut settings = quick().thresholds(2, 100);
    for wrong in [Wrong::Hangs, Wrong::Fails, Wrong::Panics, Wrong::PanicsAtOnce, Wrong::BlocksItsThread] {
        settings = settings.sink(Broken(wrong, Arc::clone(&asked)));
    }
    let settings = settings
        .sink(Webhook::json(server.url("/hook")))
        .sink(Webhook::json(silent.url("/hook")))
        // Nobody listens there.
        .sink(Webhook::json("http://127.0.0.1:1/"))
        .sink(heard.clone());
    let consumer = cluster.consumer(&group).monitor(settings).topic(&topic, Utf8, obey()).start().await.unwrap();
    for round in 0..20 {
        cluster.append(&topic, 0, if round % 4 == 0 { "poison" } else { "fine" }, 50).await;
    }
    eventually("all is committed", async || cluster.broker().committed(&group, &topic, 0) == Some(1_000)).await;
    heard.until(AlertKind::Depth, &format!("{topic}.dlq.poison"), 1).await;
    heard.until(AlertKind::Letters, &format!("{topic}.dlq.poison"), 2).await;
    eventually("each was asked", async || asked.load(Ordering::Relaxed) >= 5).await;
    eventually("the webhooks were asked", async || !server.posts().is_empty() && !silent.posts().is_empty()).await;
    let start = Instant::now();
    tokio::time::timeout(SOON, consumer.shutdown()).await.unwrap().unwrap();
    // Three seconds, and what a loaded machine adds; a hanging sink is waited for 30 s otherwise.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Blocks its thread until the other end of its channel is gone.
struct Blocked(Arc<Mutex<mpsc::Receiver<()>>>, Arc<AtomicU32>);

impl Sink for Blocked {
    fn name(&self) -> String {
        "blocked".to_owned()
    }

    fn send(&self, _: Arc<Alert>) -> BoxFuture<Result<(), SinkError>> {
        let (end, asked) = (Arc::clone(&self.0), Arc::clone(&self.1));
        Box::pin(async move {
            asked.fetch_add(1, Ordering::Relaxed);
            let _ = end.lock().unwrap().recv();
            Ok(())
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sink_that_blocks_its_thread_does_not_hold_the_end_of_a_monitor() {
    let cluster = Cluster::embedded().await;
    let topic = cluster.topic("blocked.dlq", 1).await;
    cluster.append(&topic, 0, "x", 3).await;
    let (release, end) = mpsc::channel();
    let asked = Arc::new(AtomicU32::new(0));
    let settings = quick().thresholds(2, 100).sink(Blocked(Arc::new(Mutex::new(end)), Arc::clone(&asked)));
    let monitor = Monitor::new(cluster.ports().await, [topic.as_str()], settings);
    let blocked = eventually("it blocks", async || asked.load(Ordering::Relaxed) > 0);
    let ended = tokio::time::timeout(SOON, monitor.run_until(blocked)).await;
    drop(release);
    ended.expect("it ends while the sink blocks");
}

/// Panics wherever it is touched.
struct Hysteric;

impl Sink for Hysteric {
    fn name(&self) -> String {
        panic!("in the name")
    }

    fn send(&self, _: Arc<Alert>) -> BoxFuture<Result<(), SinkError>> {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("in the future's destructor")
            }
        }
        let bomb = Bomb;
        Box::pin(async move {
            let _bomb = bomb;
            std::future::pending().await
        })
    }
}

impl Drop for Hysteric {
    fn drop(&mut self) {
        panic!("in the sink's destructor")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sink_that_panics_in_its_name_and_destructor_harms_nobody() {
    let (cluster, heard) = (Cluster::embedded().await, Heard::default());
    let (topic, group) = (cluster.topic("hysteric", 1).await, cluster.name("hysteric"));
    let settings = quick().sink(Hysteric).sink(heard.clone());
    assert!(format!("{settings:?}").contains("a sink whose name panics"));
    let consumer = cluster.consumer(&group).monitor(settings).topic(&topic, Utf8, obey()).start().await.unwrap();
    cluster.append(&topic, 0, "poison", 2).await;
    heard.until(AlertKind::Letters, &format!("{topic}.dlq.poison"), 1).await;
    tokio::time::timeout(SOON, consumer.shutdown()).await.unwrap().unwrap();
    assert_eq!(cluster.broker().committed(&group, &topic, 0), Some(2));
}
