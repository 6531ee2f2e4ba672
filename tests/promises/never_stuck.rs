//! Promise 3: no record holds its partition longer than its policy allows; what holds one on purpose is visible and
//! loses nothing. Here: records that go wrong in every way, and policies.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bezoar::consumer::CorruptBatches;
use bezoar::embedded::BatchWriter;
use bezoar::policy::{Action, Category, DeadLetterTopics};
use bezoar::record::{Header, Record};
use bezoar::{ConsumerError, Decoder, Delivery, Event, Failure, Handler, Raw, Utf8, handler_fn};

use crate::support::{Cluster, Journal, event, eventually, hasty, soon};

/// A message that does what its record says.
struct Message(String);

impl Drop for Message {
    fn drop(&mut self) {
        assert!(self.0 != "panic when the message is dropped", "the message's destructor");
    }
}

#[derive(Clone)]
struct Treacherous;

impl Decoder<Message> for Treacherous {
    type Error = Failure;

    async fn decode(&mut self, record: &Record) -> Result<Message, Failure> {
        let text = std::str::from_utf8(record.value().unwrap_or(b"a tombstone"))?;
        match text {
            "panic in the decoder" => panic!("the decoder"),
            "hang in the decoder" => std::future::pending().await,
            "the decoder says transient" => Err(Failure::transient("the registry is down")),
            text => Ok(Message(text.to_owned())),
        }
    }
}

#[derive(Debug)]
struct PanicsWhenShown;

impl fmt::Display for PanicsWhenShown {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("the error's Display")
    }
}

impl std::error::Error for PanicsWhenShown {}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a second destructor")
        }
    }
}

/// A handler whose own destructor panics once it has seen a record that says so.
struct Victim {
    journal: Journal,
    doomed: bool,
}

impl Drop for Victim {
    fn drop(&mut self) {
        if self.doomed && !std::thread::panicking() {
            panic!("the handler's destructor");
        }
    }
}

impl Handler for Victim {
    type Message = Message;
    type Error = Failure;

    async fn handle(&mut self, message: Message, delivery: Delivery) -> Result<(), Failure> {
        self.journal.note(&delivery);
        match message.0.as_str() {
            "panic in the handler" => panic!("the handler"),
            "panic after waiting" => {
                tokio::task::yield_now().await;
                panic!("the handler, later");
            }
            "panic with a payload that panics" => std::panic::panic_any(PanicsWhenDropped),
            "panic when the handler is dropped" => {
                self.doomed = true;
                panic!("the handler, and then its destructor")
            }
            "panic when the error is shown" => Err(Failure::new(PanicsWhenShown)),
            "hang in the handler" => std::future::pending().await,
            "hang, and panic when dropped" => {
                let _local = PanicsWhenDropped;
                std::future::pending().await
            }
            "fail without a category" => Err(Failure::new("who knows")),
            _ => Ok(()),
        }
    }
}

/// Every way to go wrong, in turn with good records: each ends in its dead-letter topic, and the partition goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_way_to_go_wrong_ends_in_quarantine_and_the_partition_goes_on() {
    // What the record says, what is reported as its error's type, its category, how often it was tried.
    let faults: &[(&[u8], &str, &str, u32)] = &[
        (b"\xff\xfe", "std::str::Utf8Error", "validation", 1),
        (b"panic in the decoder", "panic", "poison", 1),
        (b"hang in the decoder", "timeout", "poison", 1),
        (b"the decoder says transient", "Failure", "transient", 6),
        (b"panic in the handler", "panic", "poison", 1),
        (b"panic after waiting", "panic", "poison", 1),
        (b"panic with a payload that panics", "panic", "poison", 1),
        (b"panic when the handler is dropped", "panic", "poison", 1),
        (b"panic when the message is dropped", "panic", "poison", 1),
        (b"panic when the error is shown", "panic", "poison", 1),
        (b"hang in the handler", "timeout", "poison", 1),
        (b"hang, and panic when dropped", "timeout", "poison", 1),
        (b"fail without a category", "Failure", "unknown", 4),
    ];
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("faults", 1).await, cluster.name("faults"));
    for (fault, ..) in faults {
        let good = || bezoar::record::ProducerRecord::to(topic.as_str()).value("good");
        let bad = bezoar::record::ProducerRecord::to(topic.as_str()).value(fault.to_vec());
        cluster.append(&topic, 0, vec![good(), bad, good()]).await;
    }
    let journal = Journal::default();
    let factory = {
        let journal = journal.clone();
        move || Victim { journal: journal.clone(), doomed: false }
    };
    let consumer = cluster
        .consumer(&group)
        .dead_letter_topics(DeadLetterTopics::per_category())
        .poison_timeout(Some(Duration::from_millis(300)))
        .topic(&topic, Treacherous, factory)
        .start()
        .await
        .unwrap();
    let end = 3 * faults.len() as i64;
    cluster.until_committed(&group, &topic, 0, end).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    journal.assert_in_order();

    let mut letters = Vec::new();
    for category in Category::ALL {
        letters.extend(cluster.dead_letters(&format!("{topic}.dlq.{category}")).await);
    }
    letters.sort_by_key(|letter| letter.origin.offset.unwrap());
    assert_eq!(letters.len(), faults.len());
    for ((at, (value, error_type, category, attempts)), letter) in (0..).zip(faults).zip(&letters) {
        let shown = String::from_utf8_lossy(value);
        assert_eq!((letter.origin.offset, letter.value.as_deref()), (Some(at * 3 + 1), Some(*value)), "{shown}");
        let found = (letter.error_type.as_str(), letter.category.as_str(), letter.attempts);
        assert_eq!(found, (*error_type, *category, Some(*attempts)), "{shown}");
    }
    let good = journal.all().iter().filter(|seen| seen.offset % 3 != 1).count();
    assert_eq!(good, 2 * faults.len());
    let message = |offset: usize| letters[offset].message.as_str();
    assert_eq!(message(2), "processing timed out after 300ms");
    assert!(message(4).contains("never_stuck.rs:") && message(4).ends_with(": the handler"), "{}", message(4));
}

/// A batch of five records at offsets 3 to 7 that says it is compressed and is not, good records before and behind it.
async fn with_a_damaged_batch(cluster: &Cluster, topic: &str) -> Vec<u8> {
    const GZIP: i16 = 1;
    cluster.values(topic, 0, ["good", "good", "good"]).await;
    let damaged = BatchWriter::new().record(None, Some(b"x"), vec![]).last_offset_delta(4).attributes(GZIP).build();
    assert_eq!(cluster.broker().append_raw(topic, 0, damaged.clone()).unwrap(), 3);
    cluster.values(topic, 0, ["good", "good"]).await;
    damaged.to_vec()
}

fn noting(journal: &Journal) -> impl Fn(String, Delivery) -> std::future::Ready<Result<(), Failure>> + Clone + use<> {
    let journal = journal.clone();
    move |_, delivery| {
        journal.note(&delivery);
        std::future::ready(Ok(()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_batch_is_dead_lettered_as_it_is_and_passed() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("damaged", 1).await, cluster.name("damaged"));
    let raw = with_a_damaged_batch(&cluster, &topic).await;
    let journal = Journal::default();
    let builder = cluster.consumer(&group).dead_letter_topics(DeadLetterTopics::per_category());
    let builder = builder.corrupt_batches(CorruptBatches::Quarantine);
    let consumer = builder.topic(&topic, Utf8, handler_fn(noting(&journal))).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 10).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert_eq!(journal.of(0), [(0, 1), (1, 1), (2, 1), (8, 1), (9, 1)]);

    let letters = cluster.dead_letters(&format!("{topic}.dlq.poison")).await;
    let [letter] = &letters[..] else { panic!("{} dead letters", letters.len()) };
    assert_eq!((letter.origin.offset.unwrap(), letter.category.as_str()), (3, "poison"));
    // Where it stands and which leader wrote it is the broker's to say: those bytes are none of the producer's.
    let value = letter.value.as_deref().unwrap();
    assert_eq!((value.len(), &value[16..]), (raw.len(), &raw[16..]));
    let message = &letter.message;
    assert!(message.contains("offsets 3 to 7"), "{message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_to_stop_at_a_damaged_batch_commits_nothing_of_it() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("damaged", 1).await, cluster.name("damaged"));
    with_a_damaged_batch(&cluster, &topic).await;
    let journal = Journal::default();
    let builder = cluster.consumer(&group).corrupt_batches(CorruptBatches::Stop);
    let consumer = builder.topic(&topic, Utf8, handler_fn(noting(&journal))).start().await.unwrap();
    let halted = soon("the damage stops the consumer", consumer.run_until(std::future::pending::<()>())).await;
    let Err(ConsumerError::Halted { reason, summary }) = halted else { panic!("{halted:?}") };
    assert!(reason.contains(&format!("offsets 3 to 7 of {topic}/0")) && reason.contains("policy"), "{reason}");
    assert!(summary.committed && summary.dropped.is_empty(), "{summary:?}");
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(3));
    assert_eq!(journal.of(0), [(0, 1), (1, 1), (2, 1)]);
}

/// Transaction markers and gaps that compaction left hold no record, and nothing up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markers_and_compacted_gaps_are_passed() {
    let cluster = Cluster::embedded().await;
    let broker = cluster.broker();
    let (topic, group) = (cluster.topic("gaps", 1).await, cluster.name("gaps"));
    let append = |batch: BatchWriter| broker.append_raw(&topic, 0, batch.build()).unwrap();
    let record = |batch: BatchWriter| batch.record(None, Some(b"good"), vec![Header::new("trace", "1")]);
    append(BatchWriter::new().last_offset_delta(4));
    append(record(BatchWriter::new().producer(7, 0, 0).transactional()));
    append(BatchWriter::marker(7, 0, true));
    broker.leave_gap(&topic, 0, 20).unwrap();
    append(record(record(BatchWriter::new())).last_offset_delta(9));
    append(BatchWriter::marker(7, 0, true));
    append(BatchWriter::new().last_offset_delta(99));
    append(record(BatchWriter::new()));
    let last = broker.end_offset(&topic, 0).unwrap() - 1;
    let journal = Journal::default();
    let handler = {
        let journal = journal.clone();
        handler_fn(move |_: Record, delivery: Delivery| {
            journal.note(&delivery);
            async { Ok::<(), Failure>(()) }
        })
    };
    let consumer = cluster.consumer(&group).topic(&topic, Raw, handler).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, last + 1).await;
    assert_eq!(journal.of(0), [(5, 1), (27, 1), (28, 1), (last, 1)]);
    // Behind the last record as well: the watermark passes what holds none.
    append(BatchWriter::marker(7, 0, true));
    cluster.until_committed(&group, &topic, 0, last + 2).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_to_stop_leaves_the_record_uncommitted_for_the_next_start() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("stops", 2).await, cluster.name("stops"));
    cluster.values(&topic, 0, ["good", "bad", "good"]).await;
    cluster.values(&topic, 1, ["panic"]).await;
    let mended = Arc::new(AtomicBool::new(false));
    let handler = {
        let mended = Arc::clone(&mended);
        handler_fn(move |text: String, _: Delivery| {
            let mended = mended.load(Ordering::SeqCst);
            async move {
                match text.as_str() {
                    "bad" if !mended => Err(Failure::validation("an order must have items")),
                    "panic" if !mended => panic!("out of luck"),
                    _ => Ok(()),
                }
            }
        })
    };
    let (validation, poison) = (Category::Validation, Category::Poison);
    let policies = |stop, skip| {
        let policies = hasty().with(stop, |policy| policy.action(Action::Stop));
        policies.with(skip, |policy| policy.action(Action::Skip))
    };
    for (stop, skip, left) in [(validation, poison, "0/1"), (poison, validation, "1/0")] {
        let builder = cluster.consumer(&group).policies(policies(stop, skip));
        let partition = if stop == validation { 0 } else { 1 };
        let options = bezoar::consumer::TopicOptions::new().partitions([partition]);
        let consumer = builder.topic_with(&topic, options, Utf8, handler.clone()).start().await.unwrap();
        let halted = soon("the policy stops the consumer", consumer.run_until(std::future::pending::<()>())).await;
        let Err(ConsumerError::Halted { reason, summary }) = halted else { panic!("{halted:?}") };
        assert!(reason.contains(&format!("{topic}/{left}")) && reason.contains("policy"), "{reason}");
        assert!(summary.committed && summary.dropped.is_empty(), "{summary:?}");
    }
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(1));
    assert_eq!(cluster.committed(&group, &topic, 1).await, Some(0));
    mended.store(true, Ordering::SeqCst);
    let consumer = cluster.consumer(&group).topic(&topic, Utf8, handler).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 3).await;
    cluster.until_committed(&group, &topic, 1, 1).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_to_skip_passes_the_record_and_says_so() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("skips", 1).await, cluster.name("skips"));
    cluster.values(&topic, 0, ["good", "bad", "panic", "good"]).await;
    let handler = handler_fn(|text: String, _: Delivery| async move {
        match text.as_str() {
            "bad" => Err(Failure::validation("an order must have items")),
            "panic" => panic!("out of luck"),
            _ => Ok(()),
        }
    });
    let builder = cluster.consumer(&group).policies(hasty().with_each(|_, policy| policy.action(Action::Skip)));
    let mut events = builder.events();
    let consumer = builder.topic(&topic, Utf8, handler).start().await.unwrap();
    for skipped in [(1, Category::Validation), (2, Category::Poison)] {
        let found = event(&mut events, "a record is skipped", |event| match event {
            Event::Skipped { record, category, .. } => Some((record.offset, *category)),
            _ => None,
        });
        assert_eq!(found.await, skipped);
    }
    cluster.until_committed(&group, &topic, 0, 4).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    let found = cluster.ports.admin.topics(vec![format!("{topic}.dlq")]).await.unwrap();
    assert_eq!(found, [None], "a topic was made that no policy uses");
}

/// A wait that the handler asks for counts against the retries, so that it cannot go on for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_asked_for_by_the_handler_are_counted() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("asks", 1).await, cluster.name("asks"));
    cluster.values(&topic, 0, ["bad", "good"]).await;
    let journal = Journal::default();
    let handler = {
        let journal = journal.clone();
        handler_fn(move |text: String, delivery: Delivery| {
            journal.note(&delivery);
            let failure = || Failure::dependency("inventory").retry_after(Duration::from_millis(2));
            async move { if text == "bad" { Err(failure()) } else { Ok(()) } }
        })
    };
    let builder = cluster.consumer(&group);
    let mut events = builder.events();
    let consumer = builder.topic(&topic, Utf8, handler).start().await.unwrap();
    let retrying = event(&mut events, "a retry", |event| match event {
        Event::Retrying { attempt, max_attempts, backoff, category, .. } => {
            Some((*attempt, *max_attempts, *backoff, *category))
        }
        _ => None,
    });
    assert_eq!(retrying.await, (1, 11, Duration::from_millis(2), Category::Dependency));
    eventually("the partition goes on", async || journal.len() == 12).await;
    let attempts: Vec<_> = (1..=11).map(|attempt| (0, attempt)).chain([(1, 1)]).collect();
    assert_eq!(journal.of(0), attempts);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    let letters = cluster.dead_letters(&format!("{topic}.dlq")).await;
    assert_eq!(letters.iter().map(|letter| letter.attempts).collect::<Vec<_>>(), [Some(11)]);
}
