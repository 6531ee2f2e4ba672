//! What the framework costs per record: the actors (guard, decoder, handler, settling, watermark, commits) against a
//! bare loop that calls the same decoder and the same work on the same feed, filled under the same credit, with one
//! thread per core on both sides. No broker; both run alternately in one process.
//!
//! `cargo bench --bench actor_path`

mod support;

use std::future::Future;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use bezoar::broker::Feed;
use bezoar::record::{Record, RecordBatch, TopicPartition};
use bezoar::{Consumer, Decoder, Delivery, Failure, Handler, Json, Raw};
use serde::Deserialize;
use support::cpu::CpuTimes;
use support::memory::Memory;
use support::records::{TOPIC, fill, orders};
use support::table;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc};

#[derive(Deserialize)]
struct Order {
    id: i64,
    customer: String,
    total: f64,
    items: Vec<String>,
}

/// What is done with a message, by the handler and by the bare loop alike.
trait Work: Clone + Send + Sync + 'static {
    type Message: Send + 'static;

    fn work(&mut self, message: Self::Message) -> impl Future<Output = ()> + Send;
}

/// Counts bytes; never waits.
#[derive(Clone, Default)]
struct CountBytes(usize);

impl Work for CountBytes {
    type Message = Record;

    async fn work(&mut self, record: Record) {
        self.0 += black_box(record.value().map_or(0, <[u8]>::len));
    }
}

/// Adds orders up; never waits.
#[derive(Clone, Default)]
struct AddUp(f64);

impl Work for AddUp {
    type Message = Order;

    async fn work(&mut self, order: Order) {
        self.0 += black_box(order.total + order.id as f64);
        black_box((order.customer, order.items));
    }
}

/// Lets others run once before it counts bytes.
#[derive(Clone, Default)]
struct YieldOnce(usize);

impl Work for YieldOnce {
    type Message = Record;

    async fn work(&mut self, record: Record) {
        tokio::task::yield_now().await;
        self.0 += black_box(record.value().map_or(0, <[u8]>::len));
    }
}

/// A handler that does the work and says when it has done all.
struct Worker<W> {
    work: W,
    left: i64,
    done: mpsc::UnboundedSender<Instant>,
}

impl<W> Worker<W> {
    fn count(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            let _ = self.done.send(Instant::now());
        }
    }
}

impl<W: Work> Handler for Worker<W> {
    type Message = W::Message;
    type Error = Failure;

    async fn handle(&mut self, message: W::Message, _: Delivery) -> Result<(), Failure> {
        self.work.work(message).await;
        self.count();
        Ok(())
    }
}

/// One partition's prepared input.
type Input = (TopicPartition, Arc<[RecordBatch]>);

/// Nanoseconds per record: of wall time, and of all threads' CPU time where it is known.
struct Cost {
    wall: f64,
    cpu: Option<f64>,
}

struct Run<'a> {
    control: &'a Runtime,
    inputs: &'a [Input],
    per_partition: i64,
}

impl Run<'_> {
    fn cost(&self, started: (Instant, CpuTimes), ended: Instant) -> Cost {
        let records = self.per_partition as f64 * self.inputs.len() as f64;
        let cpu = CpuTimes::now().since(&started.1).map(|used| used as f64 / records);
        Cost { wall: ended.duration_since(started.0).as_nanos() as f64 / records, cpu }
    }

    /// Starts to fill the feeds. What came before isn't counted.
    fn open(&self, feeds: Vec<Arc<Feed>>) -> (Instant, CpuTimes) {
        let cpu = CpuTimes::now();
        let now = Instant::now();
        for (feed, (_, batches)) in feeds.into_iter().zip(self.inputs) {
            self.control.spawn(fill(feed, Arc::clone(batches)));
        }
        (now, cpu)
    }

    fn last(&self, done: &mut mpsc::UnboundedReceiver<Instant>) -> Instant {
        let times = (0..self.inputs.len()).map(|_| done.blocking_recv().expect("each partition ends"));
        times.max().expect("there is a partition")
    }

    /// Through a consumer.
    fn actors<D, W>(&self, decoder: D, work: W) -> Cost
    where
        D: Decoder<W::Message> + Sync,
        W: Work,
    {
        let memory = Memory::new(self.inputs.len() as i32);
        let (done, mut all_done) = mpsc::unbounded_channel();
        let made = Arc::new(AtomicUsize::new(0));
        let (counter, left) = (Arc::clone(&made), self.per_partition);
        let factory = move || {
            counter.fetch_add(1, Ordering::Relaxed);
            Worker { work: work.clone(), left, done: done.clone() }
        };
        let builder = Consumer::builder("bench").ports(memory.ports()).commit_interval(Duration::from_millis(100));
        let consumer = self.control.block_on(builder.topic(TOPIC, decoder, factory).start()).expect("it starts");
        while made.load(Ordering::Relaxed) < self.inputs.len() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let feeds = self.inputs.iter().map(|(partition, _)| memory.feed(partition).expect("it is assigned")).collect();
        let started = self.open(feeds);
        let ended = self.last(&mut all_done);
        self.control.block_on(async {
            while consumer.positions().await.iter().any(|position| position.watermark < self.per_partition) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        let cost = self.cost(started, ended);
        self.control.block_on(consumer.shutdown()).expect("it stops cleanly");
        for (partition, _) in self.inputs {
            assert_eq!(memory.committed(partition), Some(self.per_partition), "{partition} is committed to its end");
        }
        cost
    }

    /// Through the bare loop.
    fn bare<D, W>(&self, decoder: D, work: W) -> Cost
    where
        D: Decoder<W::Message> + Sync,
        W: Work,
    {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (done, mut all_done) = mpsc::unbounded_channel();
        let mut feeds = Vec::new();
        let mut loops: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        for (index, (partition, _)) in self.inputs.iter().enumerate() {
            let feed = Arc::new(Feed::new(partition.clone(), 2 << 20, |_| {}));
            feeds.push(Arc::clone(&feed));
            let worker = Worker { work: work.clone(), left: self.per_partition, done: done.clone() };
            loops[index % threads].push(bare_loop(feed, decoder.clone(), worker));
        }
        let started = self.open(feeds);
        let measured = Arc::new(Barrier::new(threads + 1));
        let lanes = loops.into_iter().map(|loops| {
            let measured = Arc::clone(&measured);
            std::thread::spawn(move || lane(loops, &measured))
        });
        let lanes: Vec<_> = lanes.collect();
        let ended = self.last(&mut all_done);
        let cost = self.cost(started, ended);
        measured.wait();
        lanes.into_iter().for_each(|lane| lane.join().expect("no loop panics"));
        cost
    }
}

/// Runs loops on one thread to their end. The thread stays until its CPU time is `measured`.
fn lane(loops: Vec<impl Future<Output = ()> + Send + 'static>, measured: &Barrier) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let tasks: Vec<_> = loops.into_iter().map(|bare| runtime.spawn(bare)).collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.expect("no loop panics");
        }
    });
    measured.wait();
}

async fn bare_loop<D, W>(feed: Arc<Feed>, mut decoder: D, mut worker: Worker<W>)
where
    D: Decoder<W::Message>,
    W: Work,
{
    let ready = Arc::new(Notify::new());
    let listener = Arc::clone(&ready);
    feed.on_ready(move || listener.notify_one());
    while worker.left > 0 {
        ready.notified().await;
        while let Some(batch) = feed.front() {
            for record in batch.iter() {
                let Ok(message) = decoder.decode(&record).await else { panic!("{record:?} cannot be decoded") };
                worker.work.work(message).await;
                worker.count();
            }
            feed.pop_front();
        }
    }
}

fn compare<D, W>(name: &str, run: &Run<'_>, rounds: usize, (decoder, work): (D, W)) -> Vec<String>
where
    D: Decoder<W::Message> + Sync,
    W: Work,
{
    let (mut bare, mut actors) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(run.bare(decoder.clone(), work.clone()));
        actors.push(run.actors(decoder.clone(), work.clone()));
    }
    let wall = |costs: &[Cost]| table::median(costs.iter().map(|cost| cost.wall).collect());
    let cpu = |costs: &[Cost]| {
        let known: Vec<f64> = costs.iter().filter_map(|cost| cost.cpu).collect();
        if known.is_empty() { "–".to_owned() } else { format!("{:.0}", table::median(known)) }
    };
    let (bare_wall, actors_wall) = (wall(&bare), wall(&actors));
    vec![
        name.to_owned(),
        run.inputs.len().to_string(),
        format!("{:.2}", actors_wall / bare_wall),
        format!("{:+.0}", actors_wall - bare_wall),
        format!("{bare_wall:.0}"),
        format!("{actors_wall:.0}"),
        cpu(&bare),
        cpu(&actors),
    ]
}

fn main() {
    let (records, rounds) = if support::measuring() { (1_000_000, 5) } else { (4_000, 1) };
    let control =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut rows = Vec::new();
    let only = std::env::var("ONLY").unwrap_or_default();
    for partitions in [1, 8] {
        let per_partition = records / i64::from(partitions);
        let partition = |number| TopicPartition::new(TOPIC, number);
        let inputs: Vec<Input> =
            (0..partitions).map(|number| (partition(number), orders(&partition(number), per_partition))).collect();
        let run = Run { control: &control, inputs: &inputs, per_partition };
        if only.is_empty() || only == "c" {
            rows.push(compare("counts bytes (Raw)", &run, rounds, (Raw, CountBytes::default())));
        }
        if only.is_empty() || only == "j" {
            rows.push(compare("adds up (Json)", &run, rounds, (Json, AddUp::default())));
        }
        if only.is_empty() || only == "y" {
            rows.push(compare("yields once (Raw)", &run, rounds, (Raw, YieldOnce::default())));
        }
    }
    println!("{records} records, medians of {rounds} rounds; ns per record, over all partitions\n");
    let header = ["handler", "partitions", "ratio", "difference", "bare", "actors", "bare CPU", "actors CPU"];
    table::print(&header, &rows);
}
