//! ConsumerGroupHeartbeat (KIP-848).

use std::collections::BTreeSet;
use std::time::Duration;

use bezoar::broker::{BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode, MemberIdentity};
use uuid::Uuid;

use super::{code, commit, member, membership};
use crate::fixture::{Fixture, eventually, unique};

/// A member that acts by hand.
struct Member<'a> {
    fixture: &'a Fixture,
    group: String,
    topic: String,
    identity: MemberIdentity,
    /// The partitions assigned last, and those that the coordinator was told are owned.
    assigned: BTreeSet<i32>,
    owned: BTreeSet<i32>,
}

impl<'a> Member<'a> {
    fn new(fixture: &'a Fixture, group: &str, topic: &str, instance_id: Option<&str>) -> Self {
        let identity = MemberIdentity { instance_id: instance_id.map(str::to_owned), ..member(&new_id(), 0) };
        let (group, topic) = (group.to_owned(), topic.to_owned());
        Self { fixture, group, topic, identity, assigned: BTreeSet::new(), owned: BTreeSet::new() }
    }

    fn plain(&self) -> ConsumerHeartbeat {
        ConsumerHeartbeat {
            group: self.group.clone(),
            member: self.identity.clone(),
            rack: None,
            rebalance_timeout: None,
            topics: None,
            server_assignor: None,
            owned: None,
        }
    }

    async fn send(&mut self, heartbeat: ConsumerHeartbeat) -> Result<ConsumerHeartbeatAnswer, BrokerError> {
        let answer = membership(self.fixture).consumer_heartbeat(heartbeat).await?;
        assert_eq!(answer.member_id, self.identity.member_id);
        self.identity.epoch = answer.member_epoch;
        if let Some(assignment) = &answer.assignment {
            self.assigned = assignment.iter().flat_map(|(_, partitions)| partitions.iter().copied()).collect();
        }
        Ok(answer)
    }

    async fn join(&mut self) -> Result<ConsumerHeartbeatAnswer, BrokerError> {
        self.identity.epoch = 0;
        let heartbeat = ConsumerHeartbeat {
            rebalance_timeout: Some(Duration::from_secs(60)),
            topics: Some(vec![self.topic.clone()]),
            server_assignor: Some("uniform".to_owned()),
            owned: Some(Vec::new()),
            ..self.plain()
        };
        let answer = self.send(heartbeat).await?;
        assert!(answer.member_epoch > 0 && answer.interval > Duration::ZERO, "{answer:?}");
        Ok(answer)
    }

    /// Sends heartbeats, and takes over and gives up what it is told to, until it owns so many partitions.
    async fn until_it_owns(&mut self, count: usize) {
        let id = self.fixture.topic_id(&self.topic).await.unwrap();
        for _ in 0..600 {
            if self.owned == self.assigned && self.owned.len() == count {
                return;
            }
            let mut heartbeat = self.plain();
            if self.owned != self.assigned {
                self.owned = self.assigned.clone();
                heartbeat.owned = Some(owned(id, &self.owned));
            }
            self.send(heartbeat).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{count} partitions were waited for, {:?} assigned", self.assigned);
    }

    async fn leave(&mut self, epoch: i32) {
        let mut heartbeat = self.plain();
        heartbeat.member.epoch = epoch;
        self.send(heartbeat).await.unwrap();
        assert_eq!(self.identity.epoch, epoch);
    }
}

fn new_id() -> String {
    Uuid::new_v4().to_string()
}

fn owned(id: Uuid, partitions: &BTreeSet<i32>) -> Vec<(Uuid, Vec<i32>)> {
    if partitions.is_empty() { Vec::new() } else { vec![(id, partitions.iter().copied().collect())] }
}

pub(crate) async fn the_newer_protocol_is_offered(fixture: &Fixture) {
    let port = membership(fixture);
    eventually("the coordinator is there", async || port.offers_consumer_protocol(unique("group")).await == Ok(true))
        .await;
}

/// The first to join waits until the group has a coordinator.
async fn first<'a>(fixture: &'a Fixture, group: &str, topic: &str, instance_id: Option<&str>) -> Member<'a> {
    the_newer_protocol_is_offered(fixture).await;
    let mut member = Member::new(fixture, group, topic, instance_id);
    member.join().await.unwrap();
    member
}

pub(crate) async fn partitions_move_between_members_by_heartbeats_alone(fixture: &Fixture) {
    let (topic, group) = (fixture.topic(2).await, unique("group"));
    let mut one = first(fixture, &group, &topic, None).await;
    one.until_it_owns(2).await;
    let store = &*fixture.ports.offsets;
    commit(store, &group, &topic, one.identity.clone()).await.unwrap();

    let mut other = Member::new(fixture, &group, &topic, None);
    other.join().await.unwrap();
    assert_eq!(other.assigned, BTreeSet::new(), "nothing is free before the first gives something up");
    one.until_it_owns(1).await;
    other.until_it_owns(1).await;
    assert!(one.owned.is_disjoint(&other.owned), "{:?} and {:?}", one.owned, other.owned);
    for member in [&one, &other] {
        commit(store, &group, &topic, member.identity.clone()).await.unwrap();
    }

    other.leave(-1).await;
    assert_eq!(code(commit(store, &group, &topic, other.identity).await), ErrorCode::UNKNOWN_MEMBER_ID);
    one.until_it_owns(2).await;
    one.leave(-1).await;
}

pub(crate) async fn members_with_another_epoch_are_told_by_codes(fixture: &Fixture) {
    let (topic, group) = (fixture.topic(1).await, unique("group"));
    let mut one = first(fixture, &group, &topic, None).await;
    one.until_it_owns(1).await;
    let (store, port, epoch) = (&*fixture.ports.offsets, membership(fixture), one.identity.epoch);
    let with = |member_id: &str, epoch| ConsumerHeartbeat { member: member(member_id, epoch), ..one.plain() };
    let id = &one.identity.member_id;
    assert_eq!(code(port.consumer_heartbeat(with(id, epoch + 5)).await), ErrorCode::FENCED_MEMBER_EPOCH);
    let stranger = new_id();
    assert_eq!(code(port.consumer_heartbeat(with(&stranger, epoch)).await), ErrorCode::UNKNOWN_MEMBER_ID);
    let committed = commit(store, &group, &topic, member(id, epoch + 5)).await;
    assert_eq!(code(committed), ErrorCode::STALE_MEMBER_EPOCH);
    let committed = commit(store, &group, &topic, member(&stranger, epoch)).await;
    assert_eq!(code(committed), ErrorCode::UNKNOWN_MEMBER_ID);
    let unheard_of = ConsumerHeartbeat { server_assignor: Some("unheard-of".to_owned()), ..with(id, epoch) };
    assert_eq!(code(port.consumer_heartbeat(unheard_of).await), ErrorCode::UNSUPPORTED_ASSIGNOR);
    commit(store, &group, &topic, one.identity.clone()).await.unwrap();
    one.leave(-1).await;
}

pub(crate) async fn a_static_member_comes_back_to_its_partitions(fixture: &Fixture) {
    let (topic, group) = (fixture.topic(2).await, unique("group"));
    let mut before = first(fixture, &group, &topic, Some("one")).await;
    before.until_it_owns(2).await;
    let mut after = Member::new(fixture, &group, &topic, Some("one"));
    assert_eq!(code(after.join().await), ErrorCode::UNRELEASED_INSTANCE_ID);
    before.leave(-2).await;

    // Nobody else gets what it left behind for a while.
    let mut other = Member::new(fixture, &group, &topic, Some("two"));
    other.join().await.unwrap();
    assert_eq!(other.assigned, BTreeSet::new());
    after.join().await.unwrap();
    after.until_it_owns(1).await;
    other.until_it_owns(1).await;
    assert!(after.owned.is_disjoint(&other.owned));

    let old = code(commit(&*fixture.ports.offsets, &group, &topic, before.identity).await);
    assert!(old.is_fenced(), "{old}");
    other.leave(-1).await;
    after.leave(-1).await;
}
