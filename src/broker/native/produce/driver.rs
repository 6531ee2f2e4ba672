use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::super::call::Call as Asking;
use super::super::cluster::Cluster;
use super::fate::Fate;
use super::line::{Call, Done, Limits};
use super::peer::{self, Item, Settled};
use super::slot::{Leadership, Slot};
use super::troubles::Troubles;
use super::{Reply, identity};
use crate::broker::BrokerError;
use crate::record::{ProducerRecord, TopicPartition};

/// How many requests may be under way to one broker.
const REQUESTS_PER_BROKER: usize = 5;

/// A request is not filled with further batches above this many bytes.
const REQUEST_BYTES: usize = 8 << 20;

/// How many messages of the driver's own tasks may wait for it.
const INPUTS: usize = 64;

/// What the driver's own tasks tell it.
pub(super) enum Input {
    /// A request to a broker has come to its end.
    Answered { broker: i32, settled: Vec<Settled> },
    /// Metadata has been asked for.
    Metadata(Result<(), BrokerError>),
    /// A producer id has been asked for.
    Id(Result<i64, BrokerError>),
}

/// The task that moves the lines of all partitions.
pub(super) struct Driver {
    cluster: Arc<Cluster>,
    limits: Limits,
    troubles: Arc<Troubles>,
    slots: Vec<Slot>,
    by_partition: HashMap<TopicPartition, usize>,
    /// The slots that have something to do.
    active: Vec<usize>,
    peers: HashMap<i32, Peer>,
    producer_id: Option<i64>,
    /// Whether a producer id, and whether metadata, is being asked for.
    asking: (bool, bool),
    inputs: (mpsc::Sender<Input>, mpsc::Receiver<Input>),
}

struct Peer {
    requests: mpsc::UnboundedSender<Vec<Item>>,
    under_way: usize,
}

impl Driver {
    pub(super) fn new(cluster: Arc<Cluster>, troubles: Arc<Troubles>) -> Self {
        let settings = &cluster.settings.produce;
        let limits =
            Limits { batch_bytes: settings.batch_bytes, linger: settings.linger, numbered: settings.idempotence };
        Self {
            cluster,
            limits,
            troubles,
            slots: Vec::new(),
            by_partition: HashMap::new(),
            active: Vec::new(),
            peers: HashMap::new(),
            producer_id: None,
            asking: (false, false),
            inputs: mpsc::channel(INPUTS),
        }
    }

    /// Works until the producer is dropped. What waits then gets no answer, which its caller is told as closed.
    pub(super) async fn run(
        mut self,
        mut calls: mpsc::UnboundedReceiver<(TopicPartition, Call<ProducerRecord, Reply>)>,
    ) {
        loop {
            let wake = self.advance(Instant::now());
            tokio::select! {
                biased;
                Some(input) = self.inputs.1.recv() => self.input(input),
                call = calls.recv() => match call {
                    Some((partition, call)) => self.enqueue(partition, call),
                    None => return,
                },
                () = sleep_until(wake) => {}
            }
            // What has gathered meanwhile shares batches.
            while let Ok(input) = self.inputs.1.try_recv() {
                self.input(input);
            }
            while let Ok((partition, call)) = calls.try_recv() {
                self.enqueue(partition, call);
            }
        }
    }

    fn enqueue(&mut self, partition: TopicPartition, call: Call<ProducerRecord, Reply>) {
        let index = match self.by_partition.get(&partition) {
            Some(index) => *index,
            None => {
                self.slots.push(Slot::new(partition.clone(), self.limits));
                self.by_partition.insert(partition, self.slots.len() - 1);
                self.slots.len() - 1
            }
        };
        let slot = &mut self.slots[index];
        slot.line.enqueue(call);
        if !slot.active {
            slot.active = true;
            self.active.push(index);
        }
    }

    fn input(&mut self, input: Input) {
        let now = Instant::now();
        match input {
            Input::Answered { broker, settled } => {
                if let Some(peer) = self.peers.get_mut(&broker) {
                    peer.under_way -= 1;
                }
                for Settled { line, batch, body, fate } in settled {
                    let slot = &mut self.slots[line];
                    if let Fate::NotYet(error) | Fate::Unclear(error) = &fate {
                        tracing::debug!(%error, "will send again");
                        slot.doubt_leader(error);
                    }
                    answer(slot.line.answer(batch, body, fate, now, rand::random()));
                }
            }
            Input::Metadata(result) => {
                self.asking.1 = false;
                let leaders = &self.cluster.leaders;
                for slot in self.slots.iter_mut().filter(|slot| slot.leader == Leadership::Asked) {
                    match &result {
                        Ok(()) => {
                            let found = leaders.of(&slot.partition).map(|leader| leader.map(drop));
                            answer(slot.learn(found, now, rand::random()));
                        }
                        Err(error) => {
                            slot.leader = Leadership::Stale;
                            slot.line.hold_back(error.clone(), now, rand::random());
                        }
                    }
                }
            }
            Input::Id(result) => {
                self.asking.0 = false;
                match result {
                    Ok(id) => self.producer_id = Some(id),
                    Err(error) => {
                        for slot in self.slots.iter_mut().filter(|slot| slot.line.wants_id().is_some()) {
                            if error.is_retriable() {
                                slot.line.hold_back(error.clone(), now, rand::random());
                            } else {
                                answer(slot.line.give_up(&error));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Does all that can be done now, and returns when to come back at the latest.
    fn advance(&mut self, now: Instant) -> Instant {
        let mut wake = now + Duration::from_secs(3_600);
        let mut stale = BTreeSet::new();
        let mut ready: HashMap<i32, Vec<usize>> = HashMap::new();
        let slots = &mut self.slots;
        self.active.retain(|index| {
            let slot = &mut slots[*index];
            slot.active = !slot.line.is_idle();
            slot.tell_trouble(&self.troubles);
            slot.active
        });
        for place in 0..self.active.len() {
            let index = self.active[place];
            let slot = &mut self.slots[index];
            answer(slot.expire(now, self.cluster.settings.produce.delivery_timeout));
            if let Some(deadline) = slot.line.deadline() {
                wake = wake.min(deadline);
            }
            if let Some(resume) = slot.line.resume().filter(|resume| *resume > now) {
                wake = wake.min(resume);
                continue;
            }
            self.look_at(index, now, &mut wake, &mut stale, &mut ready);
        }
        for (broker, lines) in ready {
            self.send(broker, &lines, now);
        }
        // Who was first this time is last next time, so that each gets a place in a request.
        if !self.active.is_empty() {
            self.active.rotate_left(1);
        }
        self.ask_for_metadata(stale);
        wake
    }

    /// Finds out what a line that is not held back needs next: an id, a leader, or to be sent.
    fn look_at(
        &mut self,
        index: usize,
        now: Instant,
        wake: &mut Instant,
        stale: &mut BTreeSet<String>,
        ready: &mut HashMap<i32, Vec<usize>>,
    ) {
        let slot = &mut self.slots[index];
        if slot.leader == Leadership::Believed {
            match self.cluster.leaders.of(&slot.partition) {
                Some(Ok(leader)) => {
                    let topic = slot.partition.topic();
                    let learned = self.cluster.leaders.learned(topic);
                    if learned.is_some_and(|learned| now > learned + self.cluster.settings.metadata_max_age) {
                        // Goes on meanwhile.
                        stale.insert(topic.to_owned());
                    }
                    match slot.line.wants_id() {
                        None => {}
                        Some(spent) => match self.producer_id.filter(|id| Some(*id) != spent) {
                            Some(id) => slot.line.identify(id),
                            None => return self.ask_for_id(),
                        },
                    }
                    match slot.line.due(now) {
                        Some(due) if due <= now => ready.entry(leader.broker).or_default().push(index),
                        Some(due) => *wake = (*wake).min(due),
                        None => {}
                    }
                    return;
                }
                // What was told before is not to be held against a topic that may have been created since.
                Some(Err(_)) | None => slot.leader = Leadership::Stale,
            }
        }
        if slot.leader == Leadership::Stale {
            stale.insert(slot.partition.topic().to_owned());
        }
    }

    /// Fills requests for one broker from its lines, one batch of each.
    fn send(&mut self, broker: i32, lines: &[usize], now: Instant) {
        let peer = self.peers.entry(broker).or_insert_with(|| {
            let (requests, queue) = mpsc::unbounded_channel();
            tokio::spawn(peer::run(Arc::clone(&self.cluster), broker, queue, self.inputs.0.clone()));
            Peer { requests, under_way: 0 }
        });
        let mut lines = lines.iter().copied().peekable();
        while peer.under_way < REQUESTS_PER_BROKER && lines.peek().is_some() {
            let (mut items, mut bytes) = (Vec::new(), 0);
            while bytes < REQUEST_BYTES
                && let Some(line) = lines.next()
            {
                let slot = &mut self.slots[line];
                if let Some(parcel) = slot.line.take(now) {
                    bytes += parcel.bytes;
                    let (partition, doing) = (slot.partition.clone(), Arc::clone(&slot.doing));
                    items.push(Item { line, partition, doing, parcel });
                }
            }
            if !items.is_empty() && peer.requests.send(items).is_ok() {
                peer.under_way += 1;
            }
        }
    }

    fn ask_for_metadata(&mut self, topics: BTreeSet<String>) {
        if self.asking.1 || topics.is_empty() {
            return;
        }
        self.asking.1 = true;
        for slot in self.slots.iter_mut().filter(|slot| slot.leader == Leadership::Stale) {
            if topics.contains(slot.partition.topic()) {
                slot.leader = Leadership::Asked;
            }
        }
        let topics: Vec<String> = topics.into_iter().collect();
        let doing = format!("finding the leaders of {}", topics.join(", "));
        let (cluster, inputs) = (Arc::clone(&self.cluster), self.inputs.0.clone());
        tokio::spawn(async move {
            let call = Asking::new(doing, cluster.settings.request_timeout);
            let result = cluster.refresh(&call, &topics).await;
            // Fails only where the producer is gone.
            let _ = inputs.send(Input::Metadata(result)).await;
        });
    }

    fn ask_for_id(&mut self) {
        if self.asking.0 {
            return;
        }
        self.asking.0 = true;
        let (cluster, inputs) = (Arc::clone(&self.cluster), self.inputs.0.clone());
        tokio::spawn(async move {
            let result = identity::new_id(&cluster).await;
            // Fails only where the producer is gone.
            let _ = inputs.send(Input::Id(result)).await;
        });
    }
}

/// Tells callers how their calls ended.
fn answer(done: Vec<Done<Reply>>) {
    for Done { reply, result } in done {
        // A caller that no longer waits is no error.
        let _ = reply.send(result);
    }
}
