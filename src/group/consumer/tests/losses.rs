use super::script::{LEASE, Script, assigned, notices, orders, sent, settings, timed_out};
use crate::broker::ErrorCode;
use crate::group::machine::{Effect, Input, Machine};
use crate::group::message::GroupNotice;

#[test]
fn a_fenced_member_has_nothing_any_more_and_joins_anew_as_itself() {
    for code in [ErrorCode::FENCED_MEMBER_EPOCH, ErrorCode::UNKNOWN_MEMBER_ID, ErrorCode::GROUP_ID_NOT_FOUND] {
        let mut script = Script::new(None);
        script.join(&[0, 1]);
        let before = sent(&script.wait()).unwrap().member.member_id.clone();
        let effects = script.refuse(code);
        assert_eq!(effects[0], Effect::EndLease);
        let [GroupNotice::Lost { partitions, .. }, GroupNotice::Identity(None)] = notices(&effects)[..] else {
            panic!("{effects:?}");
        };
        assert_eq!(*partitions, orders(&[0, 1]));
        let join = sent(&effects).unwrap();
        assert_eq!((join.member.epoch, &join.member.member_id, &join.owned), (0, &before, &Some(Vec::new())));
        let effects = script.answer(9, Some(&[1]));
        assert_eq!(notices(&effects)[1], &assigned(&[1]));
    }
}

#[test]
fn a_lease_that_runs_out_ends_everything_though_nothing_was_answered() {
    let mut script = Script::new(None);
    script.join(&[0]);
    script.wait();
    let effects = script.wait();
    assert_eq!(effects[0], Effect::EndLease);
    assert!(matches!(notices(&effects)[..], [GroupNotice::Lost { .. }, GroupNotice::Identity(None)]));
    // The answer that comes late counts for nothing; then it joins.
    let effects = script.answer(5, None);
    assert_eq!(notices(&effects), Vec::<&GroupNotice>::new());
    assert_eq!(sent(&effects).unwrap().member.epoch, 0);
    // An answer older than the lease gives nothing to own.
    script.now += LEASE;
    let effects = script.answer(5, Some(&[0]));
    assert!(matches!(notices(&effects)[..], [GroupNotice::Troubled(_)]));
    assert_eq!(sent(&script.wait()).unwrap().member.epoch, 0);
}

#[test]
fn a_static_member_that_lost_its_lease_leaves_before_it_joins_anew() {
    let mut script = Script::new(Some("i1"));
    script.join(&[0]);
    script.wait();
    script.wait();
    let effects = script.fail(timed_out());
    assert_eq!(sent(&effects).unwrap().member.epoch, -2);
    let effects = script.answer(-2, None);
    assert_eq!(sent(&effects).unwrap().member.epoch, 0);
    // Joined without learning of it: its own name would be taken.
    script.fail(timed_out());
    let effects = script.wait();
    assert_eq!(sent(&effects).unwrap().member.epoch, -2);
    // A coordinator that has moved has not heard it.
    assert_eq!(sent(&script.refuse(ErrorCode::NOT_COORDINATOR)), None);
    assert_eq!(sent(&script.wait()).unwrap().member.epoch, -2);
    let effects = script.refuse(ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(sent(&effects).unwrap().member.epoch, 0);
}

#[test]
fn who_does_not_give_up_in_time_has_nothing_any_more_before_the_coordinator_takes_it() {
    let mut script = Script::new(None);
    script.join(&[0, 1]);
    script.wait();
    let begun = script.now;
    let fenced = begun + settings().rebalance_timeout;
    // Its answer is lost; the coordinator waits since then.
    script.fail(timed_out());
    script.wait();
    script.answer(5, Some(&[0]));
    loop {
        let effects = script.wait();
        if sent(&effects).is_some_and(|heartbeat| heartbeat.member.epoch == 5) {
            let effects = script.answer(5, None);
            let [Effect::Lease(until)] = effects[..] else { panic!("{effects:?}") };
            assert!(until <= fenced);
            continue;
        }
        let [GroupNotice::Lost { reason, .. }, GroupNotice::Identity(None)] = notices(&effects)[..] else {
            panic!("{effects:?}");
        };
        assert!(reason.contains("rebalance timeout"), "{reason}");
        break;
    }
    assert_eq!(script.now, fenced);
}

#[test]
fn a_newcomer_with_the_name_of_another_waits_and_who_is_replaced_fails() {
    let mut script = Script::new(Some("i1"));
    script.topics();
    let effects = script.refuse(ErrorCode::UNRELEASED_INSTANCE_ID);
    let [GroupNotice::Troubled(text)] = notices(&effects)[..] else { panic!("{effects:?}") };
    assert!(text.contains("i1"), "{text}");
    for _ in 0..20 {
        assert_eq!(sent(&script.wait()).unwrap().member.epoch, 0);
        assert_eq!(script.refuse(ErrorCode::UNRELEASED_INSTANCE_ID), []);
    }
    script.wait();
    script.answer(8, Some(&[3]));
    let effects = script.refuse(ErrorCode::FENCED_INSTANCE_ID);
    let [GroupNotice::Lost { .. }, GroupNotice::Identity(None), GroupNotice::Failed(text)] = notices(&effects)[..]
    else {
        panic!("{effects:?}");
    };
    assert!(text.contains("i1"), "{text}");
    assert_eq!(script.machine.wake_at(), None);
    assert_eq!(script.topics(), []);
}

#[test]
fn refusals_that_stay_are_told_with_what_to_do() {
    for (code, hint) in [
        (ErrorCode::GROUP_ID_NOT_FOUND, "in use with the other protocol"),
        (ErrorCode::INCONSISTENT_GROUP_PROTOCOL, "in use with the other protocol"),
        (ErrorCode::UNSUPPORTED_VERSION, "use the protocol classic"),
        (ErrorCode::UNSUPPORTED_ASSIGNOR, "\"uniform\""),
        (ErrorCode::GROUP_AUTHORIZATION_FAILED, "grant it"),
        (ErrorCode(29), "grant it"),
        (ErrorCode::GROUP_MAX_SIZE_REACHED, "group.consumer.max.size"),
        (ErrorCode(42), "does not accept"),
    ] {
        let mut script = Script::new(None);
        script.topics();
        let effects = script.refuse(code);
        let Some(GroupNotice::Failed(text)) = notices(&effects).last() else { panic!("{code}: {effects:?}") };
        assert!(text.contains(hint), "{text}");
        assert_eq!((sent(&effects), script.machine.wake_at()), (None, None));
        assert_eq!(script.step(Input::Leave), [Effect::Left]);
    }
}
