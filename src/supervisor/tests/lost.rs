use std::time::Duration;

use tokio::time::Instant;

use super::broker::Fact::{self, Committed, Delivered, Ended, Refused, Released, Sent};
use super::stage::{DRAIN, LEASE, Stage, orders};
use crate::broker::ErrorCode;
use crate::event::Event;
use crate::group::GroupNotice;

fn all(fact: &Fact) -> Option<Fact> {
    Some(fact.clone())
}

#[tokio::test(start_paused = true)]
async fn a_lost_partition_is_dropped_at_once_and_nothing_of_it_is_committed() {
    let mut stage = Stage::new().await;
    stage.assign(&[0, 1]).await;
    stage.feed(0, &["ok", "wait 5", "ok"]).await;
    stage.feed(1, &["ok", "wait 5", "ok"]).await;
    stage.facts(all);
    stage.lose(&[0]).await;
    assert_eq!(stage.facts(all), [Ended(orders(0), 1)]);
    let lost = Event::Lost { partition: orders(0), reason: "as told".to_owned() };
    assert!(stage.events_so_far().contains(&lost));
    stage.pass(60).await;
    let facts = stage.facts(|fact| match fact {
        Delivered(partition, _) | Ended(partition, _) | Committed(partition, ..) => Some(partition.partition()),
        _ => None,
    });
    assert!(facts.iter().all(|partition| *partition == 1), "{facts:?}");
    assert!(stage.broker.reads(&orders(0)).is_none() && stage.broker.reads(&orders(1)).is_some());
}

#[tokio::test(start_paused = true)]
async fn dead_letters_that_wait_are_given_up_with_it() {
    let stage = Stage::new().await;
    stage.assign(&[0]).await;
    stage.broker.takes_letters.send_replace(false);
    stage.feed(0, &["invalid"]).await;
    stage.feed(0, &["invalid"]).await;
    assert_eq!(stage.facts(|fact| matches!(fact, Sent(_)).then(|| fact.clone())), [Sent(1)]);
    stage.lose(&[0]).await;
    // One is on the wire and lands; the other waits behind it.
    stage.broker.takes_letters.send_replace(true);
    stage.pass(60).await;
    assert_eq!(stage.facts(all), []);
}

#[tokio::test(start_paused = true)]
async fn lost_while_it_is_given_up_it_is_answered_at_once() {
    let stage = Stage::new().await;
    stage.assign(&[0]).await;
    stage.feed(0, &["wait 200"]).await;
    stage.revoke(&[0]).await;
    stage.facts(all);
    stage.lose(&[0]).await;
    assert_eq!(stage.facts(all), [Ended(orders(0), 0), Released(orders(0))]);
    stage.pass(600).await;
    assert_eq!(stage.facts(all), []);
    // And it can come back.
    stage.assign(&[0]).await;
    stage.feed(0, &["ok"]).await;
    assert!(stage.facts(all).contains(&Delivered(orders(0), 0)));
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_nothing_is_delivered_dead_lettered_or_committed_though_nobody_was_told() {
    let stage = Stage::new().await;
    stage.assign(&[0, 1, 2]).await;
    stage.broker.takes_letters.send_replace(false);
    stage.feed(2, &["invalid"]).await;
    stage.feed(2, &["invalid", "ok"]).await;
    stage.pass(LEASE.as_secs() - 2).await;
    stage.feed(1, &["retry 5"]).await;
    stage.feed(0, &["wait 3", "ok"]).await;
    stage.facts(all);
    stage.pass(2).await;
    assert!(stage.lease.is_over());
    stage.broker.takes_letters.send_replace(true);
    stage.pass(600).await;
    assert_eq!(stage.facts(all), [Ended(orders(0), 0)]);
    // It was only late: all goes on where it stood.
    stage.lease.extend(Instant::now() + Duration::from_secs(600));
    stage.pass(2).await;
    let facts = stage.facts(all);
    for expected in [Delivered(orders(0), 1), Delivered(orders(1), 0), Sent(1), Committed(orders(2), 3, Some(1))] {
        assert!(facts.contains(&expected), "{expected:?} is not in {facts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_commit_is_told_to_the_group_and_made_again_only_under_the_next_identity() {
    let stage = Stage::new().await;
    stage.assign(&[0]).await;
    stage.facts(all);
    *stage.broker.refused.lock().unwrap() = Some(ErrorCode::ILLEGAL_GENERATION);
    stage.feed(0, &["ok"]).await;
    stage.pass(25).await;
    let told = [Delivered(orders(0), 0), Ended(orders(0), 0), Refused(ErrorCode::ILLEGAL_GENERATION)];
    assert_eq!(stage.facts(all), told);
    *stage.broker.refused.lock().unwrap() = None;
    stage.identity(2);
    stage.settle().await;
    assert_eq!(stage.facts(all), [Committed(orders(0), 1, Some(2))]);
}

#[tokio::test(start_paused = true)]
async fn a_loss_while_the_consumer_stops_does_not_hold_it_up() {
    let mut stage = Stage::new().await;
    stage.assign(&[0]).await;
    stage.feed(0, &["wait 200"]).await;
    let began = Instant::now();
    stage.supervisor.cast(crate::supervisor::SupervisorMessage::Drain { deadline: DRAIN }).unwrap();
    stage.tell(GroupNotice::Identity(None));
    stage.lose(&[0]).await;
    let finished = stage.finished().await;
    assert!(began.elapsed() < DRAIN, "{:?}", began.elapsed());
    assert_eq!((finished.summary.partitions.len(), finished.summary.committed), (0, true));
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_while_the_consumer_stops_does_not_count_as_committed() {
    let mut stage = Stage::new().await;
    stage.assign(&[0]).await;
    *stage.broker.refused.lock().unwrap() = Some(ErrorCode::ILLEGAL_GENERATION);
    stage.feed(0, &["ok", "wait 200"]).await;
    stage.pass(2).await;
    stage.supervisor.cast(crate::supervisor::SupervisorMessage::Drain { deadline: DRAIN }).unwrap();
    stage.tell(GroupNotice::Identity(None));
    stage.lose(&[0]).await;
    let finished = stage.finished().await;
    assert_eq!((finished.summary.partitions.len(), finished.summary.committed), (0, false));
}

#[tokio::test(start_paused = true)]
async fn what_is_given_up_at_a_stop_is_not_lost_as_well() {
    let mut stage = Stage::new().await;
    stage.assign(&[0]).await;
    stage.loses_upon_leaving.store(true, std::sync::atomic::Ordering::Release);
    let finished = stage.shutdown().await;
    assert_eq!((finished.halted, finished.summary.partitions.len()), (None, 1));
    let lost = stage.events_so_far().into_iter().find(|event| matches!(event, Event::Lost { .. }));
    assert_eq!(lost, None);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_cannot_be_a_member_of_ends_the_consumer_with_the_reason() {
    let mut stage = Stage::new().await;
    stage.tell(GroupNotice::Failed("no right".to_owned()));
    assert_eq!(stage.finished().await.halted.as_deref(), Some("no right"));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ends_while_others_have_their_turn_ends_the_deliveries() {
    let stage = Stage::new().await;
    stage.assign(&[0]).await;
    let delivered = || stage.broker.facts().iter().filter(|fact| matches!(fact, Delivered(..))).count();
    // More than one turn: in between, this test has its own.
    assert!(stage.broker.feed(&orders(0), &["ok"; 1500]));
    while delivered() == 0 {
        tokio::task::yield_now().await;
    }
    stage.lease.end();
    let before = delivered();
    assert!(before < 1500, "all were delivered in one turn");
    stage.pass(60).await;
    assert_eq!(delivered(), before);
}
