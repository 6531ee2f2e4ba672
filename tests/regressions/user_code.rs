//! User code that goes wrong where one does not look for it.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::{BoxFuture, BrokerError, CommittedOffset, OffsetStore, Ports, Produce};
use bezoar::consumer::RestartPolicy;
use bezoar::handler::{Deliver, actor};
use bezoar::policy::Backoff;
use bezoar::ractor::{Actor, ActorProcessingErr, ActorRef};
use bezoar::record::{ProducerRecord, Record, TopicPartition};
use bezoar::{Consumer, Delivery, FactoryContext, FactoryError, Failure, Raw, factory_fn, handler_fn};

use crate::support::{Cluster, Journal, soon};

#[derive(Debug)]
struct Treacherous;

impl fmt::Display for Treacherous {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("the error's Display")
    }
}

impl std::error::Error for Treacherous {}

impl Drop for Treacherous {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the error's destructor")
        }
    }
}

fn patient() -> RestartPolicy {
    let mut policy = RestartPolicy::default();
    policy.backoff = Backoff::fixed(Duration::from_millis(1));
    policy
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_factorys_error_that_panics_when_shown_is_a_restart() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("factory", 1).await, cluster.name("factory"));
    cluster.values(&topic, 0, 0..3).await;
    let factory = factory_fn(|context: FactoryContext| async move {
        if context.incarnation() < 3 {
            return Err(Box::new(Treacherous) as FactoryError);
        }
        Ok(handler_fn(|_: Record, _: Delivery| async { Ok::<(), Failure>(()) }))
    });
    let consumer = cluster.consumer(&group).restart(patient()).topic(&topic, Raw, factory).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 3).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// A handler that owns the consumer, and drops it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_dropped_by_its_own_handler_ends_without_harm() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("suicide", 1).await, cluster.name("suicide"));
    let slot: Arc<Mutex<Option<Consumer>>> = Arc::default();
    let (inner, count) = (Arc::clone(&slot), Arc::new(AtomicU32::new(0)));
    let counted = Arc::clone(&count);
    let handler = handler_fn(move |_: Record, _: Delivery| {
        counted.fetch_add(1, Ordering::SeqCst);
        drop(inner.lock().unwrap().take());
        async { Ok::<(), Failure>(()) }
    });
    let consumer = cluster.consumer(&group).topic(&topic, Raw, handler).start().await.unwrap();
    let mut events = consumer.events();
    *slot.lock().unwrap() = Some(consumer);
    cluster.values(&topic, 0, ["one"]).await;
    soon("the events end", async { while events.next().await.is_some() {} }).await;
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

/// Router, redactor and classifier panic or answer nonsense, for records of every kind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hooks_that_panic_or_answer_nonsense_change_nothing_but_what_they_are_for() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("hooks", 1).await, cluster.name("hooks"));
    let own = topic.clone();
    let silly = ["", ".", "..", "a/b", "\u{1F480}", "x y", &"x".repeat(250), &own, "\0"].map(str::to_owned);
    let count = silly.len() as i64 + 1;
    let records = (0..count).map(|_| ProducerRecord::to(topic.as_str()).header("", "")).collect();
    cluster.append(&topic, 0, records).await;
    let handler = handler_fn(|_: Record, delivery: Delivery| async move {
        if delivery.offset() % 2 == 0 {
            panic!("")
        }
        Err::<(), Failure>(Failure::unknown(""))
    });
    let consumer = cluster
        .consumer(&group)
        .route_dead_letters(move |record, _| match silly.get(record.offset() as usize) {
            Some(name) => Some(name.clone()),
            None => panic!("the router"),
        })
        .redact(|_| panic!("the redactor"))
        .classify(|_| panic!("the classifier"))
        .topic(&topic, Raw, handler)
        .start()
        .await
        .unwrap();
    cluster.until_committed(&group, &topic, 0, count).await;
    assert_eq!(cluster.dead_letters(&format!("{topic}.dlq")).await.len() as i64, count);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_consumer_on_a_current_thread_runtime_beside_another_of_the_same_group_in_one_process() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("twins", 2).await, cluster.name("twins"));
    cluster.values(&topic, 0, 0..50).await;
    cluster.values(&topic, 1, 0..50).await;
    let mut consumers = Vec::new();
    let journal = Journal::default();
    for partition in 0..2 {
        let noted = journal.clone();
        let handler = handler_fn(move |_: Record, delivery: Delivery| {
            noted.note(&delivery);
            async move {
                assert!(delivery.offset() % 7 != 3, "seventh");
                Ok::<(), Failure>(())
            }
        });
        let options = bezoar::consumer::TopicOptions::default().partitions([partition]);
        consumers.push(cluster.consumer(&group).topic_with(&topic, options, Raw, handler).start().await.unwrap());
    }
    for partition in 0..2 {
        cluster.until_committed(&group, &topic, partition, 50).await;
    }
    journal.assert_in_order();
    for consumer in consumers {
        soon("a consumer shuts down", consumer.shutdown()).await.unwrap();
    }
}

/// Answers, and panics afterwards, at the first record.
struct Hasty;

#[cfg_attr(feature = "async-trait", bezoar::ractor::async_trait)]
impl Actor for Hasty {
    type Msg = Deliver<Record>;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Self::Msg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(&self, _: ActorRef<Self::Msg>, deliver: Self::Msg, (): &mut ()) -> Result<(), ActorProcessingErr> {
        let offset = deliver.delivery.offset();
        let _ = deliver.reply.send(Ok(()));
        // So that the next record is on its way already.
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(offset != 0, "too late for the first record");
        Ok(())
    }
}

/// An actor that panics after it answered is made anew, and the next record, which is not to blame, is delivered to its
/// successor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_actor_that_panics_after_its_answer_blames_no_other_record() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("hasty", 1).await, cluster.name("hasty"));
    cluster.values(&topic, 0, 0..4).await;
    let consumer = cluster
        .consumer(&group)
        .restart(patient())
        .topic(&topic, Raw, actor(|_: &FactoryContext| (Hasty, ())))
        .start()
        .await
        .unwrap();
    cluster.until_committed(&group, &topic, 0, 4).await;
    assert_eq!(cluster.dead_letters(&format!("{topic}.dlq")).await.len(), 0);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// Panics within the future of its first commit and of its first dead letter.
struct Clumsy {
    ports: Ports,
    committed: AtomicU32,
    produced: AtomicU32,
}

impl OffsetStore for Clumsy {
    fn fetch(
        &self,
        group: String,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<Result<Vec<Option<CommittedOffset>>, BrokerError>> {
        self.ports.offsets.fetch(group, partitions)
    }

    fn commit(
        &self,
        group: String,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        // The first is that of the start.
        match self.committed.fetch_add(1, Ordering::SeqCst) {
            1 => Box::pin(async { panic!("the adapter's commit") }),
            _ => self.ports.offsets.commit(group, offsets),
        }
    }

    fn group_exists(&self, group: String) -> BoxFuture<Result<bool, BrokerError>> {
        self.ports.offsets.group_exists(group)
    }

    fn delete_group(&self, group: String) -> BoxFuture<Result<(), BrokerError>> {
        self.ports.offsets.delete_group(group)
    }
}

impl Produce for Clumsy {
    fn produce(
        &self,
        partition: TopicPartition,
        records: Vec<ProducerRecord>,
    ) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        match self.produced.fetch_add(1, Ordering::SeqCst) {
            0 => Box::pin(async { panic!("the adapter's produce") }),
            _ => self.ports.produce.produce(partition, records),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_adapter_that_panics_stops_neither_commits_nor_dead_letters() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("clumsy", 1).await, cluster.name("clumsy"));
    cluster.values(&topic, 0, 0..4).await;
    let clumsy =
        Arc::new(Clumsy { ports: cluster.ports.clone(), committed: AtomicU32::new(0), produced: AtomicU32::new(0) });
    let ports = Ports { offsets: clumsy.clone(), produce: clumsy, ..cluster.ports.clone() };
    let handler = handler_fn(|_: Record, delivery: Delivery| async move {
        if delivery.offset() == 2 { Err(Failure::validation("no")) } else { Ok(()) }
    });
    let consumer = cluster.consumer(&group).ports(ports).topic(&topic, Raw, handler).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 4).await;
    assert_eq!(cluster.dead_letters(&format!("{topic}.dlq")).await.len(), 1);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}
