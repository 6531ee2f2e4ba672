//! Promise 3 again: what holds a partition on purpose is visible and loses nothing.

use std::time::Duration;

use bezoar::broker::{ErrorCode, NewTopic};
use bezoar::dead_letter::Rung;
use bezoar::embedded::{Api, Fault};
use bezoar::record::{Header, ProducerRecord, TopicPartition};
use bezoar::replay::Fidelity;
use bezoar::{Delivery, Event, Failure, HandlerFactory, Utf8, handler_fn};

use crate::support::{Cluster, Journal, event, eventually, soon};

/// Refuses what says "bad".
pub(crate) fn picky(journal: &Journal) -> impl HandlerFactory<Handler: bezoar::Handler<Message = String>> {
    let journal = journal.clone();
    handler_fn(move |text: String, delivery: Delivery| {
        journal.note(&delivery);
        async move { if text.starts_with("bad") { Err(Failure::validation("never")) } else { Ok(()) } }
    })
}

/// No dead letter can be published: its record is not passed by any commit, the partition goes on within its bound, and
/// all of it is told; afterwards everything is settled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_that_cannot_be_published_are_held_and_released() {
    for (unacknowledged, delivered) in [(0, vec![0, 1]), (2, vec![0, 1, 2, 3, 4, 5]), (256, (0..8).collect())] {
        let cluster = Cluster::embedded().await;
        let (topic, group) = (cluster.topic("held", 1).await, cluster.name("held"));
        let (dead_letters, journal) = (format!("{topic}.dlq"), Journal::default());
        cluster.values(&topic, 0, ["good", "bad", "good", "bad", "good", "bad", "good", "good"]).await;
        let refused = Fault::on(Api::Produce).topic(&dead_letters).forever().error(ErrorCode(19));
        let refused = cluster.broker().inject(refused);
        let builder = cluster.consumer(&group).max_unacknowledged_dead_letters(unacknowledged);
        let builder = builder.request_timeout(Duration::from_millis(300));
        let mut events = builder.events();
        let consumer = builder.topic(&topic, Utf8, picky(&journal)).start().await.unwrap();
        let held = event(&mut events, "a dead letter is held", |event| match event {
            Event::Held { dead_letter, reason, .. } => Some((dead_letter.clone(), reason.clone())),
            _ => None,
        });
        let (held, reason) = held.await;
        assert_eq!(held, TopicPartition::new(dead_letters.as_str(), 0));
        assert!(reason.contains("NOT_ENOUGH_REPLICAS"), "{reason}");
        eventually("the partition goes on to its bound", async || journal.len() == delivered.len()).await;
        cluster.until_committed(&group, &topic, 0, 1).await;
        assert_eq!(journal.of(0).iter().map(|(offset, _)| *offset).collect::<Vec<i64>>(), delivered);
        refused.remove();
        event(&mut events, "it is released", |event| matches!(event, Event::Released { .. }).then_some(())).await;
        cluster.until_committed(&group, &topic, 0, 8).await;
        let letters = cluster.dead_letters(&dead_letters).await;
        assert_eq!(letters.iter().map(|letter| letter.origin.offset.unwrap()).collect::<Vec<_>>(), [1, 3, 5]);
        soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    }
}

/// A shutdown while dead letters cannot be published ends at its deadline, says so, and commits nothing past them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_while_dead_letters_are_held_leaves_their_records_for_later() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("leaving", 1).await, cluster.name("leaving"));
    let (dead_letters, journal) = (format!("{topic}.dlq"), Journal::default());
    cluster.values(&topic, 0, ["good", "bad", "good"]).await;
    let refused = Fault::on(Api::Produce).topic(&dead_letters).forever().error(ErrorCode(19));
    let refused = cluster.broker().inject(refused);
    let builder = cluster.consumer(&group).request_timeout(Duration::from_millis(300));
    let builder = builder.drain_timeout(Duration::from_millis(200));
    let consumer = builder.topic(&topic, Utf8, picky(&journal)).start().await.unwrap();
    eventually("all records are delivered", async || journal.len() == 3).await;
    let summary = soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert_eq!((summary.unacknowledged, summary.partitions[0].watermark, summary.partitions[0].gaps), (1, 1, 1));
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(1));
    refused.remove();
    let consumer = cluster.consumer(&group).topic(&topic, Utf8, picky(&journal)).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 3).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    assert!(cluster.dead_letters(&dead_letters).await.iter().all(|letter| letter.origin.offset.unwrap() == 1));
}

/// A dead-letter topic that somebody deletes is made anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_topic_that_was_deleted_is_made_anew() {
    let cluster = Cluster::embedded().await;
    let (topic, group) = (cluster.topic("deleted", 1).await, cluster.name("deleted"));
    let consumer = cluster.consumer(&group).topic(&topic, Utf8, picky(&Journal::default())).start().await.unwrap();
    cluster.values(&topic, 0, ["bad"]).await;
    cluster.until_committed(&group, &topic, 0, 1).await;
    cluster.broker().delete_topic(&format!("{topic}.dlq")).unwrap();
    cluster.values(&topic, 0, ["bad", "good"]).await;
    cluster.until_committed(&group, &topic, 0, 3).await;
    assert_eq!(cluster.dead_letters(&format!("{topic}.dlq")).await.len(), 1);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}

/// What the broker refuses for good is published with less and less, each time flagged, and at last the context alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_refused_for_good_walks_down_the_ladder() {
    let rungs = [
        (Rung::WithoutValue, "value"),
        (Rung::WithoutUserHeaders, "headers"),
        (Rung::KeyAndContext, "value,headers"),
        (Rung::ContextOnly, "key,value,headers,backtrace"),
    ];
    for (times, (rung, flag)) in (1..).zip(rungs) {
        let cluster = Cluster::embedded().await;
        let (topic, group) = (cluster.topic("ladder", 1).await, cluster.name("ladder"));
        let dead_letters = format!("{topic}.dlq");
        let record = |value: &str| ProducerRecord::to("").key("key").value(value.to_owned()).header("trace", "1");
        cluster.append(&topic, 0, vec![record("bad"), record("good")]).await;
        let too_large = Fault::on(Api::Produce).topic(&dead_letters).times(times).error(ErrorCode::MESSAGE_TOO_LARGE);
        cluster.broker().inject(too_large);
        let consumer = cluster.consumer(&group).topic(&topic, Utf8, picky(&Journal::default())).start().await.unwrap();
        cluster.until_committed(&group, &topic, 0, 2).await;
        soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
        let letters = cluster.dead_letters(&dead_letters).await;
        assert_eq!(letters.len(), 1);
        let letter = &letters[0];
        assert_eq!((letter.fidelity, letter.origin.offset), (Fidelity::Reduced(rung), Some(0)));
        assert_eq!(letter.key.is_some(), rung.keeps_key());
        assert_eq!(letter.value.is_some(), rung.keeps_value());
        assert_eq!(letter.headers.contains(&Header::new("trace", "1")), rung.keeps_headers());
        let flagged = cluster.read(&dead_letters).await[0].headers().text("bezoar.truncated").map(str::to_owned);
        assert_eq!(flagged.as_deref(), Some(flag));
    }
}

/// One record too large for the dead-letter topic: the others of its batch go whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_dead_letter_that_is_too_large_is_published_with_less() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("large", 1).await, cluster.name("large"));
    let dead_letters = format!("{topic}.dlq");
    cluster.create(NewTopic::new(&dead_letters, 1).replication(1).config("max.message.bytes", "20000")).await;
    let values = ["bad".to_owned(), format!("bad{}", "x".repeat(30_000)), "bad, too".to_owned(), "good".to_owned()];
    cluster.values(&topic, 0, &values).await;
    let consumer = cluster.consumer(&group).topic(&topic, Utf8, picky(&Journal::default())).start().await.unwrap();
    cluster.until_committed(&group, &topic, 0, 4).await;
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    let letters = cluster.dead_letters(&dead_letters).await;
    let found: Vec<_> = letters.iter().map(|letter| (letter.origin.offset.unwrap(), letter.fidelity)).collect();
    assert_eq!(found, [(0, Fidelity::Exact), (1, Fidelity::Reduced(Rung::WithoutValue)), (2, Fidelity::Exact)]);
}

/// An offset that is gone from the log makes the partition start anew: not before its dead letters are acknowledged, since
/// a commit of the new offset passes their records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_waits_for_the_dead_letters_before_it() {
    let cluster = Cluster::embedded().await;
    let (broker, topic, group) = (cluster.broker(), cluster.topic("passed", 1).await, cluster.name("passed"));
    let journal = Journal::default();
    cluster.values(&topic, 0, ["bad", "good"]).await;
    let refused = Fault::on(Api::Produce).topic(format!("{topic}.dlq")).forever().error(ErrorCode(19));
    let refused = broker.inject(refused);
    let builder = cluster.consumer(&group).request_timeout(Duration::from_millis(300));
    let mut events = builder.events();
    let consumer = builder.topic(&topic, Utf8, picky(&journal)).start().await.unwrap();
    eventually("both records are delivered", async || journal.len() == 2).await;
    let unreadable = broker.inject(Fault::on(Api::Fetch).topic(&topic).forever().error(ErrorCode(6)));
    soon("the fetch is broken", unreadable.wait_fired(1)).await;
    cluster.values(&topic, 0, ["gone", "gone", "gone", "good"]).await;
    broker.delete_records_before(&topic, 0, 5).unwrap();
    let asked = broker.requests(Api::ListOffsets);
    unreadable.remove();
    // The reader asks for both ends of the log before it reports.
    eventually("the reader is out of range", async || broker.requests(Api::ListOffsets) >= asked + 2).await;
    soon("the dead letter is refused again", refused.wait_fired(refused.fired() + 2)).await;
    assert_eq!(cluster.committed(&group, &topic, 0).await, Some(0));
    refused.remove();
    let mut dead_lettered = false;
    loop {
        match event(&mut events, "the partition starts anew", |event| Some(event.clone())).await {
            Event::DeadLettered { record, .. } => dead_lettered |= record.offset == 0,
            Event::OffsetReset { to, .. } => {
                assert!(dead_lettered, "reset to {to} before the dead letter was acknowledged");
                break;
            }
            _ => {}
        }
    }
    cluster.until_committed(&group, &topic, 0, 6).await;
    assert_eq!(journal.of(0), [(0, 1), (1, 1), (5, 1)]);
    soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
}
