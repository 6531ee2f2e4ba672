use std::sync::atomic::Ordering;

use super::broker::Fact::{Committed, Delivered};
use super::stage::{Setting, Stage, orders};
use crate::broker::CommittedOffset;
use crate::event::Event;
use crate::offsets::OffsetReset;

#[tokio::test(start_paused = true)]
async fn the_chosen_start_is_committed_as_a_member_before_anything_is_read() {
    let mut stage = Stage::with(Setting { offset_reset: OffsetReset::Latest, ..Setting::default() }).await;
    stage.broker.takes_commits.send_replace(false);
    stage.assign(&[0, 1]).await;
    stage.pass(5).await;
    assert_eq!(stage.broker.reads(&orders(0)), None);
    stage.broker.takes_commits.send_replace(true);
    stage.pass(5).await;
    assert_eq!(stage.broker.reads(&orders(0)), Some(100));
    let commits = [Committed(orders(0), 100, Some(1)), Committed(orders(1), 100, Some(1))];
    assert_eq!(stage.facts(|fact| Some(fact.clone())), commits);
    let assigned = Event::Assigned { partition: orders(0), offset: 100, reset: true };
    assert!(stage.events_so_far().contains(&assigned));
}

#[tokio::test(start_paused = true)]
async fn a_committed_offset_is_gone_on_from_and_what_was_added_to_a_topic_starts_at_its_start() {
    let mut offset = CommittedOffset::new(orders(0), 7);
    offset.metadata = "by a tool".to_owned();
    let setting = Setting { offset_reset: OffsetReset::Latest, committed: vec![offset], ..Setting::default() };
    let stage = Stage::with(setting).await;
    stage.assign(&[0, 1, 12]).await;
    assert_eq!([0, 1, 12].map(|partition| stage.broker.reads(&orders(partition))), [Some(7), Some(0), Some(0)]);
    assert!(!stage.facts(|fact| Some(fact.clone())).contains(&Committed(orders(0), 7, Some(1))));
    stage.feed(0, &["ok"]).await;
    assert!(stage.facts(|fact| Some(fact.clone())).contains(&Delivered(orders(0), 7)));
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_is_away_is_waited_for() {
    let stage = Stage::new().await;
    stage.broker.is_away.store(true, Ordering::Release);
    stage.assign(&[0]).await;
    stage.pass(60).await;
    assert_eq!(stage.broker.reads(&orders(0)), None);
    stage.broker.is_away.store(false, Ordering::Release);
    stage.pass(15).await;
    assert_eq!(stage.broker.reads(&orders(0)), Some(0));
}

#[tokio::test(start_paused = true)]
async fn where_no_offset_may_be_chosen_the_consumer_stops_and_names_the_partition() {
    let mut stage = Stage::with(Setting { offset_reset: OffsetReset::None, ..Setting::default() }).await;
    stage.assign(&[3]).await;
    let halted = stage.finished().await.halted.unwrap();
    assert!(halted.contains("orders/3") && halted.contains("offset_reset"), "{halted}");
}
