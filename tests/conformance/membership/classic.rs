//! JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

use bezoar::broker::{CommittedOffset, ErrorCode, JoinAnswer, MemberIdentity, SyncGroup};
use bytes::Bytes;

use super::{code, commit, joining, member, membership, subscription};
use crate::fixture::{Fixture, eventually, partition, unique};

/// The id that a new member is given before it may join.
async fn named(fixture: &Fixture, group: &str, topic: &str) -> String {
    let refused = membership(fixture).join(joining(group, topic, member("", -1))).await.unwrap();
    let id = refused.expect_err("an id is given first");
    assert!(!id.is_empty());
    id
}

/// The request that a member with that answer syncs with; a leader gives each member its id as its assignment.
fn syncing(group: &str, answer: &JoinAnswer) -> SyncGroup {
    let assigned = |id: &String| (id.clone(), Bytes::from(id.clone()));
    SyncGroup {
        group: group.to_owned(),
        member: member(&answer.member_id, answer.generation),
        protocol: answer.protocol.clone(),
        assignments: answer.members.iter().map(|member| assigned(&member.member_id)).collect(),
    }
}

/// The only member of a new group.
pub(super) async fn joined_alone(fixture: &Fixture, group: &str, topic: &str) -> MemberIdentity {
    let port = membership(fixture);
    let id = named(fixture, group, topic).await;
    let answer = port.join(joining(group, topic, member(&id, -1))).await.unwrap().unwrap();
    assert_eq!((answer.generation, &answer.member_id, &answer.leader), (1, &id, &id));
    assert_eq!((answer.protocol.as_str(), answer.skip_assignment), ("range", false));
    assert_eq!(answer.members.len(), 1);
    assert_eq!(answer.members[0].subscription, subscription(topic));
    assert_eq!(port.sync(syncing(group, &answer)).await.unwrap(), id);
    member(&id, 1)
}

/// How the members of a group are refused a heartbeat that must join anew.
async fn rebalances(fixture: &Fixture, group: &str, member: &MemberIdentity) {
    eventually("the group rebalances", async || {
        match membership(fixture).heartbeat(group.to_owned(), member.clone()).await {
            Ok(()) => false,
            Err(error) => {
                assert_eq!(error.code(), Some(ErrorCode::REBALANCE_IN_PROGRESS), "{error}");
                true
            }
        }
    })
    .await;
}

pub(crate) async fn a_classic_group_is_joined_divided_and_left(fixture: &Fixture) {
    let (topic, group, port) = (fixture.topic(2).await, unique("group"), membership(fixture));
    let first = joined_alone(fixture, &group, &topic).await;
    port.heartbeat(group.clone(), first.clone()).await.unwrap();

    // The second waits for the first, whose heartbeats and whose joining must not wait behind it.
    let second = named(fixture, &group, &topic).await;
    let second = tokio::spawn(port.join(joining(&group, &topic, member(&second, -1))));
    rebalances(fixture, &group, &first).await;
    assert!(!second.is_finished());
    let first = port.join(joining(&group, &topic, member(&first.member_id, -1))).await.unwrap().unwrap();
    let second = second.await.unwrap().unwrap().unwrap();
    assert_eq!((first.generation, second.generation), (2, 2));
    assert_eq!(first.leader, second.leader);
    let (leader, follower) = if first.leader == first.member_id { (first, second) } else { (second, first) };
    assert_eq!((leader.members.len(), follower.members.len()), (2, 0));
    assert!(leader.members.iter().all(|member| member.subscription == subscription(&topic)));

    // The follower waits for what the leader assigns, and may commit meanwhile only once that is there.
    let waiting = tokio::spawn(port.sync(syncing(&group, &follower)));
    let store = &*fixture.ports.offsets;
    let (one, other) = (member(&leader.member_id, 2), member(&follower.member_id, 2));
    assert_eq!(code(commit(store, &group, &topic, other.clone()).await), ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(port.sync(syncing(&group, &leader)).await.unwrap(), leader.member_id);
    assert_eq!(waiting.await.unwrap().unwrap(), follower.member_id);
    commit(store, &group, &topic, other.clone()).await.unwrap();

    port.leave(group.clone(), other, "the test ends".to_owned()).await.unwrap();
    rebalances(fixture, &group, &one).await;
    port.leave(group.clone(), one, "the test ends".to_owned()).await.unwrap();
    let found = store.fetch(group, vec![partition(&topic, 0)]).await.unwrap();
    assert_eq!(found, [Some(CommittedOffset::new(partition(&topic, 0), 1))]);
}

pub(crate) async fn classic_members_that_the_group_went_on_without_are_told_by_codes(fixture: &Fixture) {
    let (topic, group, port) = (fixture.topic(1).await, unique("group"), membership(fixture));
    let joined = joined_alone(fixture, &group, &topic).await;
    let store = &*fixture.ports.offsets;
    let cases = [
        (member(&joined.member_id, 7), ErrorCode::ILLEGAL_GENERATION),
        (member("nobody", 1), ErrorCode::UNKNOWN_MEMBER_ID),
    ];
    for (asking, expected) in cases {
        assert_eq!(code(port.heartbeat(group.clone(), asking.clone()).await), expected);
        assert_eq!(code(commit(store, &group, &topic, asking.clone()).await), expected);
        assert!(expected.is_fenced());
        let answer = JoinAnswer {
            generation: asking.epoch,
            protocol: "range".to_owned(),
            leader: String::new(),
            member_id: asking.member_id.clone(),
            skip_assignment: false,
            members: Vec::new(),
        };
        assert_eq!(code(port.sync(syncing(&group, &answer)).await), expected);
    }
    let stranger = port.leave(group.clone(), member("nobody", 1), String::new()).await;
    assert_eq!(code(stranger), ErrorCode::UNKNOWN_MEMBER_ID);

    // Who is not a member may not commit while there are some.
    let offset = CommittedOffset::new(partition(&topic, 0), 5);
    let committed = store.commit(group.clone(), vec![offset]).await.unwrap().remove(0);
    assert_eq!(code(committed), ErrorCode::UNKNOWN_MEMBER_ID);

    let mut short = joining(&group, &topic, member("", -1));
    short.session_timeout = std::time::Duration::from_millis(1);
    assert_eq!(code(port.join(short).await), ErrorCode::INVALID_SESSION_TIMEOUT);
    let mut other = joining(&group, &topic, member("", -1));
    other.protocols = vec![("unheard-of".to_owned(), Bytes::new())];
    assert_eq!(code(port.join(other).await), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);

    commit(store, &group, &topic, joined.clone()).await.unwrap();
    port.leave(group.clone(), joined.clone(), "done".to_owned()).await.unwrap();
    assert_eq!(code(port.heartbeat(group.clone(), joined).await), ErrorCode::UNKNOWN_MEMBER_ID);
}

pub(crate) async fn a_static_classic_member_takes_its_predecessors_place(fixture: &Fixture) {
    let (topic, group, port) = (fixture.topic(1).await, unique("group"), membership(fixture));
    let as_static = |id: &str, epoch| MemberIdentity { instance_id: Some("one".to_owned()), ..member(id, epoch) };
    let before = port.join(joining(&group, &topic, as_static("", -1))).await.unwrap().expect("no id is asked for");
    assert_eq!(before.members[0].instance_id.as_deref(), Some("one"));
    let sync = SyncGroup { member: as_static(&before.member_id, 1), ..syncing(&group, &before) };
    assert_eq!(port.sync(sync).await.unwrap(), before.member_id);

    let after = port.join(joining(&group, &topic, as_static("", -1))).await.unwrap().unwrap();
    assert_ne!(after.member_id, before.member_id);
    assert_eq!(after.generation, 1, "without a rebalance");
    let sync = SyncGroup { member: as_static(&after.member_id, 1), assignments: Vec::new(), ..syncing(&group, &after) };
    assert_eq!(port.sync(sync).await.unwrap(), before.member_id, "what its predecessor had");

    let (old, new) = (as_static(&before.member_id, 1), as_static(&after.member_id, 1));
    assert_eq!(code(port.heartbeat(group.clone(), old.clone()).await), ErrorCode::FENCED_INSTANCE_ID);
    let store = &*fixture.ports.offsets;
    assert_eq!(code(commit(store, &group, &topic, old).await), ErrorCode::FENCED_INSTANCE_ID);
    commit(store, &group, &topic, new.clone()).await.unwrap();
    port.heartbeat(group.clone(), new.clone()).await.unwrap();
    port.leave(group, new, "done".to_owned()).await.unwrap();
}
