use std::time::Duration;

use super::broker::Fact::{Committed, Delivered, Ended, Left, Released, Sent};
use super::stage::{DRAIN, Setting, Stage, orders};
use crate::event::Event;
use crate::isolation::Isolation;

#[tokio::test(start_paused = true)]
async fn what_is_in_flight_finishes_and_is_committed_before_the_group_is_told() {
    let mut stage = Stage::new().await;
    stage.assign(&[0, 1]).await;
    stage.feed(0, &["ok", "wait 5", "ok"]).await;
    stage.facts(|_| Some(()));
    stage.revoke(&[0]).await;
    // The other partition goes on meanwhile.
    stage.feed(1, &["ok"]).await;
    assert!(stage.facts(|fact| Some(fact.clone())).contains(&Delivered(orders(1), 0)));
    stage.pass(6).await;
    let told = stage.facts(|fact| match fact {
        Committed(partition, ..) if *partition == orders(1) => None,
        fact => Some(fact.clone()),
    });
    let before = Committed(orders(0), 1, Some(1));
    assert_eq!(told, [before, Ended(orders(0), 1), Committed(orders(0), 2, Some(1)), Released(orders(0))]);
    assert!(stage.events_so_far().contains(&Event::Revoked { partition: orders(0), committed: 2 }));
    assert_eq!(stage.broker.reads(&orders(0)), None);
    stage.pass(60).await;
    assert!(!stage.facts(|fact| Some(fact.clone())).contains(&Released(orders(0))), "told once");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_hangs_is_dropped_at_the_deadline_and_a_retry_is_not_waited_for() {
    for (value, deadline) in [("wait 200", true), ("retry 300", false)] {
        let stage = Stage::new().await;
        stage.assign(&[0]).await;
        stage.feed(0, &["ok", value, "ok"]).await;
        stage.pass(2).await;
        stage.facts(|_| Some(()));
        stage.revoke(&[0]).await;
        assert_eq!(stage.facts(|fact| (*fact == Released(orders(0))).then_some(())).is_empty(), deadline);
        if deadline {
            stage.pass(DRAIN.as_secs()).await;
            assert_eq!(stage.facts(|fact| Some(fact.clone())), [Ended(orders(0), 1), Released(orders(0))]);
        }
        stage.pass(600).await;
        assert_eq!(stage.facts(|fact| Some(fact.clone())), [], "{value}");
    }
}

#[tokio::test(start_paused = true)]
async fn dead_letters_are_acknowledged_before_and_those_that_are_not_stay_uncommitted() {
    let stage = Stage::new().await;
    stage.assign(&[0]).await;
    stage.broker.takes_letters.send_replace(false);
    stage.feed(0, &["ok", "invalid", "ok"]).await;
    stage.pass(2).await;
    stage.revoke(&[0]).await;
    assert!(!stage.facts(|fact| Some(fact.clone())).contains(&Released(orders(0))));
    stage.broker.takes_letters.send_replace(true);
    stage.settle().await;
    assert_eq!(stage.facts(|fact| Some(fact.clone())), [Committed(orders(0), 3, Some(1)), Released(orders(0))]);

    stage.assign(&[0]).await;
    stage.broker.takes_letters.send_replace(false);
    stage.feed(0, &["ok", "invalid"]).await;
    stage.feed(0, &["invalid"]).await;
    stage.facts(|_| Some(()));
    stage.revoke(&[0]).await;
    stage.pass(DRAIN.as_secs() + 1).await;
    assert_eq!(stage.facts(|fact| Some(fact.clone())), [Committed(orders(0), 4, Some(1)), Released(orders(0))]);
    // What waited behind those on the wire is given up with the partition.
    stage.broker.takes_letters.send_replace(true);
    stage.pass(60).await;
    assert_eq!(stage.facts(|fact| Some(fact.clone())), []);
}

#[tokio::test(start_paused = true)]
async fn whatever_the_partition_does_the_group_is_told_once() {
    // Not had at all.
    let stage = Stage::new().await;
    let released = |stage: &Stage| stage.facts(|fact| (*fact == Released(orders(0))).then_some(())).len();
    stage.revoke(&[0]).await;
    assert_eq!(released(&stage), 1);
    // While its start is being looked for.
    stage.broker.is_away.store(true, std::sync::atomic::Ordering::Release);
    stage.assign(&[0]).await;
    stage.revoke(&[0]).await;
    assert_eq!(released(&stage), 1);
    stage.broker.is_away.store(false, std::sync::atomic::Ordering::Release);
    stage.pass(60).await;
    assert_eq!((stage.broker.reads(&orders(0)), released(&stage)), (None, 0), "a claim that was given up stays so");
    // While its start is being committed, which must not land afterwards.
    stage.broker.takes_commits.send_replace(false);
    stage.assign(&[0]).await;
    stage.revoke(&[0]).await;
    assert_eq!(released(&stage), 0);
    stage.broker.takes_commits.send_replace(true);
    stage.pass(1).await;
    assert_eq!(released(&stage), 1);
    // While paused, and asked for twice.
    stage.assign(&[0]).await;
    stage.pause(Some(&[0]), true).await;
    stage.feed(0, &["ok"]).await;
    stage.revoke(&[0]).await;
    assert_eq!(released(&stage), 1);
    stage.assign(&[0]).await;
    stage.feed(0, &["wait 5"]).await;
    stage.revoke(&[0]).await;
    stage.revoke(&[0]).await;
    stage.pass(6).await;
    assert_eq!(released(&stage), 2);
    // While the consumer stops.
    let mut stage = stage;
    stage.assign(&[0]).await;
    stage.feed(0, &["wait 5"]).await;
    stage.facts(|_| Some(()));
    stage.supervisor.cast(crate::supervisor::SupervisorMessage::Drain { deadline: DRAIN }).unwrap();
    stage.revoke(&[0]).await;
    let finished = stage.finished().await;
    assert_eq!((finished.halted, finished.summary.dropped), (None, vec![]));
    let last = [Ended(orders(0), 1), Committed(orders(0), 2, Some(1)), Released(orders(0)), Left];
    assert_eq!(stage.facts(|fact| Some(fact.clone())), last);
}

#[tokio::test(start_paused = true)]
async fn assigned_again_while_it_is_given_up_it_is_taken_again_afterwards() {
    let stage = Stage::new().await;
    stage.assign(&[0]).await;
    stage.feed(0, &["ok", "wait 5"]).await;
    stage.revoke(&[0]).await;
    stage.assign(&[0]).await;
    stage.pass(6).await;
    assert!(stage.facts(|fact| Some(fact.clone())).contains(&Released(orders(0))));
    assert_eq!(stage.broker.reads(&orders(0)), Some(2));
}

/// In real time: a thread that is blocked.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_a_handler_that_blocks_and_nothing_that_it_returns_counts() {
    let setting = Setting { isolation: Isolation::Lanes(2), drain: Duration::from_millis(200), ..Setting::default() };
    let stage = Stage::with(setting).await;
    let until = async |wanted: super::broker::Fact| {
        while !stage.broker.facts().contains(&wanted) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    stage.tell(crate::group::GroupNotice::Assigned(vec![(orders(0), None)]));
    while stage.broker.reads(&orders(0)).is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stage.broker.feed(&orders(0), &["block 4000", "ok"]);
    until(Delivered(orders(0), 0)).await;
    stage.tell(crate::group::GroupNotice::Revoked(vec![orders(0)]));
    until(Released(orders(0))).await;
    assert!(!stage.broker.facts().contains(&Ended(orders(0), 0)), "it was not waited for");
    until(Ended(orders(0), 0)).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let facts = stage.facts(|fact| Some(fact.clone()));
    assert!(
        !facts.contains(&Delivered(orders(0), 1)) && !facts.iter().any(|fact| matches!(fact, Sent(_))),
        "{facts:?}"
    );
    assert!(!facts.iter().any(|fact| matches!(fact, Committed(_, 1.., _))), "{facts:?}");
}
