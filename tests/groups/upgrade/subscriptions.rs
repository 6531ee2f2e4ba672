//! Both versions in one classic group, each as the leader: the test plays the member of version 1, by the bytes of the fixtures.
//! The topic is `orders` with two partitions; a subscription is that of a new member (`fresh`), or of one that was assigned both
//! partitions in generation 1 and joins again (`again`).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::embedded::Broker;
use bezoar::{Consumer, Delivery, Failure, Utf8, handler_fn};
use bytes::Bytes;

use super::fixture::{bytes, hex};
use super::script::{Scripted, Written};
use crate::membership::{Kind, Membership};
use crate::support::{Client, eventually, hasty};

struct Group {
    broker: Broker,
    client: Client,
    kind: Kind,
    assignor: &'static str,
    written: Written,
    handled: Arc<Mutex<BTreeSet<(i32, String)>>>,
}

impl Group {
    async fn new(kind: Kind) -> Self {
        let broker = Broker::start().await.unwrap();
        broker.create_topic("orders", 2).unwrap();
        let client = Client::connect(&broker.bootstrap()).await;
        let assignor = if kind == Kind::Sticky { "cooperative-sticky" } else { "range" };
        Self { broker, client, kind, assignor, written: Written::default(), handled: Arc::default() }
    }

    fn fixture(&self, what: &str) -> Bytes {
        bytes(&format!("subscription_{}_{what}.hex", self.kind.name()))
    }

    /// A member of version 1.
    fn version_1(&self) -> Scripted {
        Scripted::new(&self.client.ports, "fulfilment", self.assignor, self.fixture("fresh"))
    }

    /// A member of this version.
    async fn today(&self) -> Consumer {
        let handled = Arc::clone(&self.handled);
        let handler = handler_fn(move |value: String, delivery: Delivery| {
            handled.lock().unwrap().insert((delivery.partition(), value));
            async { Ok::<(), Failure>(()) }
        });
        let builder = Consumer::builder("fulfilment")
            .ports(self.written.over(self.client.ports.clone()))
            .policies(hasty())
            .topic("orders", Utf8, handler);
        Membership::of(self.kind, Duration::from_secs(6)).apply(builder).start().await.unwrap()
    }

    /// Waits until what is produced to these partitions now was handled by the member of this version.
    async fn handles(&self, partitions: &[i32], value: &str) {
        for partition in partitions {
            self.client.values("orders", *partition, [value]).await;
        }
        eventually(&format!("{value} is handled from {partitions:?}"), async || {
            let handled = self.handled.lock().unwrap();
            partitions.iter().all(|partition| handled.contains(&(*partition, value.to_owned())))
        })
        .await;
    }

    /// Checks that the member of this version wrote this subscription.
    fn assert_written(&self, what: &str) {
        let written: Vec<String> = self.written.subscriptions().iter().map(|bytes| hex(bytes)).collect();
        let expected = hex(&self.fixture(what));
        assert!(written.contains(&expected), "{:?}, {what}: version 1 writes {expected}, not {written:#?}", self.kind);
    }
}

fn assignment(partition: i32) -> Bytes {
    bytes(&format!("assignment_{partition}.hex"))
}

/// How many topics an assignment names: after its version.
fn topics(assignment: &[u8]) -> i32 {
    i32::from_be_bytes(assignment[2..6].try_into().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_of_version_1_joins_a_group_that_this_version_leads() {
    for kind in [Kind::Sticky, Kind::Range] {
        let group = Group::new(kind).await;
        let today = group.today().await;
        group.handles(&[0, 1], "alone").await;

        let mut old = group.version_1();
        let assigned = loop {
            let answer = old.join().await;
            assert_ne!(answer.leader, old.id(), "it joined a leader");
            if let Some(assignment) = old.sync(Vec::new()).await
                && topics(&assignment) > 0
            {
                break assignment;
            }
            old.until_called().await;
        };
        let theirs = (0..2).find(|partition| assignment(*partition) == assigned);
        let theirs = theirs.unwrap_or_else(|| panic!("{kind:?}: {} is no assignment of version 1", hex(&assigned)));
        assert!(group.written.assignments().contains(&assignment(1 - theirs)), "{kind:?}");
        group.handles(&[1 - theirs], "together").await;
        group.assert_written("fresh");
        group.assert_written("again");
        today.shutdown().await.unwrap();
        drop(group.broker);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_of_this_version_joins_a_group_that_version_1_leads() {
    for kind in [Kind::Sticky, Kind::Range] {
        let group = Group::new(kind).await;
        let mut old = group.version_1();
        let answer = old.join().await;
        assert_eq!(answer.leader, old.id());
        // It takes one of the two, and leaves the other for who comes.
        assert!(old.sync(vec![(old.id().to_owned(), assignment(0))]).await.is_some());

        let ((), today) = tokio::join!(old.until_called(), group.today());
        let answer = old.join().await;
        let others: Vec<_> = answer.members.iter().filter(|member| member.member_id != old.id()).collect();
        assert_eq!(others.len(), 1, "{kind:?}");
        assert_eq!(hex(&others[0].subscription), hex(&group.fixture("fresh")), "{kind:?}");
        let assignments = vec![(old.id().to_owned(), assignment(0)), (others[0].member_id.clone(), assignment(1))];
        assert_eq!(old.sync(assignments).await, Some(assignment(0)), "{kind:?}");
        group.handles(&[1], "together").await;
        assert!(group.handled.lock().unwrap().iter().all(|(partition, _)| *partition == 1), "{kind:?}");
        let positions = today.positions().await;
        assert_eq!(positions.iter().map(|each| each.partition.partition()).collect::<Vec<_>>(), [1], "{kind:?}");
        today.shutdown().await.unwrap();
        drop(group.broker);
    }
}
