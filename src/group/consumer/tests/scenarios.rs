use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;
use uuid::Uuid;

use crate::broker::{BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode, MemberIdentity};
use crate::group::consumer::ConsumerMember;
use crate::group::machine::{Answer, Effect, Input, Machine, Request, TopicInfo, Topics};
use crate::group::message::GroupNotice;
use crate::group::settings::{Assignor, GroupProtocol, GroupSettings};
use crate::record::TopicPartition;

pub(super) const LEASE: Duration = Duration::from_secs(20);
const INTERVAL: Duration = Duration::from_secs(3);
const ORDERS: Uuid = Uuid::from_u128(7);

pub(super) fn settings() -> GroupSettings {
    GroupSettings {
        group: "g".to_owned(),
        protocol: GroupProtocol::Consumer,
        instance_id: None,
        rack: Some("r1".to_owned()),
        assignors: vec![Assignor::CooperativeSticky],
        server_assignor: Some("uniform".to_owned()),
        session_timeout: Duration::from_secs(30),
        heartbeat_interval: INTERVAL,
        rebalance_timeout: Duration::from_secs(25),
        refresh: Duration::from_secs(30),
        lease: LEASE,
    }
}

/// A member, and a clock of its own.
struct Script {
    machine: ConsumerMember,
    now: Instant,
}

impl Script {
    fn new(instance_id: Option<&str>) -> Self {
        let mut settings = settings();
        settings.instance_id = instance_id.map(str::to_owned);
        Self { machine: ConsumerMember::new(settings, 1), now: Instant::now() }
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        self.machine.step(self.now, input)
    }

    fn topics(&mut self) -> Vec<Effect> {
        let orders = TopicInfo { id: Some(ORDERS), partitions: 4, subscribed: true };
        self.step(Input::Topics(Topics::from([("orders".to_owned(), orders)])))
    }

    fn answer(&mut self, epoch: i32, assignment: Option<&[i32]>) -> Vec<Effect> {
        self.now += Duration::from_millis(5);
        let assignment = assignment.map(|numbers| match numbers {
            [] => Vec::new(),
            numbers => vec![(ORDERS, numbers.to_vec())],
        });
        let answer =
            ConsumerHeartbeatAnswer { member_id: String::new(), member_epoch: epoch, interval: INTERVAL, assignment };
        self.step(Input::Answered(Answer::ConsumerHeartbeat(Ok(answer))))
    }

    fn refuse(&mut self, code: ErrorCode) -> Vec<Effect> {
        let error = BrokerError::Response { doing: "heartbeat".to_owned(), code, message: None };
        self.fail(error)
    }

    fn fail(&mut self, error: BrokerError) -> Vec<Effect> {
        self.now += Duration::from_millis(5);
        self.step(Input::Answered(Answer::ConsumerHeartbeat(Err(error))))
    }

    /// Waits until the machine wants to be stepped, and steps it.
    fn wait(&mut self) -> Vec<Effect> {
        self.now = self.now.max(self.machine.wake_at().expect("it waits for something"));
        self.step(Input::Tick)
    }

    /// Joins at epoch 5 with these partitions, and has them confirmed.
    fn join(&mut self, numbers: &[i32]) {
        self.topics();
        let effects = self.answer(5, Some(numbers));
        if sent(&effects).is_some() {
            assert_eq!(self.answer(5, None).len(), 1);
        }
    }
}

fn sent(effects: &[Effect]) -> Option<&ConsumerHeartbeat> {
    let mut sent = effects.iter().filter_map(|effect| match effect {
        Effect::Send(Request::ConsumerHeartbeat(heartbeat)) => Some(heartbeat),
        _ => None,
    });
    let first = sent.next();
    assert_eq!(sent.next(), None);
    first
}

fn notices(effects: &[Effect]) -> Vec<&GroupNotice> {
    let notice = |effect| match effect {
        &Effect::Notice(ref notice) => Some(notice),
        _ => None,
    };
    effects.iter().filter_map(notice).collect()
}

fn orders(numbers: &[i32]) -> Vec<TopicPartition> {
    numbers.iter().map(|number| TopicPartition::new("orders", *number)).collect()
}

fn assigned(numbers: &[i32]) -> GroupNotice {
    GroupNotice::Assigned(orders(numbers).into_iter().map(|partition| (partition, Some(ORDERS))).collect())
}

fn timed_out() -> BrokerError {
    BrokerError::Timeout { doing: "heartbeat".to_owned(), after: Duration::from_secs(5) }
}

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
