//! Members of groups to which unlikely things happen.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::consumer::{Assignment, GroupProtocol, OffsetReset};
use bezoar::embedded::Broker;
use bezoar::record::Record;
use bezoar::{Delivery, Event, Failure, Raw, handler_fn};
use tokio::time::sleep;

use crate::support::{Cluster, Journal, event, eventually, soon};

/// With KIP-848 a topic that is created anew has partitions of its own, which the coordinator may have given to another
/// member before the owner of the old ones hears of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_of_a_topic_created_anew_are_processed_by_whom_they_are_assigned_to_alone() {
    let cluster = Cluster::of(Broker::builder().consumer_heartbeat_interval(Duration::from_secs(1))).await;
    let group = cluster.name("anew");
    let mut topics = Vec::new();
    for number in 0..8 {
        topics.push(cluster.topic(&format!("anew{number}"), 1).await);
    }
    for topic in &topics {
        cluster.values(topic, 0, ["old"]).await;
    }
    let handled: Arc<Mutex<Vec<(String, i64)>>> = Arc::default();
    let mut consumers = Vec::new();
    for _ in 0..2 {
        let noted = Arc::clone(&handled);
        let handler = handler_fn(move |record: Record, delivery: Delivery| {
            let handled = Arc::clone(&noted);
            async move {
                if record.value() == Some(b"new") {
                    handled.lock().unwrap().push((delivery.topic().to_owned(), delivery.offset()));
                    sleep(Duration::from_millis(20)).await;
                }
                Ok::<(), Failure>(())
            }
        });
        let pattern = "anew[0-9]-.*";
        let builder = cluster
            .consumer(&group)
            .assignment(Assignment::Group)
            .group_protocol(GroupProtocol::Consumer)
            .topic_pattern(pattern, Raw, handler);
        consumers.push(builder.start().await.unwrap());
    }
    eventually("both have partitions", async || {
        let mut each = Vec::new();
        for consumer in &consumers {
            each.push(consumer.partitions().await.len());
        }
        each == [4, 4]
    })
    .await;
    for topic in &topics {
        cluster.until_committed(&group, topic, 0, 1).await;
    }
    for topic in &topics {
        cluster.broker().recreate_topic(topic).unwrap();
        cluster.values(topic, 0, ["new"; 50]).await;
    }
    for topic in &topics {
        cluster.until_committed(&group, topic, 0, 50).await;
    }
    for consumer in consumers {
        soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    }
    let handled = handled.lock().unwrap();
    let each: BTreeSet<_> = handled.iter().collect();
    assert_eq!((each.len(), handled.len()), (topics.len() * 50, topics.len() * 50), "each record was handled once");
}

/// Where the policy is to skip what is there, it is not to skip what came since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_was_gone_for_a_while_is_read_from_its_start() {
    for protocol in [GroupProtocol::Classic, GroupProtocol::Consumer] {
        let cluster = Cluster::of(Broker::builder().consumer_heartbeat_interval(Duration::from_millis(100))).await;
        let (topic, group) = (cluster.topic("gone", 1).await, cluster.name("gone"));
        cluster.values(&topic, 0, ["skipped"]).await;
        let journal = Journal::default();
        let noted = journal.clone();
        let handler = handler_fn(move |_: Record, delivery: Delivery| {
            noted.note(&delivery);
            async { Ok::<(), Failure>(()) }
        });
        let builder = cluster
            .consumer(&group)
            .assignment(Assignment::Group)
            .group_protocol(protocol)
            .topic_refresh(Duration::from_millis(500))
            .offset_reset(OffsetReset::Latest)
            .topic(&topic, Raw, handler);
        let mut events = builder.events();
        let consumer = builder.start().await.unwrap();
        event(&mut events, "it is assigned", |event| matches!(event, Event::Assigned { .. }).then_some(())).await;
        cluster.until_committed(&group, &topic, 0, 1).await;
        cluster.broker().delete_topic(&topic).unwrap();
        event(&mut events, "it is given up", |event| matches!(event, Event::Revoked { .. }).then_some(())).await;
        cluster.broker().create_topic(&topic, 1).unwrap();
        cluster.values(&topic, 0, ["new"; 3]).await;
        cluster.until_committed(&group, &topic, 0, 3).await;
        assert_eq!(journal.of(0), [(0, 1), (1, 1), (2, 1)], "{protocol:?}");
        soon("the consumer shuts down", consumer.shutdown()).await.unwrap();
    }
}
