//! Groups that Bezoar shares with members of other clients: partitions move both ways, and no record is missed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::{Consumer, Delivery, Failure, Utf8, handler_fn};
use tokio::time::{Instant, sleep};

use crate::foreign::{Foreign, Maker};
use crate::membership::{Kind, Membership};
use crate::place::Place;
use crate::support::{Client, SOON, eventually, hasty, turn};

const PARTITIONS: i32 = 4;
const SESSION: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_move_to_and_from_the_java_client_when_all_are_sticky() {
    share(Kind::Sticky, Maker::java).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_move_to_and_from_the_java_client_by_range() {
    share(Kind::Range, Maker::java).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_move_to_and_from_the_java_client_by_roundrobin() {
    share(Kind::RoundRobin, Maker::java).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_move_to_and_from_the_java_client_over_the_consumer_protocol() {
    share(Kind::Consumer, Maker::java).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_move_to_and_from_librdkafka_when_all_are_sticky() {
    share(Kind::Sticky, |_| Maker::librdkafka()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_move_to_and_from_librdkafka_by_range() {
    share(Kind::Range, |_| Maker::librdkafka()).await;
}

/// Bezoar is there first, another client joins and leaves; the other is there first, Bezoar joins and the other leaves.
async fn share(kind: Kind, maker: impl Fn(&Client) -> Option<Maker>) {
    let _turn = turn().await;
    let place = Place::find(SESSION).await;
    let client = Client::connect(&place.bootstrap()).await;
    let Some(maker) = maker(&client) else { return };
    let name = format!("mixed-{}", kind.name());
    let (topic, group) = (client.topic(&name, PARTITIONS).await, client.name(&name));
    // The broker's own would do; that of KIP-848 is shorter here only to be quick.
    if kind == Kind::Consumer && !place.set_session(&group, SESSION).await {
        return;
    }
    let mut shared = Shared { client, topic, group, kind, seen: Seen::default(), next: 0, foreign: BTreeSet::new() };

    let ours = shared.start().await;
    shared.is_divided(PARTITIONS, None).await;
    let theirs = maker.join(&shared.client, &shared.group, &shared.topic, kind);
    shared.is_divided(PARTITIONS / 2, Some(&theirs)).await;
    shared.foreign.extend(theirs.leave().await);
    shared.is_divided(PARTITIONS, None).await;

    let theirs = maker.join(&shared.client, &shared.group, &shared.topic, kind);
    shared.is_divided(PARTITIONS / 2, Some(&theirs)).await;
    ours.shutdown().await.unwrap();
    shared.is_divided(0, Some(&theirs)).await;

    let ours = shared.start().await;
    shared.is_divided(PARTITIONS / 2, Some(&theirs)).await;
    shared.foreign.extend(theirs.leave().await);
    shared.is_divided(PARTITIONS, None).await;
    ours.shutdown().await.unwrap();

    let all: BTreeSet<(i32, String)> = shared.seen.all().union(&shared.foreign).cloned().collect();
    let produced: BTreeSet<(i32, String)> = shared.produced().collect();
    assert_eq!(all, produced, "what was seen is what was produced");
}

/// What Bezoar's handlers saw: partition and value.
#[derive(Debug, Clone, Default)]
struct Seen(Arc<Mutex<BTreeSet<(i32, String)>>>);

impl Seen {
    fn all(&self) -> BTreeSet<(i32, String)> {
        self.0.lock().unwrap().clone()
    }
}

struct Shared {
    client: Client,
    topic: String,
    group: String,
    kind: Kind,
    seen: Seen,
    /// The number of the next record.
    next: i64,
    /// What members that have left saw.
    foreign: BTreeSet<(i32, String)>,
}

impl Shared {
    /// Starts a member of ours.
    async fn start(&self) -> Consumer {
        let seen = self.seen.clone();
        let handler = handler_fn(move |value: String, delivery: Delivery| {
            seen.0.lock().unwrap().insert((delivery.partition(), value));
            async { Ok::<(), Failure>(()) }
        });
        let builder = Consumer::builder(&self.group)
            .bootstrap(&self.client.bootstrap)
            .policies(hasty())
            .commit_interval(Duration::from_millis(200))
            .client_id("ours")
            .topic(&self.topic, Utf8, handler);
        Membership::of(self.kind, SESSION).apply(builder).start().await.unwrap()
    }

    /// One record for each partition; their numbers are their values.
    async fn produce(&mut self) -> Vec<(i32, String)> {
        let number = self.next;
        self.next += 1;
        for partition in 0..PARTITIONS {
            self.client.values(&self.topic, partition, [number]).await;
        }
        (0..PARTITIONS).map(|partition| (partition, number.to_string())).collect()
    }

    fn produced(&self) -> impl Iterator<Item = (i32, String)> {
        (0..self.next).flat_map(|number| (0..PARTITIONS).map(move |partition| (partition, number.to_string())))
    }

    /// Waits until we have so many partitions, and the others the rest, as the coordinator says; then records reach those who
    /// have their partitions.
    async fn is_divided(&mut self, ours: i32, theirs: Option<&Foreign>) {
        let deadline = Instant::now() + SOON;
        let owners = loop {
            // Records come all the time, so that moves are under load.
            self.produce().await;
            let owners = self.owners().await;
            let own = owners.values().filter(|owner| *owner == "ours").count();
            if owners.len() as i32 == PARTITIONS && own as i32 == ours {
                break owners;
            }
            let told = theirs.map(Foreign::told).unwrap_or_default();
            assert!(
                Instant::now() < deadline,
                "{ours} partitions are to be ours: {owners:?}; the other client: {told}"
            );
            sleep(Duration::from_millis(100)).await;
        };
        let records = self.produce().await;
        let what = format!("records reach {owners:?}");
        eventually(&what, async || {
            let (own, foreign) = (self.seen.all(), theirs.map(Foreign::seen).unwrap_or_default());
            records.iter().all(|record| match owners[&record.0].as_str() {
                "ours" => own.contains(record),
                _ => foreign.contains(record),
            })
        })
        .await;
    }

    /// Who has each partition, by client id, once the group is stable; empty before.
    async fn owners(&self) -> BTreeMap<i32, String> {
        let Ok(group) = self.client.ports.admin.describe_group(self.group.clone()).await else {
            return BTreeMap::new();
        };
        if group.state != "Stable" {
            return BTreeMap::new();
        }
        let of = |member: bezoar::broker::GroupMember| {
            let client = member.client_id;
            member.assignment.into_iter().map(move |partition| (partition.partition(), client.clone()))
        };
        group.members.into_iter().flat_map(of).collect()
    }
}
