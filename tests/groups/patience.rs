//! A handler that takes longer than the session, by waiting or by blocking its thread, costs no membership.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::consumer::Isolation;
use bezoar::{Consumer, Delivery, Event, Failure, Utf8, handler_fn};

use crate::membership::{Kind, Membership};
use crate::place::Place;
use crate::support::{Client, eventually, hasty, turn};

const PARTITIONS: i32 = 2;
/// On a real broker and on the embedded one: as short as a busy machine allows.
const SESSION: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_handler_of_a_classic_member_keeps_its_partitions() {
    keep(Kind::Sticky).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_handler_of_an_eager_member_keeps_its_partitions() {
    keep(Kind::Range).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_handler_over_the_consumer_protocol_keeps_its_partitions() {
    keep(Kind::Consumer).await;
}

/// One member, whose handlers of partition 0 wait for three sessions and whose handlers of partition 1 block as long.
async fn keep(kind: Kind) {
    let _turn = turn().await;
    let place = Place::find(SESSION).await;
    let client = Client::connect(&place.bootstrap()).await;
    let (topic, group) = (client.topic("patience", PARTITIONS).await, client.name("patience"));
    if kind == Kind::Consumer && !place.set_session(&group, SESSION).await {
        return;
    }
    for partition in 0..PARTITIONS {
        client.values(&topic, partition, ["slow", "quick"]).await;
    }
    let handled: Arc<Mutex<Vec<(i32, i64)>>> = Arc::default();
    let seen = Arc::clone(&handled);
    let handler = handler_fn(move |value: String, delivery: Delivery| {
        let seen = Arc::clone(&seen);
        async move {
            match (value.as_str(), delivery.partition()) {
                ("slow", 0) => tokio::time::sleep(SESSION * 3).await,
                ("slow", _) => std::thread::sleep(SESSION * 3),
                _ => {}
            }
            seen.lock().unwrap().push((delivery.partition(), delivery.offset()));
            Ok::<(), Failure>(())
        }
    });
    let builder = Consumer::builder(&group)
        .bootstrap(&client.bootstrap)
        .policies(hasty())
        .isolation(Isolation::Lanes(2))
        .poison_timeout(None)
        .commit_interval(Duration::from_millis(100))
        .topic(&topic, Utf8, handler);
    let builder = Membership::of(kind, SESSION).apply(builder);
    let mut events = builder.events();
    let consumer = builder.start().await.unwrap();
    eventually("all is committed", async || {
        client.committed(&group, &topic, PARTITIONS).await == Some(vec![Some(2); PARTITIONS as usize])
    })
    .await;
    consumer.shutdown().await.unwrap();

    let handled = handled.lock().unwrap().clone();
    let each: BTreeSet<(i32, i64)> = handled.iter().copied().collect();
    assert_eq!((handled.len(), each.len()), (4, 4), "each record was handled once: {handled:?}");
    let mut assigned = 0;
    while let Some(event) = events.next().await {
        match event {
            Event::Assigned { .. } => assigned += 1,
            Event::Lost { .. } => panic!("{event:?}"),
            _ => {}
        }
    }
    assert_eq!(assigned, PARTITIONS, "each partition was assigned once");
}
