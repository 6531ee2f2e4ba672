use std::time::Duration;

use bezoar::broker::CommittedOffset;
use bezoar::embedded::Broker;
use bezoar::record::TopicPartition;
use bezoar::{Consumer, Delivery, Failure, Utf8, handler_fn};

use super::fixture::metadata;
use crate::membership::{Kind, Membership};
use crate::support::{Client, eventually, hasty};

/// What a group's offsets carried before, they carry after: a note that this version does not know is not this version's to
/// remove.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_metadata_of_committed_offsets_stays_what_it_was() {
    for kind in [Kind::Sticky, Kind::Consumer] {
        for found in [metadata(), "a note of another version".to_owned()] {
            let broker = Broker::start().await.unwrap();
            broker.create_topic("orders", 1).unwrap();
            let client = Client::connect(&broker.bootstrap()).await;
            client.values("orders", 0, ["one", "two", "three"]).await;
            let partition = TopicPartition::new("orders", 0);
            let committed = CommittedOffset { metadata: found.clone(), ..CommittedOffset::new(partition, 1) };
            client.ports.offsets.commit("fulfilment".to_owned(), vec![committed]).await.unwrap()[0].clone().unwrap();

            let handler = handler_fn(|_: String, _: Delivery| async { Ok::<(), Failure>(()) });
            let builder = Consumer::builder("fulfilment")
                .bootstrap(&client.bootstrap)
                .policies(hasty())
                .commit_interval(Duration::from_millis(20))
                .topic("orders", Utf8, handler);
            let membership = Membership::of(kind, Duration::from_secs(6));
            let consumer = membership.apply(builder).start().await.unwrap();
            eventually("all is committed", async || broker.committed("fulfilment", "orders", 0) == Some(3)).await;
            consumer.shutdown().await.unwrap();
            assert_eq!(broker.committed_metadata("fulfilment", "orders", 0), Some(found), "{kind:?}");
        }
    }
}
