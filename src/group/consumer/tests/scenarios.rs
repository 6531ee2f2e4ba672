use std::time::Duration;

use proptest::prelude::*;
use uuid::Uuid;

use super::script::{INTERVAL, LEASE, ORDERS, Script, assigned, notices, orders, sent, timed_out};
use crate::broker::{ConsumerHeartbeatAnswer, ErrorCode, MemberIdentity};
use crate::group::machine::{Answer, Effect, Input, Machine, TopicInfo, Topics};
use crate::group::message::GroupNotice;

#[test]
fn joining_says_everything_once_and_later_heartbeats_what_changed() {
    let mut script = Script::new(None);
    assert_eq!(script.step(Input::Tick), []);
    assert_eq!(script.machine.wake_at(), None);
    let begun = script.now;
    let effects = script.topics();
    let join = sent(&effects).unwrap().clone();
    let MemberIdentity { member_id, epoch: 0, instance_id: None } = &join.member else { panic!("{join:?}") };
    assert_eq!(Uuid::parse_str(member_id).unwrap().get_version_num(), 4);
    assert_eq!((join.topics, join.owned), (Some(vec!["orders".to_owned()]), Some(Vec::new())));
    assert_eq!((join.rack.as_deref(), join.server_assignor.as_deref()), (Some("r1"), Some("uniform")));
    assert_eq!(join.rebalance_timeout, Some(Duration::from_secs(25)));
    let member = MemberIdentity { epoch: 5, ..join.member };
    let effects = script.answer(5, Some(&[0, 1]));
    // The lease counts from the sending.
    assert_eq!(effects[0], Effect::Lease(begun + LEASE));
    let joined = GroupNotice::Joined {
        member: member.clone(),
        protocol: "consumer",
        assignor: "uniform".to_owned(),
        partitions: 2,
    };
    let identity = GroupNotice::Identity(Some(member.clone()));
    assert_eq!(notices(&effects), [&identity, &assigned(&[0, 1]), &joined]);
    let told = sent(&effects).unwrap();
    assert_eq!((&told.member, &told.owned), (&member, &Some(vec![(ORDERS, vec![0, 1])])));
    assert_eq!((&told.topics, &told.rack, told.rebalance_timeout), (&None, &None, None));
    let before = script.now;
    assert_eq!(script.answer(5, None), [Effect::Lease(before + LEASE)]);
    assert_eq!(script.machine.wake_at(), Some(before + INTERVAL));
    let effects = script.wait();
    let bare = sent(&effects).unwrap();
    assert_eq!((&bare.member, &bare.topics, &bare.owned), (&member, &None, &None));
    // One at a time, however long it takes.
    script.now += Duration::from_secs(15);
    assert_eq!(script.step(Input::Tick), []);
}

#[test]
fn what_is_given_up_is_acknowledged_at_once_and_only_then() {
    let mut script = Script::new(None);
    script.join(&[0, 1, 2]);
    script.wait();
    let effects = script.answer(5, Some(&[2]));
    assert_eq!(notices(&effects), [&GroupNotice::Revoked(orders(&[0, 1]))]);
    assert_eq!(sent(&effects), None);
    // Meanwhile they are still owned.
    let effects = script.wait();
    assert_eq!(sent(&effects).unwrap().owned, Some(vec![(ORDERS, vec![0, 1, 2])]));
    script.answer(5, None);
    assert_eq!(script.step(Input::Released(orders(&[1]))), []);
    let effects = script.step(Input::Released(orders(&[0])));
    assert_eq!(sent(&effects).unwrap().owned, Some(vec![(ORDERS, vec![2])]));
    let effects = script.answer(6, Some(&[2, 3]));
    assert!(matches!(notices(&effects)[0], GroupNotice::Identity(Some(MemberIdentity { epoch: 6, .. }))));
    assert_eq!(notices(&effects)[1], &assigned(&[3]));
}

#[test]
fn what_was_taken_back_before_it_was_taken_is_acknowledged_too() {
    let mut script = Script::new(None);
    script.join(&[]);
    script.wait();
    let stranger = vec![(Uuid::from_u128(8), vec![0])];
    let answer = |assignment| ConsumerHeartbeatAnswer {
        member_id: String::new(),
        member_epoch: 6,
        interval: INTERVAL,
        assignment: Some(assignment),
    };
    let effects = script.step(Input::Answered(Answer::ConsumerHeartbeat(Ok(answer(stranger)))));
    assert!(effects.contains(&Effect::LookAtTopics(Vec::new())));
    assert_eq!(sent(&effects).unwrap().owned, Some(Vec::new()));
    script.answer(6, None);
    script.wait();
    let effects = script.step(Input::Answered(Answer::ConsumerHeartbeat(Ok(answer(Vec::new())))));
    assert_eq!(sent(&effects).unwrap().owned, Some(Vec::new()));
}

#[test]
fn after_an_outcome_that_is_unknown_everything_is_told_again() {
    let mut script = Script::new(None);
    script.join(&[0]);
    script.wait();
    let effects = script.fail(timed_out());
    assert!(matches!(notices(&effects)[..], [GroupNotice::Troubled(_)]));
    assert_eq!(sent(&effects), None);
    let effects = script.wait();
    let again = sent(&effects).unwrap().clone();
    assert_eq!((again.member.epoch, again.topics.is_some(), again.rebalance_timeout.is_some()), (5, true, true));
    assert_eq!(again.owned, Some(vec![(ORDERS, vec![0])]));
    // Told once per streak.
    assert_eq!(notices(&script.refuse(ErrorCode::NOT_COORDINATOR)), Vec::<&GroupNotice>::new());
    script.wait();
    script.answer(5, None);
    script.wait();
    assert_eq!(notices(&script.refuse(ErrorCode::COORDINATOR_NOT_AVAILABLE)).len(), 1);
}

#[test]
fn a_refused_commit_shows_whether_the_epoch_moved_or_the_membership_is_gone() {
    let mut script = Script::new(None);
    script.join(&[0]);
    script.step(Input::CommitRefused(ErrorCode::STALE_MEMBER_EPOCH));
    let soon = script.machine.wake_at().unwrap();
    assert!(soon <= script.now + Duration::from_millis(100));
    assert_eq!(sent(&script.wait()).unwrap().member.epoch, 5);
    // Again and again is no reason to send faster than that.
    script.answer(6, None);
    script.step(Input::CommitRefused(ErrorCode::STALE_MEMBER_EPOCH));
    assert!(script.machine.wake_at().unwrap() > script.now + Duration::from_millis(50));
    let effects = script.step(Input::CommitRefused(ErrorCode::UNKNOWN_MEMBER_ID));
    assert!(matches!(notices(&effects)[..], [GroupNotice::Lost { .. }, GroupNotice::Identity(None)]));
    assert_eq!(sent(&effects).unwrap().member.epoch, 0);
    // Outside it says nothing new.
    assert_eq!(script.step(Input::CommitRefused(ErrorCode::UNKNOWN_MEMBER_ID)), []);
}

#[test]
fn memberships_lost_over_and_over_are_looked_for_more_and_more_slowly() {
    let mut script = Script::new(None);
    script.join(&[0]);
    let begun = script.now;
    for _ in 0..20 {
        if sent(&script.step(Input::CommitRefused(ErrorCode::UNKNOWN_MEMBER_ID))).is_none() {
            script.wait();
        }
        let effects = script.answer(5, Some(&[0]));
        assert!(sent(&effects).is_some());
        script.answer(5, None);
    }
    assert!(script.now > begun + Duration::from_secs(10));
}

#[test]
fn a_member_leaves_with_its_last_heartbeat_whatever_becomes_of_it() {
    for (instance, epoch) in [(None, -1), (Some("i1"), -2)] {
        let mut script = Script::new(instance);
        script.join(&[0]);
        let effects = script.step(Input::Leave);
        assert_eq!(effects[0], Effect::EndLease);
        let leave = sent(&effects).unwrap();
        assert_eq!((leave.member.epoch, &leave.owned, &leave.topics), (epoch, &None, &None));
        assert_eq!(script.fail(timed_out()), [Effect::Left]);
        assert_eq!(script.step(Input::Leave), [Effect::Left]);
    }
    // One under way is waited for, not for ever.
    let mut script = Script::new(None);
    script.join(&[0]);
    script.wait();
    assert_eq!(script.step(Input::Leave), [Effect::EndLease]);
    assert_eq!(sent(&script.answer(5, None)).unwrap().member.epoch, -1);
    assert_eq!(script.wait(), [Effect::Left]);
    let mut script = Script::new(None);
    assert_eq!(script.step(Input::Leave), [Effect::Left]);
}

#[test]
fn a_change_of_topics_is_told_at_once() {
    let mut script = Script::new(None);
    script.join(&[0]);
    let info = |id| TopicInfo { id: Some(Uuid::from_u128(id)), partitions: 1, subscribed: true };
    let both = Topics::from([("orders".to_owned(), info(7)), ("bills".to_owned(), info(9))]);
    let effects = script.step(Input::Topics(both.clone()));
    let told = sent(&effects).unwrap();
    assert_eq!(told.topics, Some(vec!["bills".to_owned(), "orders".to_owned()]));
    assert_eq!(told.owned, None);
    script.answer(6, None);
    assert_eq!(script.step(Input::Topics(both)), []);
}

proptest! {
    /// Whatever happens in whatever order, there is one heartbeat at most, and nothing is sent when all is over.
    #[test]
    fn no_order_of_inputs_confuses_it(inputs in prop::collection::vec((0u8..12, 0u64..6_000), 1..200), is_static in any::<bool>()) {
        let mut script = Script::new(is_static.then_some("i1"));
        let mut under_way = false;
        let mut over = false;
        for (kind, millis) in inputs {
            script.now += Duration::from_millis(millis);
            let answers = matches!(kind, 5..=9);
            if answers && !under_way {
                continue;
            }
            under_way &= !answers;
            let effects = match kind {
                0 | 1 => script.step(Input::Tick),
                2 => script.topics(),
                3 => script.step(Input::Released(orders(&[0, 1, 2, 3]))),
                4 => script.step(Input::CommitRefused(ErrorCode::STALE_MEMBER_EPOCH)),
                5 => script.answer(5, Some(&[0, 1])),
                6 => script.answer(6, Some(&[1, 2])),
                7 => script.answer(-7, None),
                8 => script.refuse(ErrorCode::UNKNOWN_MEMBER_ID),
                9 => script.fail(timed_out()),
                10 if millis < 1_000 => script.step(Input::Leave),
                _ => script.step(Input::Topics(Topics::new())),
            };
            let left = effects.contains(&Effect::Left);
            if let Some(heartbeat) = sent(&effects) {
                prop_assert!(!under_way && !over, "{heartbeat:?}");
                under_way = true;
            }
            over |= left;
        }
    }
}
