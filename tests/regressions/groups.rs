//! Members of groups to which unlikely things happen.

use std::time::Duration;

use bezoar::consumer::{Assignment, GroupProtocol, OffsetReset};
use bezoar::embedded::Broker;
use bezoar::record::Record;
use bezoar::{Delivery, Event, Failure, Raw, handler_fn};

use crate::support::{Cluster, Journal, event, soon};

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
