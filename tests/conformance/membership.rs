//! Membership in groups by hand, request by request, over either protocol.

mod classic;
mod modern;

use std::time::Duration;

use bezoar::broker::{BrokerError, CommittedOffset, ErrorCode, JoinGroup, MemberIdentity, Membership, OffsetStore};
use bezoar::embedded::{Api, Fault};
use bytes::Bytes;

pub(crate) use self::classic::{
    a_classic_group_is_joined_divided_and_left, a_static_classic_member_takes_its_predecessors_place,
    classic_members_that_the_group_went_on_without_are_told_by_codes,
};
pub(crate) use self::modern::{
    a_static_member_comes_back_to_its_partitions, members_with_another_epoch_are_told_by_codes,
    partitions_move_between_members_by_heartbeats_alone, the_newer_protocol_is_offered,
};
use crate::fixture::{Fixture, partition, unique};

const NOT_COORDINATOR: ErrorCode = ErrorCode(16);

fn membership(fixture: &Fixture) -> &dyn Membership {
    fixture.ports.membership.as_deref().expect("the adapter has it")
}

fn member(id: &str, epoch: i32) -> MemberIdentity {
    MemberIdentity { member_id: id.to_owned(), epoch, instance_id: None }
}

/// The subscription of Java's consumer to one topic, in version 0 of its format.
fn subscription(topic: &str) -> Bytes {
    let mut bytes = vec![0, 0, 0, 0, 0, 1];
    bytes.extend(u16::try_from(topic.len()).unwrap().to_be_bytes());
    bytes.extend(topic.as_bytes());
    bytes.extend([0xff; 4]);
    bytes.into()
}

fn joining(group: &str, topic: &str, member: MemberIdentity) -> JoinGroup {
    JoinGroup {
        group: group.to_owned(),
        member,
        session_timeout: Duration::from_secs(30),
        rebalance_timeout: Duration::from_secs(60),
        protocols: vec![("range".to_owned(), subscription(topic)), ("roundrobin".to_owned(), subscription(topic))],
        reason: Some("a test".to_owned()),
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, BrokerError>) -> ErrorCode {
    let error = result.unwrap_err();
    error.code().unwrap_or_else(|| panic!("without a code: {error}"))
}

/// What comes of committing an offset as a member.
async fn commit(store: &dyn OffsetStore, group: &str, topic: &str, member: MemberIdentity) -> Result<(), BrokerError> {
    let offset = CommittedOffset::new(partition(topic, 0), 1);
    let mut results = store.commit_as(group.to_owned(), member, vec![offset]).await.unwrap();
    assert_eq!(results.len(), 1);
    results.remove(0)
}

pub(crate) async fn embedded_an_error_about_the_coordinator_is_told_and_then_it_is_looked_for(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let (topic, group) = (fixture.topic(1).await, unique("group"));
    let member = classic::joined_alone(fixture, &group, &topic).await;
    let heartbeat = || membership(fixture).heartbeat(group.clone(), member.clone());
    heartbeat().await.unwrap();
    let (found, asked) = (broker.requests(Api::FindCoordinator), broker.requests(Api::Heartbeat));
    let refused = broker.inject(Fault::on(Api::Heartbeat).error(NOT_COORDINATOR));
    assert_eq!(code(heartbeat().await), NOT_COORDINATOR);
    assert_eq!((refused.fired(), broker.requests(Api::Heartbeat)), (1, asked + 1), "not repeated within");
    assert_eq!(broker.requests(Api::FindCoordinator), found);
    heartbeat().await.unwrap();
    assert_eq!(broker.requests(Api::FindCoordinator), found + 1, "looked for anew");
    // A connection that was lost may be one to a coordinator that is gone.
    broker.inject(Fault::on(Api::Heartbeat).drop_before_effect());
    let lost = heartbeat().await.unwrap_err();
    assert!(matches!(lost, BrokerError::Connection { .. }), "{lost}");
    heartbeat().await.unwrap();
    assert_eq!(broker.requests(Api::FindCoordinator), found + 2, "looked for anew");
}
