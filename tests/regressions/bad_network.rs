//! A network that cuts connections in the middle of frames, lets them hang, and is slow.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bezoar::broker::native::{Connector, Stream};
use bezoar::broker::{BoxFuture, ConnectionSettings, ErrorCode, native};
use bezoar::embedded::{Api, Broker, Fault};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::plane::{PATIENCE, Reader, orders, produce, values};

const PARTITIONS: i32 = 3;

/// Opens TCP connections through a relay that spoils most of them.
struct Spoiler {
    calm: Arc<AtomicBool>,
}

impl Connector for Spoiler {
    fn open(&self, address: String) -> BoxFuture<io::Result<Box<dyn Stream>>> {
        let calm = Arc::clone(&self.calm);
        Box::pin(async move {
            let stream = TcpStream::connect(&address).await?;
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            let (from, to) = stream.into_split();
            let (client_from, client_to) = tokio::io::split(theirs);
            let cut = Arc::new(AtomicBool::new(false));
            tokio::spawn(relay(from, client_to, Arc::clone(&calm), Arc::clone(&cut)));
            tokio::spawn(relay(client_from, to, calm, cut));
            Ok(Box::new(ours) as Box<dyn Stream>)
        })
    }
}

/// Passes bytes on until they are as many as this direction is good for; then it is cut, or swallows all.
async fn relay(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    calm: Arc<AtomicBool>,
    cut: Arc<AtomicBool>,
) {
    let mut left: usize = rand::random_range(200..60_000);
    let (slow, hangs) = (rand::random_bool(0.3), rand::random_bool(0.2));
    let mut buffer = vec![0; 4_096];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 || cut.load(Ordering::Relaxed) {
            break;
        }
        let mut passed = count;
        if !calm.load(Ordering::Relaxed) {
            if slow {
                tokio::time::sleep(Duration::from_millis(rand::random_range(0..15))).await;
            }
            passed = count.min(left);
            left -= passed;
        }
        if to.write_all(&buffer[..passed]).await.is_err() {
            break;
        }
        if passed < count {
            while hangs && !calm.load(Ordering::Relaxed) && from.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
            break;
        }
    }
    cut.store(true, Ordering::Relaxed);
    let _ = to.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_network_loses_doubles_and_disorders_nothing() {
    let seeds = std::env::var("CHAOS_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1u64);
    for seed in 0..seeds {
        weather(seed).await;
    }
}

async fn weather(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", PARTITIONS).unwrap();
    let calm = Arc::new(AtomicBool::new(true));
    let mut settings = ConnectionSettings::new([broker.bootstrap()]);
    settings.request_timeout = Duration::from_millis(700);
    settings.connect_timeout = Duration::from_millis(400);
    settings.fetch_max_wait = Duration::from_millis(100);
    settings.reconnect_backoff = Duration::from_millis(5);
    settings.reconnect_backoff_max = Duration::from_millis(50);
    settings.produce.batch_bytes = random.random_range(1..4_000);
    let ports = native::connect_with(settings, Arc::new(Spoiler { calm: Arc::clone(&calm) })).await.unwrap().ports();
    calm.store(false, Ordering::Relaxed);

    let readers: Vec<_> = (0..PARTITIONS)
        .map(|number| {
            let reader = Reader::begin(&ports.source, &orders(number), 0, 3_000);
            tokio::spawn(async move {
                let mut seen = Vec::new();
                while seen.last().is_none_or(|(_, value)| *value != usize::MAX) {
                    seen.extend(reader.next().await);
                    tokio::task::yield_now().await;
                }
                seen
            })
        })
        .collect();

    let (mut calls, mut next) = (Vec::new(), [0usize; PARTITIONS as usize]);
    for round in 0..250 {
        let number = random.random_range(0..PARTITIONS);
        let (count, from) = (random.random_range(1..40), next[number as usize]);
        calls.push(produce(&ports, number, from..from + count));
        next[number as usize] += count;
        if round % 10 == 0 {
            tokio::time::sleep(Duration::from_millis(random.random_range(1..30))).await;
        }
        if random.random_bool(0.05) {
            let retriable = [6, 7, 19, 20, 56, 5, 3];
            let code = ErrorCode(retriable[random.random_range(0..retriable.len())]);
            broker.inject(Fault::on(Api::Produce).times(random.random_range(1..3)).error(code));
        }
    }
    let waiting = async {
        for call in calls {
            call.await.unwrap().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    };
    if tokio::time::timeout(PATIENCE / 2, waiting).await.is_err() {
        panic!("seed {seed}: calls hang");
    }
    calm.store(true, Ordering::Relaxed);
    for (number, count) in (0..).zip(next) {
        assert_eq!(values(&broker, number), (0..count).collect::<Vec<_>>(), "seed {seed}, partition {number}");
    }
    for number in 0..PARTITIONS {
        produce(&ports, number, usize::MAX - 1..usize::MAX).await.unwrap().unwrap();
        let end = ports
            .produce
            .produce(orders(number), vec![bezoar::record::ProducerRecord::to("").value(usize::MAX.to_string())]);
        end.await.unwrap();
    }
    for (reader, count) in readers.into_iter().zip(next) {
        let seen = reader.await.unwrap();
        let expected = (0..count).chain([usize::MAX - 1, usize::MAX]).enumerate();
        let expected: Vec<_> = expected.map(|(offset, value)| (offset as i64, value)).collect();
        assert_eq!(seen, expected, "seed {seed}");
    }
}
