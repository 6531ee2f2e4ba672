//! Two brokers that share a log, connections to them that fail in every way, and a producer's line in front of them.

use std::collections::{HashMap, VecDeque};

use kafka_protocol::ResponseError as E;

use super::*;

/// Records of calls whose number leaves this remainder are refused by the broker.
const BAD: u32 = 7;

pub(super) struct World {
    numbered: bool,
    line: Line<u32, u32>,
    now: Instant,
    calls: u32,
    /// By call: its number of records.
    sizes: Vec<u32>,
    results: HashMap<u32, Result<i64, BrokerError>>,
    log: Vec<u32>,
    producers: HashMap<i64, Remembered>,
    leader: usize,
    /// Whom the client takes for the leader.
    believed: usize,
    connections: Vec<Connection>,
    next_id: i64,
}

/// What the broker remembers of a producer: its epoch and last five batches (first and last sequence, offset).
#[derive(Default)]
struct Remembered {
    epoch: i16,
    batches: VecDeque<(i32, i32, i64)>,
}

struct Connection {
    broker: usize,
    open: bool,
    /// What is on its way to the broker.
    wire: VecDeque<Request>,
    /// What the client waits for, in order, and the answer once it is there.
    waiting: VecDeque<(u64, Body<u32>, Option<Fate>)>,
}

struct Request {
    batch: u64,
    records: Vec<u32>,
    stamp: Option<Stamp>,
}

impl World {
    pub(super) fn new(numbered: bool) -> Self {
        let limits = Limits { batch_bytes: 40, linger: Duration::ZERO, numbered };
        Self {
            numbered,
            line: Line::new(limits),
            now: Instant::now(),
            calls: 0,
            sizes: Vec::new(),
            results: HashMap::new(),
            log: Vec::new(),
            producers: HashMap::new(),
            leader: 0,
            believed: 0,
            connections: Vec::new(),
            next_id: 100,
        }
    }

    pub(super) fn happen(&mut self, event: u8, argument: u8) {
        let argument = usize::from(argument);
        match event % 32 {
            0..8 => self.enqueue(argument),
            8..16 => self.send(),
            16..22 => self.process(argument, None),
            22..27 => self.deliver(argument),
            27 => self.process(argument, Some([E::NotEnoughReplicasAfterAppend, E::RequestTimedOut][argument % 2])),
            28 => self.cut(argument),
            29 => self.leader = argument % 2,
            30 => self.pass(Duration::from_millis(argument as u64)),
            _ => self.pass(Duration::from_secs(argument as u64 % 40)),
        }
    }

    fn enqueue(&mut self, argument: usize) {
        let (number, size) = (self.calls, 1 + argument as u32 % 3);
        self.calls += 1;
        self.sizes.push(size);
        let records = (0..size).map(|index| number * 10 + index).collect();
        let deadline = self.now + Duration::from_secs(30);
        self.line.enqueue(Call { records, bytes: argument % 60, enqueued: self.now, deadline, reply: number });
    }

    fn send(&mut self) {
        if self.line.wants_id().is_some() {
            self.line.identify(self.next_id);
            self.next_id += 1;
        }
        let Some(parcel) = self.line.take(self.now) else { return };
        let believed = self.believed;
        let found = self.connections.iter().position(|one| one.open && one.broker == believed);
        let index = found.unwrap_or_else(|| {
            let new = Connection { broker: believed, open: true, wire: VecDeque::new(), waiting: VecDeque::new() };
            self.connections.push(new);
            self.connections.len() - 1
        });
        let request = Request { batch: parcel.batch, records: parcel.body.records.clone(), stamp: parcel.stamp };
        self.connections[index].wire.push_back(request);
        self.connections[index].waiting.push_back((parcel.batch, parcel.body, None));
    }

    /// A broker takes the next request of a connection, which may have been cut long ago.
    fn process(&mut self, argument: usize, instead: Option<E>) {
        let mut busy: Vec<_> =
            (0..self.connections.len()).filter(|index| !self.connections[*index].wire.is_empty()).collect();
        if busy.is_empty() {
            return;
        }
        let index = busy.remove(argument % busy.len());
        let Some(request) = self.connections[index].wire.pop_front() else { return };
        let (code, offset) = match self.append(self.connections[index].broker, &request) {
            Ok(offset) => (instead.map_or(0, |instead| instead.code()), offset),
            Err(refused) => (refused.code(), -1),
        };
        let fate = Fate::of(code, offset, || error(E::try_from_code(code).unwrap()));
        let waiting = self.connections[index].waiting.iter_mut().find(|(batch, ..)| *batch == request.batch);
        if let Some((_, _, answer)) = waiting {
            *answer = Some(fate);
        }
    }

    fn append(&mut self, broker: usize, request: &Request) -> Result<i64, E> {
        if broker != self.leader {
            return Err(E::NotLeaderOrFollower);
        }
        if request.records.iter().any(|record| record / 10 % BAD == 3) {
            return Err(E::InvalidRecord);
        }
        let offset = self.log.len() as i64;
        if let Some(stamp) = request.stamp {
            let last = stamp.sequence + request.records.len() as i32 - 1;
            // As in Kafka, a producer that is not known may begin with any number.
            let unknown = !self.producers.contains_key(&stamp.producer_id);
            let known = self.producers.entry(stamp.producer_id).or_default();
            if unknown {
                known.epoch = stamp.epoch;
            }
            if stamp.epoch < known.epoch {
                return Err(E::InvalidProducerEpoch);
            }
            if stamp.epoch > known.epoch {
                if stamp.sequence != 0 {
                    return Err(E::OutOfOrderSequenceNumber);
                }
                *known = Remembered { epoch: stamp.epoch, batches: VecDeque::new() };
            }
            if let Some((.., offset)) = known.batches.iter().find(|sent| (sent.0, sent.1) == (stamp.sequence, last)) {
                return Ok(*offset);
            }
            if !unknown && stamp.sequence != known.batches.back().map_or(0, |sent| sent.1 + 1) {
                return Err(E::OutOfOrderSequenceNumber);
            }
            known.batches.push_back((stamp.sequence, last, offset));
            if known.batches.len() > 5 {
                known.batches.pop_front();
            }
        }
        self.log.extend(&request.records);
        Ok(offset)
    }

    /// The client gets the next answer of a connection.
    fn deliver(&mut self, argument: usize) {
        let answered = |one: &Connection| one.waiting.front().is_some_and(|(.., answer)| answer.is_some());
        let answered: Vec<_> =
            (0..self.connections.len()).filter(|index| answered(&self.connections[*index])).collect();
        if answered.is_empty() {
            return;
        }
        let connection = &mut self.connections[answered[argument % answered.len()]];
        let Some((batch, body, Some(fate))) = connection.waiting.pop_front() else { return };
        if matches!(&fate, Fate::NotYet(error) if error.code() == Some(ErrorCode(E::NotLeaderOrFollower.code()))) {
            self.believed = self.leader;
        }
        self.settle(batch, body, fate);
    }

    /// A connection fails; what is on its way may be lost, or arrive much later.
    fn cut(&mut self, argument: usize) {
        if self.connections.is_empty() {
            return;
        }
        let index = argument % self.connections.len();
        let connection = &mut self.connections[index];
        connection.open = false;
        if argument.is_multiple_of(3) {
            connection.wire.clear();
        }
        for (batch, body, _) in std::mem::take(&mut connection.waiting) {
            self.settle(batch, body, Fate::Unclear(error(E::NetworkException)));
        }
        self.believed = self.leader;
    }

    fn settle(&mut self, batch: u64, body: Body<u32>, fate: Fate) {
        let done = self.line.answer(batch, body, fate, self.now, 0.5);
        self.note(done);
    }

    fn note(&mut self, done: Vec<Done<u32>>) {
        for done in done {
            assert!(self.results.insert(done.reply, done.result).is_none(), "call {} answered twice", done.reply);
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        let done = self.line.expire(self.now, |_| error(E::RequestTimedOut));
        self.note(done);
    }

    /// Nothing fails any more, until all calls are answered.
    pub(super) fn calm_down(&mut self) {
        for _ in 0..10_000 {
            if self.line.is_idle() {
                break;
            }
            self.send();
            self.process(self.calls as usize, None);
            self.deliver(0);
            self.pass(Duration::from_millis(20));
        }
        assert!(self.line.is_idle(), "stuck");
        // What is still on its way on connections that were cut arrives now.
        while self.connections.iter().any(|connection| !connection.wire.is_empty()) {
            self.process(0, None);
        }
    }

    pub(super) fn check(&self) {
        assert_eq!(self.results.len(), self.calls as usize, "each call is answered");
        if self.numbered {
            assert!(self.log.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", self.log);
        }
        let mut next = 0;
        for call in 0..self.calls {
            let size = self.sizes[call as usize];
            let records: Vec<u32> = (0..size).map(|index| call * 10 + index).collect();
            let there = self.log.iter().filter(|record| **record / 10 == call).count();
            if self.numbered {
                assert!(there == 0 || there == size as usize, "call {call} is there in part: {:?}", self.log);
            }
            match &self.results[&call] {
                Ok(offset) => {
                    let offset = *offset as usize;
                    assert_eq!(self.log[offset..offset + size as usize], records, "call {call} at {offset}");
                    assert!(offset >= next, "call {call} at {offset} was overtaken");
                    next = offset + size as usize;
                }
                Err(error) if error.code() == Some(ErrorCode(E::InvalidRecord.code())) => {
                    assert_eq!((there, call % BAD), (0, 3));
                }
                // It ran out of time, or nobody can tell whether it was appended.
                Err(error) => assert!(
                    error.code() == Some(ErrorCode(E::RequestTimedOut.code()))
                        || error.to_string().contains("without an answer"),
                    "{error}"
                ),
            }
        }
    }
}
