//! Promise 3 again: what can't go on, through no fault of a record, is tried anew within a stated limit, and then ends in
//! a stated way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bezoar::broker::SourceProblem;
use bezoar::consumer::{Escalation, OffsetReset, RestartPolicy};
use bezoar::embedded::Api;
use bezoar::handler::HandlerGone;
use bezoar::policy::Backoff;
use bezoar::record::{Record, RecordBatchBuilder, TopicPartition};
use bezoar::{
    Consumer, ConsumerError, Decoder, Delivery, Event, FactoryContext, Failure, Handler, HandlerFactory, Raw, Utf8,
    factory_fn,
};
use tokio::sync::Notify;

use crate::held::picky;
use crate::memory::Memory;
use crate::support::{Cluster, Journal, event, eventually, hasty, soon};

fn quick_restarts(escalation: Escalation) -> RestartPolicy {
    let mut policy = RestartPolicy::default();
    policy.backoff = Backoff::fixed(Duration::from_millis(1));
    policy.max_per_partition = 3;
    policy.escalation = escalation;
    policy
}

/// Fails for partition 0 as often as it is told to, and blames no record for it.
fn failing(times: u32, made: &Arc<AtomicU32>) -> impl HandlerFactory<Handler: bezoar::Handler<Message = Record>> {
    let made = Arc::clone(made);
    factory_fn(move |context: FactoryContext| {
        let attempt = match context.partition().partition() {
            0 => made.fetch_add(1, Ordering::SeqCst) + 1,
            _ => u32::MAX,
        };
        async move {
            if attempt <= times {
                return Err("the database is down".into());
            }
            Ok(Fine)
        }
    })
}

struct Fine;

impl bezoar::Handler for Fine {
    type Message = Record;
    type Error = Failure;

    async fn handle(&mut self, _: Record, _: Delivery) -> Result<(), Failure> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_factory_that_keeps_failing_stops_the_consumer_with_its_reason() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("factory", 2).await, cluster.name("factory"));
    cluster.values(&topic, 0, 0..3).await;
    let made = Arc::new(AtomicU32::new(0));
    let builder = cluster.consumer(&group).restart(quick_restarts(Escalation::StopConsumer));
    let consumer = builder.topic(&topic, Raw, failing(u32::MAX - 1, &made)).start().await.unwrap();
    let ended = soon("the consumer stops", consumer.run_until(std::future::pending::<()>())).await;
    let Err(ConsumerError::Halted { reason, .. }) = ended else { panic!("{ended:?}") };
    assert!(reason.contains("the database is down") && reason.contains(&format!("{topic}/0")), "{reason}");
    assert_eq!(made.load(Ordering::SeqCst), 4, "the first and three restarts");
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(0));
    assert!(cluster.read(&format!("{topic}.dlq")).await.is_empty());
    // Mended, it goes on with the same records; a few failures are not the end.
    made.store(0, Ordering::SeqCst);
    let builder = cluster.consumer(&group).restart(quick_restarts(Escalation::StopConsumer));
    let consumer = builder.topic(&topic, Raw, failing(3, &made)).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 3).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert!(cluster.read(&format!("{topic}.dlq")).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_is_given_up_stops_visibly_and_alone() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("given-up", 2).await, cluster.name("given-up"));
    cluster.values(&topic, 0, 0..3).await;
    let builder = cluster.consumer(&group).restart(quick_restarts(Escalation::StopPartition));
    let mut events = builder.events();
    let made = Arc::new(AtomicU32::new(0));
    let consumer = builder.topic(&topic, Raw, failing(u32::MAX - 1, &made)).start().await.unwrap();
    let stopped = event(&mut events, "a partition stops", |event| match event {
        Event::PartitionStopped { partition, offset, reason } => {
            Some((partition.partition(), *offset, reason.contains("the database is down")))
        }
        _ => None,
    });
    assert_eq!(stopped.await, (0, 0, true));
    cluster.values(&topic, 1, 0..3).await;
    cluster.until_committed(&group, &topic, 1, 3).await;
    let summary = soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert!(summary.committed && summary.dropped.is_empty());
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(0));
}

/// The log's end while the next handler is being made: the partition starts anew all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_ends_while_a_handler_is_made_strands_nothing() {
    let memory = Arc::new(Memory::default());
    let partition = TopicPartition::new("orders", 0);
    let mut batch = RecordBatchBuilder::new(partition.clone(), None);
    batch.push(0, 0, None, Some(b"poison"), std::iter::empty());
    *memory.batch.lock().unwrap() = Some(batch.build(1));
    let (making, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let factory = {
        let (making, go_on) = (Arc::clone(&making), Arc::clone(&go_on));
        factory_fn(move |context: FactoryContext| {
            let (making, go_on) = (Arc::clone(&making), Arc::clone(&go_on));
            async move {
                if context.incarnation() > 1 {
                    making.notify_one();
                    go_on.notified().await;
                }
                Ok(Panics)
            }
        })
    };
    let builder = Consumer::builder("group")
        .ports(memory.ports())
        .assignment(bezoar::consumer::Assignment::Manual)
        .policies(hasty());
    let mut events = builder.events();
    let consumer = builder.topic("orders", Raw, factory).start().await.unwrap();
    soon("the next handler is being made", making.notified()).await;
    *memory.batch.lock().unwrap() = None;
    let feed = Arc::clone(&memory.feeds.lock().unwrap()[0]);
    // The only batch is read to its end: nothing but the problem would wake the partition.
    eventually("the record is dead-lettered", async || memory.produced.lock().unwrap().len() == 1).await;
    feed.pop_front();
    feed.report(SourceProblem::TopicRecreated);
    // Its answer shows that the supervisor has taken the report before.
    soon("the consumer tells its positions", consumer.positions()).await;
    go_on.notify_one();
    let reset = event(&mut events, "the partition starts anew", |event| match event {
        Event::OffsetReset { to, .. } => Some(*to),
        _ => None,
    });
    assert_eq!(reset.await, 0);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

struct Panics;

impl bezoar::Handler for Panics {
    type Message = Record;
    type Error = Failure;

    async fn handle(&mut self, _: Record, _: Delivery) -> Result<(), Failure> {
        panic!("poison")
    }
}

/// A topic that is deleted and made anew, and offsets that retention took away: the reset policy says where to go on,
/// and it is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offset_that_is_gone_is_reset_by_policy_and_told() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("gone", 1).await, cluster.name("gone"));
    cluster.values(&topic, 0, 0..10).await;
    let journal = Journal::default();
    let start = async || {
        let builder = cluster.consumer(&group);
        let events = builder.events();
        (builder.topic(&topic, Utf8, picky(&journal)).start().await.unwrap(), events)
    };
    let (consumer, _) = start().await;
    cluster.until_committed(&group, &topic, 0, 10).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    cluster.values(&topic, 0, 10..20).await;
    cluster.broker().delete_records_before(&topic, 0, 15).unwrap();
    let (consumer, mut events) = start().await;
    let reset = |event: &Event| match event {
        Event::OffsetReset { from, to, .. } => Some((*from, *to)),
        _ => None,
    };
    assert_eq!(event(&mut events, "the offset is reset", reset).await, (10, 15));
    cluster.until_committed(&group, &topic, 0, 20).await;
    cluster.broker().recreate_topic(&topic).unwrap();
    cluster.values(&topic, 0, 0..12).await;
    assert_eq!(event(&mut events, "the offset is reset", reset).await, (20, 0));
    cluster.until_committed(&group, &topic, 0, 12).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    let offsets: Vec<i64> = journal.of(0).iter().map(|(offset, _)| *offset).collect();
    assert_eq!(offsets, (0..10).chain(15..20).chain(0..12).collect::<Vec<_>>());
}

/// Each handler is given a clone of its decoder; this one's clones panic, the first few times.
struct Fragile {
    clones: Arc<AtomicU32>,
    panics: u32,
}

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(self.clones.fetch_add(1, Ordering::SeqCst) >= self.panics, "the decoder cannot be cloned");
        Self { clones: Arc::clone(&self.clones), panics: self.panics }
    }
}

impl Decoder<Record> for Fragile {
    type Error = Failure;

    async fn decode(&mut self, record: &Record) -> Result<Record, Failure> {
        Ok(record.clone())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decoder_whose_clone_panics_is_tried_again_and_then_stops_the_consumer() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("fragile", 1).await, cluster.name("fragile"));
    cluster.values(&topic, 0, 0..3).await;
    let start = async |panics| {
        let decoder = Fragile { clones: Arc::default(), panics };
        let builder = cluster.consumer(&group).restart(quick_restarts(Escalation::StopConsumer));
        builder.topic(&topic, decoder, || Fine).start().await.unwrap()
    };
    let ended = soon("the consumer stops", start(u32::MAX).await.run_until(std::future::pending::<()>())).await;
    let Err(ConsumerError::Halted { reason, .. }) = ended else { panic!("{ended:?}") };
    assert!(reason.contains("the decoder cannot be cloned"), "{reason}");
    let consumer = start(2).await;
    cluster.until_committed(&group, &topic, 0, 3).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// Refuses to go on at every third record, the first time it sees it; the next handler takes it.
struct Moody {
    journal: Journal,
}

impl Handler for Moody {
    type Message = String;
    type Error = Failure;

    async fn handle(&mut self, _: String, delivery: Delivery) -> Result<(), Failure> {
        let before = self.journal.of(0).iter().filter(|(offset, _)| *offset == delivery.offset()).count();
        self.journal.note(&delivery);
        if delivery.offset() % 3 == 0 && before == 0 {
            return Err(Failure::new(HandlerGone { reason: "moody".to_owned() }));
        }
        Ok(())
    }
}

/// A handler that is lost now and then, with records handled in between, does not use its restarts up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_with_progress_in_between_are_not_added_up() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("moody", 1).await, cluster.name("moody"));
    cluster.values(&topic, 0, 0..30).await;
    let journal = Journal::default();
    let mut restart = RestartPolicy::default();
    (restart.max_per_partition, restart.max_overall) = (1, 1);
    restart.backoff = Backoff::none();
    let factory = {
        let journal = journal.clone();
        move || Moody { journal: journal.clone() }
    };
    let consumer = cluster.consumer(&group).restart(restart).topic(&topic, Utf8, factory).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 30).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert_eq!(journal.len(), 40);
}

/// A topic that is deleted and made anew while its reader waits is read from its start, however long it is by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_made_anew_and_longer_than_before_is_read_from_its_start() {
    made_anew(OffsetReset::Earliest).await;
}

/// Also by `latest`: all of it came after what was read before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_made_anew_is_read_from_its_start_by_latest_too() {
    made_anew(OffsetReset::Latest).await;
}

async fn made_anew(reset_policy: OffsetReset) {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("anew", 1).await, cluster.name("anew"));
    cluster.commit_start(&group, &topic, 0).await;
    cluster.values(&topic, 0, 0..3).await;
    let journal = Journal::default();
    let builder = cluster.consumer(&group).offset_reset(reset_policy);
    let mut events = builder.events();
    let consumer = builder.topic(&topic, Utf8, picky(&journal)).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 3).await;
    // The reader waits at the end now: its next answer is of another topic.
    let waiting = cluster.broker().requests(Api::Fetch);
    eventually("the reader waits", async || cluster.broker().requests(Api::Fetch) > waiting).await;
    cluster.broker().recreate_topic(&topic).unwrap();
    cluster.values(&topic, 0, 0..30).await;
    let reset = |event: &Event| match event {
        Event::OffsetReset { from, to, .. } => Some((*from, *to)),
        _ => None,
    };
    assert_eq!(event(&mut events, "the offset is reset", reset).await, (3, 0));
    cluster.until_committed(&group, &topic, 0, 30).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    let offsets: Vec<i64> = journal.of(0).iter().map(|(offset, _)| *offset).collect();
    assert_eq!(offsets, (0..3).chain(0..30).collect::<Vec<_>>());
}
