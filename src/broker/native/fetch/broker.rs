use std::collections::HashMap;
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use kafka_protocol::messages::{FetchRequest, FetchResponse};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::yield_now;
use tokio::time::Instant;

use super::super::call::Call;
use super::super::cluster::{Cluster, Purpose};
use super::super::connection::Connection;
use super::backoff;
use super::epochs::{self, EpochEnds};
use super::intake::{Next, take_in};
use super::message::{Order, Report, Then};
use super::reading::Reading;
use super::request::{FETCHED_EPOCH_SINCE, TOPIC_IDS_SINCE, request};
use super::session::{Key, Session, Wanted};
use super::sorting::{Sorted, sort};
use super::wait::Wait;
use crate::broker::batch::Share;
use crate::broker::{BrokerError, ErrorCode};
use crate::record::TopicPartition;

/// After so many bytes decoded, other tasks get their turn.
const TURN: usize = 256 << 10;

/// Reads all partitions that one broker leads, over one connection: while one answer is decoded, the next request is under
/// way.
pub(super) struct BrokerLoop {
    broker: i32,
    cluster: Arc<Cluster>,
    inbox: UnboundedReceiver<Order>,
    /// Gets a permit when there may be something new to ask for: credit, or partitions that nobody wants any more.
    wake: Arc<Notify>,
    reports: UnboundedSender<Report>,
    pub(super) readings: HashMap<TopicPartition, Held>,
    connection: Option<Arc<Connection>>,
    session: Session,
    wait: Wait,
    /// How many times in a row the broker refused the session.
    refusals: u32,
    by_name: bool,
    /// Counts answers.
    turn: u64,
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
    /// Bytes received that are still to be decoded.
    pub(super) undecoded: usize,
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
        cluster: Arc<Cluster>,
        inbox: UnboundedReceiver<Order>,
        wake: Arc<Notify>,
        reports: UnboundedSender<Report>,
    ) -> Self {
        let wait = Wait::new(cluster.settings.fetch_max_wait);
        Self {
            broker,
            cluster,
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
                        Landed::Fetched(Err(error)) => self.give_all_back(&error),
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
        let held = Held { reading, asked: None, answered: false, served: 0, undecoded: 0 };
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

    /// Sets out for what is to be done next; `None` where nothing can be read for now.
    fn next_step(&mut self) -> Option<Flight> {
        self.sweep();
        let mut left_out = Vec::new();
        let mut wanted = Vec::new();
        for held in self.readings.values() {
            match held.reading.credit(held.undecoded) {
                None | Some(0) => left_out.push(held.reading.serial),
                Some(credit) => wanted.push((held, credit)),
            }
        }
        if wanted.is_empty() {
            return None;
        }
        let Some(connection) = self.connection.clone().filter(|connection| !connection.is_closed()) else {
            return Some(self.connect());
        };
        let by_id = wanted.iter().all(|(held, _)| held.reading.topic_id.is_some());
        let call = self.call(self.cluster.settings.request_timeout);
        let version = match connection.version::<FetchRequest>(&call) {
            Ok(version) if by_id => version,
            Ok(version) => version.min(TOPIC_IDS_SINCE - 1),
            Err(error) => {
                self.give_all_back(&error);
                return None;
            }
        };
        let by_id = version >= TOPIC_IDS_SINCE;
        if version < FETCHED_EPOCH_SINCE {
            let unvalidated = wanted.iter().filter(|(held, _)| held.reading.unvalidated);
            let unvalidated: Vec<_> = unvalidated.map(|(held, _)| &held.reading).collect();
            if let Some(request) = epochs::request(&unvalidated) {
                let asking = async move { Landed::Validated(epochs::ask(&connection, &call, request).await) };
                return Some(Box::pin(asking));
            }
        }
        wanted.sort_unstable_by_key(|(held, _)| (held.served, &held.reading.partition));
        let newcomers = wanted.iter().any(|(held, _)| !held.answered);
        let wanted: Vec<(Key, Wanted)> =
            wanted.into_iter().map(|(held, credit)| self.wanted(&held.reading, credit, by_id)).collect();
        for ((partition, _), wanted) in &wanted {
            if let Some(held) = self.readings.get_mut(partition) {
                held.asked = Some(wanted.offset);
            }
        }
        self.tell_naming(!by_id);
        let wait = self.wait.next(newcomers, left_out);
        let plan = self.session.plan(&wanted, by_id);
        let request = request(plan, &self.cluster.settings, wait, version);
        let call = self.call(self.cluster.settings.request_timeout.saturating_add(wait));
        Some(Box::pin(async move { Landed::Fetched(connection.call_version(&call, version, &request).await) }))
    }

    fn wanted(&self, reading: &Reading, credit: usize, by_id: bool) -> (Key, Wanted) {
        let most = usize::try_from(self.cluster.settings.fetch_max_bytes).unwrap_or(1);
        let wanted = Wanted {
            offset: reading.position.offset,
            max_bytes: i32::try_from(credit.min(most)).unwrap_or(i32::MAX).max(1),
            leader_epoch: reading.leader_epoch,
            fetched_epoch: reading.position.epoch.unwrap_or(-1),
        };
        ((reading.partition.clone(), reading.topic_id.filter(|_| by_id)), wanted)
    }

    fn connect(&self) -> Flight {
        let (broker, cluster) = (self.broker, Arc::clone(&self.cluster));
        let call = self.call(cluster.settings.request_timeout);
        Box::pin(async move { Landed::Connected(cluster.broker_for(broker, Purpose::Fetch, &call).await) })
    }

    fn call(&self, within: Duration) -> Call {
        let doing = match self.readings.values().next() {
            Some(held) if self.readings.len() == 1 => held.reading.doing(),
            _ => format!("reading {} partitions from broker {}", self.readings.len(), self.broker),
        };
        Call::new(doing, within)
    }

    fn tell_naming(&mut self, by_name: bool) {
        if std::mem::replace(&mut self.by_name, by_name) != by_name {
            let _ = self.reports.send(Report::ByName { broker: self.broker, by_name });
        }
    }

    fn validated(&mut self, result: Result<EpochEnds, BrokerError>) {
        let ends = match result {
            Ok(ends) => ends,
            // A broker that cannot tell is believed.
            Err(BrokerError::Unsupported { .. }) => EpochEnds::default(),
            Err(error) => return self.give_all_back(&error),
        };
        let partitions: Vec<_> = self.readings.keys().cloned().collect();
        for partition in partitions {
            let Some(held) = self.readings.get_mut(&partition) else { continue };
            if let Some(then) = epochs::judge(&mut held.reading, &ends) {
                self.give_back(&partition, then);
            }
        }
    }

    /// Takes an answer: sees where to go on, sends the next request, and decodes only then.
    async fn take(&mut self, answer: FetchResponse, flight: &mut Option<Flight>) {
        let code = ErrorCode(answer.error_code);
        if code.0 != 0 {
            if Session::concerns(code) && self.refusals == 0 {
                self.refusals += 1;
                self.session.refused(code);
                return self.readings.values_mut().for_each(|held| held.asked = None);
            }
            let error =
                BrokerError::Response { doing: self.call(Duration::ZERO).doing().to_owned(), code, message: None };
            return self.give_all_back(&error);
        }
        self.refusals = 0;
        self.turn += 1;
        self.session.answered(answer.session_id);
        let Sorted { chunks, leaving } = sort(answer, &mut self.readings, self.turn, &self.cluster.settings);
        for (partition, then) in leaving {
            self.give_back(&partition, then);
        }
        *flight = self.next_step();
        if let Some(next) = flight {
            // The first poll hands the request to the task that writes, which gets to run before the decoding.
            if let Poll::Ready(landed) = poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await {
                *next = Box::pin(std::future::ready(landed));
            }
            yield_now().await;
        }
        let whole: usize = chunks.iter().map(|(_, chunk)| chunk.records.len()).sum();
        let mut decoded = 0;
        for (partition, chunk) in chunks {
            let Some(held) = self.readings.get_mut(&partition) else { continue };
            let size = chunk.records.len();
            // A small part would pin the whole answer.
            let share = if size < whole / 4 { Share::Copy } else { Share::Slice };
            let next = take_in(&mut held.reading, chunk, self.cluster.settings.max_decompressed_bytes, share);
            held.undecoded = 0;
            match next {
                Next::GoOn => {}
                Next::Pause(pause) => {
                    let then = Then::Again { due: Instant::now() + pause, stale: false };
                    self.give_back(&partition, then);
                }
                Next::End => self.give_back(&partition, Then::End),
            }
            decoded += size;
            if decoded >= TURN {
                decoded = 0;
                yield_now().await;
            }
        }
    }

    /// Nothing can be read from this broker for now.
    fn give_all_back(&mut self, error: &BrokerError) {
        self.disconnect(&error.to_string());
        self.session.failed();
        self.refusals = 0;
        let failures = self.readings.values().map(|held| held.reading.failures).max().unwrap_or(0).saturating_add(1);
        // One pause for all, so that they come back together.
        let due = Instant::now() + backoff::pause(failures, rand::random());
        for (_, mut held) in std::mem::take(&mut self.readings) {
            held.reading.failures = failures;
            if held.reading.credit(0) != Some(0) {
                held.reading.tell_failure(error.clone());
            }
            self.report(held.reading, Then::Again { due, stale: true });
        }
    }

    fn give_back(&mut self, partition: &TopicPartition, then: Then) {
        if let Some(held) = self.readings.remove(partition) {
            self.report(held.reading, then);
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

async fn land(flight: &mut Option<Flight>) -> Landed {
    match flight {
        Some(flight) => flight.await,
        None => pending().await,
    }
}
