use std::time::Duration;

use bytes::Bytes;

use super::super::LEAVE;
use super::super::protocol::{Subscription, decode_assignment};
use super::settings;
use super::told::*;
use crate::broker::{ErrorCode, JoinAnswer, MemberIdentity};
use crate::group::machine::{Answer, Effect, Input, Machine, Request};
use crate::group::message::GroupNotice;
use crate::group::settings::Assignor;
use crate::record::TopicPartition;

#[test]
fn a_new_member_asks_for_its_id_and_joins_with_it() {
    let mut told = Told::new(Assignor::Range);
    assert_eq!(told.step(topics(&[])), []);
    assert_eq!(told.member.wake_at(), None);
    let first = join_in(&told.step(topics(&[("orders", 4, true)]))).unwrap();
    assert_eq!((first.member.member_id.as_str(), first.protocols.len()), ("", 1));
    let second = told.step(Input::Answered(Answer::Join(Ok(Err("me".to_owned())))));
    assert_eq!(join_in(&second).unwrap().member.member_id, "me");
    let joined = told.joined("other", 3, Vec::new());
    assert!(
        joined.iter().any(|effect| matches!(effect, Effect::Send(Request::Sync(sync)) if sync.assignments.is_empty()))
    );
    let effects = told.step(synced(&[0, 1]));
    let identity = MemberIdentity { member_id: "me".to_owned(), epoch: 3, instance_id: None };
    let ids = orders(&[0, 1]).into_iter().map(|partition| (partition, None)).collect();
    assert_eq!(
        notices(&effects),
        [
            GroupNotice::Identity(Some(identity.clone())),
            GroupNotice::Assigned(ids),
            GroupNotice::Joined { member: identity, protocol: "classic", assignor: "range".to_owned(), partitions: 2 },
        ]
    );
}

#[test]
fn an_eager_member_gives_everything_up_before_it_joins_and_heartbeats_go_on() {
    let mut told = settled(Assignor::Range);
    told.after(3_000, Input::Tick);
    let effects = told.step(beaten(ErrorCode::REBALANCE_IN_PROGRESS));
    assert_eq!(revoked(&effects), orders(&[0, 1]));
    assert_eq!(join_in(&effects), None);
    let beat = told.after(3_000, Input::Tick);
    assert!(beat.iter().any(|effect| matches!(effect, Effect::Send(Request::Heartbeat(_)))));
    assert_eq!(join_in(&told.step(Input::Released(orders(&[1])))), None);
    let join = join_in(&told.step(Input::Released(orders(&[0])))).unwrap();
    assert_eq!(Subscription::decode(&join.protocols[0].1).unwrap().owned, []);
}

#[test]
fn a_cooperative_member_keeps_what_stays_and_joins_again_when_the_rest_is_given_up() {
    let mut told = settled(Assignor::CooperativeSticky);
    told.after(3_000, Input::Tick);
    let join = join_in(&told.step(beaten(ErrorCode::REBALANCE_IN_PROGRESS))).unwrap();
    let said = Subscription::decode(&join.protocols[0].1).unwrap();
    assert_eq!((said.owned, said.generation), (orders(&[0, 1]), 3));
    let effects = told.settle(4, &[1, 2]);
    assert_eq!((revoked(&effects), assigned(&effects)), (orders(&[0]), orders(&[2])));
    assert_eq!(join_in(&effects), None);
    let join = join_in(&told.step(Input::Released(orders(&[0])))).unwrap();
    assert_eq!(Subscription::decode(&join.protocols[0].1).unwrap().owned, orders(&[1, 2]));
    let effects = told.settle(5, &[1, 2]);
    assert_eq!((revoked(&effects), assigned(&effects), join_in(&effects)), (Vec::new(), Vec::new(), None));
}

#[test]
fn a_leader_divides_and_a_member_that_it_cannot_read_gets_nothing() {
    let mut told = Told::new(Assignor::Range);
    told.step(topics(&[("orders", 4, true)]));
    let members = vec![
        member("me", wants(&["orders"])),
        member("other", wants(&["orders", "bills"])),
        member("rubbish", Bytes::from_static(b"\0\x01\x7f\xff\xff\xff")),
    ];
    let effects = told.joined("me", 1, members);
    assert_eq!(effects.last(), Some(&Effect::LookAtTopics(vec!["bills".to_owned()])));
    let effects = told.step(topics(&[("orders", 4, true), ("bills", 1, false)]));
    let shares = effects.iter().find_map(|effect| match effect {
        Effect::Send(Request::Sync(sync)) => Some(sync.assignments.clone()),
        _ => None,
    });
    let read = |(member, bytes): (String, Bytes)| (member, decode_assignment(&bytes).unwrap());
    let mut others = orders(&[2, 3]);
    others.insert(0, TopicPartition::new("bills", 0));
    assert_eq!(
        shares.unwrap().into_iter().map(read).collect::<Vec<_>>(),
        [("me".to_owned(), orders(&[0, 1])), ("other".to_owned(), others), ("rubbish".to_owned(), Vec::new())]
    );
    told.step(synced(&[0, 1]));
    // A topic that only another one subscribes to has grown: the leader has all join again.
    let effects = told.step(topics(&[("orders", 4, true), ("bills", 2, false)]));
    assert_eq!(revoked(&effects), orders(&[0, 1]));
}

#[test]
fn a_leader_without_metadata_divides_what_it_knows() {
    let mut told = Told::new(Assignor::Range);
    told.step(topics(&[("orders", 4, true)]));
    told.joined("me", 1, vec![member("me", wants(&["orders", "gone"]))]);
    assert_eq!(told.after(4_999, Input::Tick).len(), 1, "a heartbeat");
    let effects = told.after(1, Input::Tick);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Send(Request::Sync(_)))));
}

#[test]
fn a_returning_leader_leaves_the_assignment_as_it_is() {
    let mut told = Told::with(settings("i1"));
    told.step(topics(&[("orders", 4, true)]));
    let answer = JoinAnswer {
        generation: 8,
        protocol: "range".to_owned(),
        leader: "me".to_owned(),
        member_id: "me".to_owned(),
        skip_assignment: true,
        members: vec![member("me", wants(&["orders"]))],
    };
    let effects = told.step(Input::Answered(Answer::Join(Ok(Ok(answer)))));
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Send(Request::Sync(sync)) if sync.assignments.is_empty()))
    );
    // A static member does not say goodbye.
    told.step(synced(&[0]));
    assert_eq!(told.step(Input::Leave).last(), Some(&Effect::Left));
}

#[test]
fn no_followers_business_are_new_partitions() {
    let mut told = settled(Assignor::Range);
    assert_eq!(told.step(topics(&[("orders", 9, true)])), []);
    // Its own subscription is.
    assert_eq!(revoked(&told.step(topics(&[("orders", 9, true), ("bills", 1, true)]))), orders(&[0, 1]));
}

#[test]
fn the_lease_begins_when_a_request_is_sent_and_ends_everything() {
    let mut told = settled(Assignor::Range);
    told.after(3_000, Input::Tick);
    let until = told.now + Duration::from_secs(8);
    assert_eq!(told.after(2_000, Input::Answered(Answer::Heartbeat(Ok(())))), [Effect::Lease(until)]);
    // It is answered no more.
    told.now = until - Duration::from_millis(1);
    assert_eq!(lost(&told.step(Input::Tick)), []);
    told.now = until;
    let effects = told.step(Input::Tick);
    assert_eq!(effects[..2], [Effect::EndLease, Effect::Notice(GroupNotice::Identity(None))]);
    assert_eq!(lost(&effects), orders(&[0, 1]));
    assert_eq!(join_in(&effects).unwrap().member.member_id, "me");
}

#[test]
fn what_a_heartbeat_says_beside_a_join_under_way_fences_only_for_its_own_id() {
    let mut told = settled(Assignor::CooperativeSticky);
    told.after(3_000, Input::Tick);
    assert!(join_in(&told.step(beaten(ErrorCode::REBALANCE_IN_PROGRESS))).is_some());
    told.after(3_000, Input::Tick);
    assert_eq!(told.step(beaten(ErrorCode::ILLEGAL_GENERATION)), []);
    told.after(3_000, Input::Tick);
    let effects = told.step(beaten(ErrorCode::UNKNOWN_MEMBER_ID));
    assert_eq!(lost(&effects), orders(&[0, 1]));
    assert_eq!(join_in(&effects), None, "one is under way");
    let effects = told.step(Input::Answered(Answer::Join(Err(refused(ErrorCode::UNKNOWN_MEMBER_ID)))));
    assert_eq!(join_in(&effects).unwrap().member.member_id, "");
}

#[test]
fn a_fenced_member_drops_everything_and_joins_anew() {
    for (code, id) in [(ErrorCode::ILLEGAL_GENERATION, "me"), (ErrorCode::UNKNOWN_MEMBER_ID, "")] {
        let mut told = settled(Assignor::CooperativeSticky);
        told.after(3_000, Input::Tick);
        let effects = told.step(beaten(code));
        assert_eq!(lost(&effects), orders(&[0, 1]));
        let join = join_in(&effects).unwrap();
        assert_eq!(join.member.member_id, id);
        assert_eq!(Subscription::decode(&join.protocols[0].1).unwrap().owned, []);
    }
}

#[test]
fn a_refused_commit_is_checked_by_a_heartbeat_while_it_may_be_a_late_one() {
    let mut told = settled(Assignor::Range);
    let effects = told.step(Input::CommitRefused(ErrorCode::ILLEGAL_GENERATION));
    assert_eq!(effects, [heartbeat_of(&told)]);
    let mut told = settled(Assignor::Range);
    for _ in 0..4 {
        told.after(3_000, Input::Tick);
        told.step(Input::Answered(Answer::Heartbeat(Ok(()))));
    }
    let effects = told.step(Input::CommitRefused(ErrorCode::ILLEGAL_GENERATION));
    assert_eq!(lost(&effects), orders(&[0, 1]));
}

#[test]
fn an_error_that_stays_ends_the_membership_with_what_to_do() {
    let mut told = settled(Assignor::Range);
    told.after(3_000, Input::Tick);
    let effects = told.step(beaten(ErrorCode::GROUP_AUTHORIZATION_FAILED));
    assert_eq!(lost(&effects), orders(&[0, 1]));
    assert!(matches!(effects.last(), Some(Effect::Notice(GroupNotice::Failed(reason))) if reason.contains("grant")));
    assert_eq!(told.member.wake_at(), None);
    assert_eq!(told.step(Input::Leave), [Effect::Left]);
}

#[test]
fn trouble_is_told_once_and_tried_again_ever_more_slowly() {
    let mut told = Told::new(Assignor::Range);
    told.step(topics(&[("orders", 4, true)]));
    let mut waits = Vec::new();
    let mut tellings = 0;
    for _ in 0..12 {
        let error = refused(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        let effects = told.step(Input::Answered(Answer::Join(Err(error))));
        tellings += notices(&effects).len();
        let at = told.member.wake_at().unwrap();
        waits.push(at - told.now);
        told.now = at;
        assert!(join_in(&told.step(Input::Tick)).is_some());
    }
    assert_eq!(tellings, 1);
    assert!(waits[0] >= Duration::from_millis(50) && waits[0] <= Duration::from_millis(100), "{waits:?}");
    assert!(waits[11] >= Duration::from_millis(2_500) && waits[11] <= Duration::from_secs(5), "{waits:?}");
}

#[test]
fn a_goodbye_that_is_not_answered_ends_soon() {
    let mut told = settled(Assignor::Range);
    let effects = told.step(Input::Leave);
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Send(Request::Leave(member)) if member.member_id == "me"))
    );
    assert_eq!(told.member.wake_at(), Some(told.now + LEAVE));
    told.now += LEAVE;
    assert_eq!(told.step(Input::Tick), [Effect::Left]);
    assert_eq!(told.step(Input::Answered(Answer::Leave(Ok(())))), []);
}

#[test]
fn a_heartbeat_during_a_rebalance_counts_only_until_that_is_due_unless_the_join_has_arrived() {
    let mut told = settled(Assignor::Range);
    let begun = told.now;
    let mut last = begun;
    for _ in 0..30 {
        told.after(3_000, Input::Tick);
        for effect in told.step(beaten(ErrorCode::REBALANCE_IN_PROGRESS)) {
            if let Effect::Lease(until) = effect {
                last = until;
            }
        }
        if told.member.owned.is_empty() {
            break;
        }
    }
    assert_eq!(last, begun + told.member.settings.rebalance_timeout);
    let mut told = settled(Assignor::CooperativeSticky);
    for _ in 0..30 {
        told.after(3_000, Input::Tick);
        told.step(beaten(ErrorCode::REBALANCE_IN_PROGRESS));
    }
    assert_eq!(told.member.owned.len(), 2, "the join is under way, and the others are slow");
}
