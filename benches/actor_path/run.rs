use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use bezoar::broker::Feed;
use bezoar::consumer::GroupProtocol;
use bezoar::record::{RecordBatch, TopicPartition};
use bezoar::{Consumer, Decoder};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc};

use super::support::cpu::CpuTimes;
use super::support::memory::Memory;
use super::support::records::{TOPIC, fill};
use super::work::{Work, Worker};

/// One partition's prepared input.
pub(crate) type Input = (TopicPartition, Arc<[RecordBatch]>);

/// Nanoseconds per record: of wall time, and of all threads' CPU time where it is known.
pub(crate) struct Cost {
    pub(crate) wall: f64,
    pub(crate) cpu: Option<f64>,
}

pub(crate) struct Run<'a> {
    pub(crate) control: &'a Runtime,
    pub(crate) inputs: &'a [Input],
    pub(crate) per_partition: i64,
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
    pub(crate) fn actors<D, W>(&self, decoder: D, work: W) -> Cost
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
        let builder = Consumer::builder("bench").ports(memory.ports()).group_protocol(GroupProtocol::Consumer);
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
    pub(crate) fn bare<D, W>(&self, decoder: D, work: W) -> Cost
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
