mod asking;
mod suspects;
mod taking;

use std::collections::HashMap;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;

use kafka_protocol::messages::FetchResponse;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;

use super::backoff;
use super::epochs::EpochEnds;
use super::message::{Order, Report, Then};
use super::reading::Reading;
use super::session::Session;
use super::wait::Wait;
use crate::broker::BrokerError;
use crate::broker::native::cluster::Cluster;
use crate::broker::native::connection::Connection;
use crate::broker::native::lanes::Lane;
use crate::record::TopicPartition;

/// Reads all partitions that one broker leads, over one connection: while one answer is decoded, the next request is under
/// way.
pub(super) struct BrokerLoop {
    broker: i32,
    cluster: Arc<Cluster>,
    /// Held to the end, so that no other source gets a connection that is about to be closed.
    lane: Arc<Lane>,
    inbox: UnboundedReceiver<Order>,
    /// Gets a permit when there may be something new to ask for: credit, or partitions that nobody wants any more.
    wake: Arc<Notify>,
    reports: UnboundedSender<Report>,
    readings: HashMap<TopicPartition, Held>,
    connection: Option<Arc<Connection>>,
    session: Session,
    wait: Wait,
    /// How many times in a row the broker refused the session.
    refusals: u32,
    by_name: bool,
    /// Counts answers.
    turn: u64,
    /// What was asked for when an answer was too large: each is asked for alone, the last one next.
    suspects: Vec<TopicPartition>,
}

/// A reading in a loop.
pub(super) struct Held {
    pub(super) reading: Reading,
    /// The offset that the request under way asks for; `None` where it does not.
    pub(super) asked: Option<i64>,
    /// Whether this loop had an answer for it before.
    pub(super) answered: bool,
    /// The answer that last brought it records: who waits longest is served first.
    pub(super) served: u64,
    /// What was received and is still to be decoded.
    pub(super) undecoded: Option<Undecoded>,
    /// When it was last known to be of the topic that it should be of, as far as fetches by name can tell.
    pub(super) heard: Instant,
}

/// Records that the position has passed already.
#[derive(Debug, Clone, Copy)]
pub(super) struct Undecoded {
    pub(super) bytes: usize,
    /// Where they begin, and the epoch of the batch before them.
    pub(super) from: (i64, Option<i32>),
}

/// What is under way: at most one step at a time.
type Flight = Pin<Box<dyn Future<Output = Landed> + Send>>;

enum Landed {
    Connected(Result<Arc<Connection>, BrokerError>),
    Validated(Result<EpochEnds, BrokerError>),
    Fetched(Result<FetchResponse, BrokerError>),
}

impl BrokerLoop {
    pub(super) fn new(
        broker: i32,
        (cluster, lane): (Arc<Cluster>, Arc<Lane>),
        inbox: UnboundedReceiver<Order>,
        wake: Arc<Notify>,
        reports: UnboundedSender<Report>,
    ) -> Self {
        let wait = Wait::new(cluster.settings.fetch_max_wait);
        Self {
            broker,
            cluster,
            lane,
            inbox,
            wake,
            reports,
            readings: HashMap::new(),
            connection: None,
            session: Session::default(),
            wait,
            refusals: 0,
            by_name: false,
            turn: 0,
            suspects: Vec::new(),
        }
    }

    /// Reads until the manager, which has got all partitions back by then, gives the loop up.
    pub(super) async fn run(mut self) {
        let mut flight = None;
        loop {
            if flight.is_none() {
                flight = self.next_step();
            }
            tokio::select! {
                biased;
                order = self.inbox.recv() => match order {
                    Some(order) => self.obey(order),
                    None => break,
                },
                landed = land(&mut flight) => {
                    flight = None;
                    match landed {
                        Landed::Connected(Ok(connection)) => self.connection = Some(connection),
                        Landed::Connected(Err(error)) => self.give_all_back(&error),
                        Landed::Validated(result) => self.validated(result),
                        Landed::Fetched(Ok(answer)) => self.take(answer, &mut flight).await,
                        Landed::Fetched(Err(error)) => self.not_fetched(&error),
                    }
                }
                () = self.wake.notified() => self.sweep(),
            }
        }
        self.disconnect("no partition of this broker is read any more");
    }

    fn obey(&mut self, order: Order) {
        let mut next = Some(order);
        // All that are there at once, so that they share the first request.
        while let Some(order) = next {
            match order {
                Order::Read(reading) => self.admit(reading),
                Order::GiveBack(partition) => {
                    let then = Then::Again { due: Instant::now(), stale: true };
                    self.give_back(&partition, then);
                }
            }
            next = self.inbox.try_recv().ok();
        }
    }

    fn admit(&mut self, reading: Reading) {
        let waker = Arc::clone(&self.wake);
        if reading.outlet.with_feed(|feed| feed.wake_on_credit(waker)).is_none() {
            // Another reading of the same partition may be here already.
            return self.report(reading, Then::End);
        }
        let partition = reading.partition.clone();
        let held = Held { reading, asked: None, answered: false, served: 0, undecoded: None, heard: Instant::now() };
        if let Some(before) = self.readings.insert(partition, held) {
            self.report(before.reading, Then::End);
        }
    }

    /// Gives up what nobody wants any more.
    fn sweep(&mut self) {
        let gone = |(_, held): &(&TopicPartition, &Held)| held.reading.credit(0).is_none();
        let gone: Vec<_> = self.readings.iter().filter(gone).map(|(partition, _)| partition.clone()).collect();
        for partition in gone {
            self.give_back(&partition, Then::End);
        }
    }

    /// Nothing can be read from this broker for now.
    fn give_all_back(&mut self, error: &BrokerError) {
        self.disconnect(&error.to_string());
        self.session.failed();
        self.refusals = 0;
        self.suspects.clear();
        let failures = self.readings.values().map(|held| held.reading.failures).max().unwrap_or(0).saturating_add(1);
        // One pause for all, so that they come back together.
        let due = Instant::now() + backoff::pause(failures, rand::random());
        for (_, held) in std::mem::take(&mut self.readings) {
            let mut reading = held.leave();
            reading.failures = failures;
            if reading.credit(0) != Some(0) {
                reading.tell_failure(error.clone());
            }
            self.report(reading, Then::Again { due, stale: true });
        }
    }

    fn give_back(&mut self, partition: &TopicPartition, then: Then) {
        if let Some(held) = self.readings.remove(partition) {
            self.report(held.leave(), then);
        }
    }

    fn report(&self, reading: Reading, then: Then) {
        // Where the manager is gone, so is whoever wanted this read.
        let _ = self.reports.send(Report::Back { broker: Some(self.broker), reading, then });
    }

    fn disconnect(&mut self, cause: &str) {
        if let Some(connection) = self.connection.take() {
            connection.close(cause);
        }
    }
}

impl Held {
    /// Leaves the loop. What was not decoded has to be fetched again.
    fn leave(mut self) -> Reading {
        if let Some(Undecoded { from: (offset, epoch), .. }) = self.undecoded {
            self.reading.position.move_to(offset, epoch);
        }
        self.reading
    }
}

async fn land(flight: &mut Option<Flight>) -> Landed {
    match flight {
        Some(flight) => flight.await,
        None => pending().await,
    }
}
