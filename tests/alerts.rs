//! What the user on call gets to see: alerts as the policies ask for them, holds that name the right place, backtraces of
//! their own code.

use std::time::Duration;

use bezoar::broker::{ConnectionSettings, ErrorCode};
use bezoar::embedded::{Api, Broker, Fault};
use bezoar::policy::{Action, Category, DeadLetterTopics, Policies};
use bezoar::producer::Producer;
use bezoar::record::{ProducerRecord, TopicPartition};
use bezoar::{Consumer, Delivery, Event, EventStream, Failure, Utf8, handler_fn};

async fn broker(partitions: i32) -> Broker {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", partitions).unwrap();
    broker
}

async fn produce(broker: &Broker, partition: i32) {
    let producer = Producer::connect(ConnectionSettings::new([broker.bootstrap()])).await.unwrap();
    producer.send(ProducerRecord::to("orders").partition(partition).value("x")).await.unwrap();
}

/// The first event that `wanted` takes.
async fn next<T>(events: &mut EventStream, wanted: impl Fn(Event) -> Option<T>) -> T {
    let search = async {
        loop {
            if let Some(found) = wanted(events.next().await.unwrap()) {
                return found;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), search).await.expect("the event comes")
}

fn alert(event: Event) -> Option<(Category, bool)> {
    match event {
        Event::Alert { category, page, .. } => Some((category, page)),
        _ => None,
    }
}

async fn first_alert(action: Action) -> (Category, bool) {
    let broker = broker(1).await;
    produce(&broker, 0).await;
    let builder = Consumer::builder("alerts")
        .bootstrap(&broker.bootstrap())
        // `page` without `alert` pages all the same.
        .policies(Policies::default().with(Category::Validation, |policy| policy.action(action).page(true)))
        .topic("orders", Utf8, handler_fn(|_: String, _: Delivery| async { Err::<(), _>(Failure::validation("bad")) }));
    let mut events = builder.events();
    let consumer = builder.start().await.unwrap();
    let found = next(&mut events, alert).await;
    // A policy to stop ends the consumer with an error, as it should.
    assert_eq!(consumer.shutdown().await.is_err(), action == Action::Stop);
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_an_alert_whatever_follows_from_the_failure() {
    for action in [Action::DeadLetter, Action::Skip, Action::Stop] {
        assert_eq!(first_alert(action).await, (Category::Validation, true), "{action:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holding_and_releasing_name_the_same_partition() {
    let broker = broker(4).await;
    broker.create_topic("orders.dlq", 1).unwrap();
    produce(&broker, 3).await;
    broker.inject(Fault::on(Api::Produce).topic("orders.dlq").times(2).error(ErrorCode(29)));
    let builder = Consumer::builder("holds")
        .bootstrap(&broker.bootstrap())
        .dead_letter_topics(DeadLetterTopics::single())
        .topic("orders", Utf8, handler_fn(|_: String, _: Delivery| async { Err::<(), _>(Failure::validation("bad")) }));
    let mut events = builder.events();
    let consumer = builder.start().await.unwrap();
    let held = next(&mut events, |event| match event {
        Event::Held { dead_letter, .. } => Some(dead_letter),
        _ => None,
    });
    assert_eq!(held.await, TopicPartition::new("orders.dlq", 0));
    let released = next(&mut events, |event| match event {
        Event::Released { dead_letter } => Some(dead_letter),
        _ => None,
    });
    assert_eq!(released.await, TopicPartition::new("orders.dlq", 0));
    consumer.shutdown().await.unwrap();
}

#[inline(never)]
fn reserve_the_last_piece(text: &str) {
    assert!(text.is_empty(), "nothing left");
}

/// It began below the user's frames, at the thread's own start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_backtrace_of_a_panic_shows_the_users_code_and_little_else() {
    let broker = broker(1).await;
    produce(&broker, 0).await;
    let consumer = Consumer::builder("backtraces")
        .bootstrap(&broker.bootstrap())
        .topic(
            "orders",
            Utf8,
            handler_fn(|text: String, _: Delivery| async move {
                reserve_the_last_piece(&text);
                Ok::<(), Failure>(())
            }),
        )
        .start()
        .await
        .unwrap();
    consumer.caught_up().await;
    consumer.shutdown().await.unwrap();
    let letter = &broker.records("orders.dlq.poison", 0).unwrap()[0];
    let header = letter.headers.iter().find(|header| header.name == "bezoar.error.backtrace").unwrap();
    let text = String::from_utf8(header.value.clone().unwrap().to_vec()).unwrap();
    assert!(text.contains("reserve_the_last_piece"), "{text}");
    for machinery in ["rust_begin_unwind", "bezoar::isolation", "tokio::runtime"] {
        assert!(!text.contains(machinery), "{machinery} is in {text}");
    }
}
