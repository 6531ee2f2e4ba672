//! Pauses and states.

use std::time::Duration;

use bezoar::Event;
use bezoar::consumer::PartitionState;
use bezoar::embedded::Broker;

use super::support::{Handled, LIMIT, consumer, partition, send, until};

#[tokio::test]
async fn a_paused_partition_waits_and_the_others_go_on() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    let handled = Handled::default();
    let consumer = consumer(&broker, &handled).await;
    let mut events = consumer.events();
    let (first, other) = (partition("orders", 0), partition("refunds", 0));
    assert_eq!(consumer.pause([first.clone(), other.clone()]).await, [other]);
    for number in [0, 1] {
        send(&broker, "orders", number, 3).await;
    }
    handled.reached("orders", 1, 3).await;
    // As long as it would take to be wrong, as a rule; never too short to be right.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(handled.count("orders", 0), 0);
    let states: Vec<_> = consumer.partitions().await.into_iter().map(|it| (it.paused, it.state)).collect();
    assert_eq!(states, [(true, PartitionState::Paused), (false, PartitionState::Running)]);

    assert_eq!(consumer.resume([first.clone()]).await, []);
    handled.reached("orders", 0, 3).await;
    let mut told = Vec::new();
    while let Some(event) = events.try_next() {
        if matches!(event, Event::Paused { .. } | Event::Resumed { .. }) {
            told.push(event);
        }
    }
    assert_eq!(told, [Event::Paused { partition: first.clone() }, Event::Resumed { partition: first }]);
    consumer.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_paused_consumer_stays_a_member_and_takes_nothing_until_it_is_resumed() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    let handled = Handled::default();
    let consumer = consumer(&broker, &handled).await;
    consumer.pause_all().await;
    send(&broker, "orders", 1, 2).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(handled.count("orders", 1), 0);
    assert_eq!(consumer.partitions().await.len(), 2);
    // The whole consumer's pause and a partition's own are two things.
    consumer.resume([partition("orders", 1)]).await;
    assert!(consumer.partitions().await.iter().all(|it| it.paused));
    consumer.resume_all().await;
    handled.reached("orders", 1, 2).await;
    consumer.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_snapshot_says_where_partitions_stand() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    send(&broker, "orders", 1, 5).await;
    let handled = Handled::default();
    let consumer = consumer(&broker, &handled).await;
    handled.reached("orders", 1, 5).await;
    until("all is committed and the ends of the logs are known", async || {
        let partitions = consumer.partitions().await;
        let settled = partitions.iter().map(|it| (it.position, it.watermark, it.committed, it.lag));
        settled.eq([(0, 0, 0, Some(0)), (5, 5, 5, Some(0))])
    })
    .await;
    // With the consumer itself, what it says ends.
    let caught_up = consumer.caught_up();
    consumer.shutdown().await.unwrap();
    tokio::time::timeout(LIMIT, caught_up).await.unwrap();
}

/// Each instance waits for its own partitions only, whatever the other has left.
#[tokio::test]
async fn instances_share_the_partitions_and_catch_up_each_for_itself() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 4).unwrap();
    let (one, two) = (Handled::default(), Handled::default());
    let (a, b) = (consumer(&broker, &one).await, consumer(&broker, &two).await);
    until("each has half", async || a.partitions().await.len() == 2 && b.partitions().await.len() == 2).await;
    b.pause_all().await;
    for number in 0..4 {
        send(&broker, "orders", number, 3).await;
    }
    tokio::time::timeout(LIMIT, a.caught_up()).await.unwrap();
    let count = |handled: &Handled| (0..4).map(|number| handled.count("orders", number)).sum::<usize>();
    assert_eq!((count(&one), count(&two)), (6, 0));
    b.resume_all().await;
    tokio::time::timeout(LIMIT, b.caught_up()).await.unwrap();
    assert_eq!((count(&one), count(&two)), (6, 6));
    let left = b.shutdown().await.unwrap();
    assert!(left.committed && left.dropped.is_empty(), "{left:?}");
    until("what the one had, the other takes over", async || a.partitions().await.len() == 4).await;
    a.shutdown().await.unwrap();
}
