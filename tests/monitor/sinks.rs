//! A sink that does not work delays nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bezoar::Utf8;
use bezoar::broker::BoxFuture;
use bezoar::monitor::{Alert, AlertKind, Sink, SinkError, Webhook};

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
