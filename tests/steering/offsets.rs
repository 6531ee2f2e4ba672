//! Seeking, and where partitions start.

use std::time::{Duration, SystemTime};

use bezoar::broker::{CommittedOffset, ConnectionSettings, Plane};
use bezoar::consumer::{Assignment, OffsetReset, SeekError, SeekTo};
use bezoar::embedded::Broker;
use bezoar::{ConsumerError, Event, Utf8};

use super::support::{Handled, LIMIT, builder, consumer, partition, send, until};

#[tokio::test]
async fn a_partition_goes_on_where_it_is_told_to() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 2).unwrap();
    send(&broker, "orders", 0, 6).await;
    let handled = Handled::default();
    let consumer = consumer(&broker, &handled).await;
    let mut events = consumer.events();
    let orders = partition("orders", 0);

    assert_eq!(consumer.seek(orders.clone(), SeekTo::Offset(4)).await, Ok(4));
    handled.reached("orders", 0, 6 + 2).await;
    assert_eq!(consumer.seek(orders.clone(), SeekTo::Earliest).await, Ok(0));
    handled.reached("orders", 0, 6 + 2 + 6).await;
    let mut sought = Vec::new();
    while let Some(event) = events.try_next() {
        if let Event::Sought { partition, from, to } = event {
            sought.push((partition, from, to));
        }
    }
    assert_eq!(sought, [(orders.clone(), 6, 4), (orders.clone(), 6, 0)]);

    let beyond = consumer.seek(orders, SeekTo::Offset(7)).await;
    assert!(matches!(beyond, Err(SeekError::OutOfRange { asked: 7, log_start: 0, log_end: 6, .. })), "{beyond:?}");
    let other = consumer.seek(partition("refunds", 0), SeekTo::Latest).await;
    assert_eq!(other, Err(SeekError::NotAssigned { partition: partition("refunds", 0) }));
    until("the partition has settled what it went back for", async || {
        consumer.positions().await.iter().any(|it| it.watermark == 6)
    })
    .await;
    consumer.shutdown().await.unwrap();
}

#[tokio::test]
async fn without_a_committed_offset_a_time_or_an_age_says_where_to_start() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let (now, hour) = (i64::try_from(now).unwrap(), Duration::from_secs(3600));
    for (policy, expected) in [
        (OffsetReset::Timestamp(now), 3),
        (OffsetReset::Timestamp(now + 3_600_000), 0),
        (OffsetReset::Ago(hour), 3),
        (OffsetReset::Ago(Duration::from_millis(1)), 0),
    ] {
        for assignment in [Assignment::Group, Assignment::Manual] {
            let broker = Broker::start().await.unwrap();
            broker.create_topic("orders", 1).unwrap();
            send(&broker, "orders", 0, 3).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            let handled = Handled::default();
            let builder = builder(&broker).assignment(assignment).offset_reset(policy);
            let mut events = builder.events();
            let consumer = builder.topic("orders", Utf8, handled.handler()).start().await.unwrap();
            tokio::time::timeout(LIMIT, consumer.caught_up()).await.unwrap();
            assert_eq!(handled.count("orders", 0), expected, "{policy:?} {assignment:?}");
            let start = async {
                loop {
                    if let Some(Event::Assigned { offset, reset, .. }) = events.next().await {
                        return (offset, reset);
                    }
                }
            };
            assert_eq!(start.await, (3 - i64::try_from(expected).unwrap(), true));
            consumer.shutdown().await.unwrap();
        }
    }
}

#[tokio::test]
async fn where_nothing_is_to_be_chosen_the_error_says_what_there_is() {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", 1).unwrap();
    send(&broker, "orders", 0, 3).await;
    let start = async |assignment| {
        let builder = builder(&broker).assignment(assignment).offset_reset(OffsetReset::None);
        builder.topic("orders", Utf8, Handled::default().handler()).start().await
    };
    for assignment in [Assignment::Group, Assignment::Manual] {
        let error = start(assignment).await.map(drop).unwrap_err().to_string();
        assert!(error.contains("orders/0 (none is committed; the log holds 0 to 3, exclusive)"), "{error}");
    }

    let ports = Plane::Native.connect(ConnectionSettings::new([broker.bootstrap()])).await.unwrap();
    let committed = vec![CommittedOffset::new(partition("orders", 0), 9)];
    ports.offsets.commit("fulfilment".to_owned(), committed).await.unwrap().remove(0).unwrap();
    for assignment in [Assignment::Group, Assignment::Manual] {
        let consumer = start(assignment).await.unwrap();
        // It stops by itself once it has looked.
        let ended = tokio::time::timeout(LIMIT, consumer.run_until(std::future::pending::<()>())).await.unwrap();
        let Err(ConsumerError::Halted { reason, .. }) = ended else { panic!("{ended:?}") };
        assert!(reason.contains("orders/0 (9 is committed; the log holds 0 to 3, exclusive)"), "{reason}");
    }
}
