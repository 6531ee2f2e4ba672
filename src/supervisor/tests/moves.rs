use ractor::rpc::CallResult;

use super::broker::Fact::{self, Committed, Delivered, Ended, Released};
use super::stage::{Stage, orders};
use crate::event::Event;
use crate::supervisor::{PartitionState, SeekError, SeekTo, SupervisorMessage};

fn all(fact: &Fact) -> Option<Fact> {
    Some(fact.clone())
}

impl Stage {
    fn seek(&self, partition: i32, to: SeekTo) -> tokio::task::JoinHandle<Result<i64, SeekError>> {
        let supervisor = self.supervisor.clone();
        tokio::spawn(async move {
            let seek = |reply| SupervisorMessage::Seek { partition: orders(partition), to, reply };
            match supervisor.call(seek, None).await {
                Ok(CallResult::Success(result)) => result,
                _ => Err(SeekError::Ended),
            }
        })
    }

    async fn state(&self, partition: i32) -> PartitionState {
        self.status().await.iter().find(|status| status.partition == orders(partition)).unwrap().state
    }
}

#[tokio::test(start_paused = true)]
async fn a_paused_partition_finishes_what_is_in_flight_and_delivers_nothing_new() {
    let mut stage = Stage::new().await;
    stage.assign(&[0, 1]).await;
    stage.feed(0, &["wait 1", "retry 5", "ok"]).await;
    assert_eq!(stage.pause(Some(&[0, 5]), true).await, [orders(5)]);
    stage.feed(1, &["ok"]).await;
    stage.pass(60).await;
    let delivered = |stage: &Stage| stage.facts(|fact| matches!(fact, Delivered(..)).then(|| fact.clone()));
    assert_eq!(delivered(&stage), [Delivered(orders(0), 0), Delivered(orders(1), 0)]);
    assert_eq!((stage.state(0).await, stage.state(1).await), (PartitionState::Paused, PartitionState::Running));
    // The whole consumer, and what comes later.
    stage.pause(None, true).await;
    stage.assign(&[2]).await;
    stage.feed(2, &["ok"]).await;
    stage.feed(1, &["ok"]).await;
    stage.pause(Some(&[0]), false).await;
    stage.pass(60).await;
    assert_eq!(delivered(&stage), []);
    stage.pause(None, false).await;
    stage.pass(1).await;
    let delivered = delivered(&stage);
    for expected in [Delivered(orders(0), 1), Delivered(orders(1), 1), Delivered(orders(2), 0)] {
        assert!(delivered.contains(&expected), "{delivered:?}");
    }
    let events = stage.events_so_far();
    let count = |wanted: Event| events.iter().filter(|event| **event == wanted).count();
    assert_eq!([0, 1].map(|partition| count(Event::Paused { partition: orders(partition) })), [1, 1]);
    assert_eq!([0, 1, 2].map(|partition| count(Event::Resumed { partition: orders(partition) })), [1; 3]);
}

#[tokio::test(start_paused = true)]
async fn a_paused_retry_waits_too() {
    let stage = Stage::new().await;
    stage.assign(&[0]).await;
    stage.feed(0, &["retry 5"]).await;
    stage.pause(Some(&[0]), true).await;
    let status = stage.status().await;
    assert_eq!((status[0].retrying, status[0].paused, status[0].position), (Some((0, 1)), true, 0));
    stage.facts(all);
    stage.pass(60).await;
    assert_eq!(stage.facts(all), []);
    stage.pause(Some(&[0]), false).await;
    assert_eq!(stage.facts(all), [Delivered(orders(0), 0), Ended(orders(0), 0)]);
}

#[tokio::test(start_paused = true)]
async fn a_seek_waits_for_what_is_in_flight_and_commits_where_it_goes_on() {
    let mut stage = Stage::new().await;
    stage.assign(&[0]).await;
    stage.feed(0, &["ok", "wait 5", "ok", "ok"]).await;
    stage.facts(all);
    let seek = stage.seek(0, SeekTo::Offset(40));
    stage.settle().await;
    assert!(!seek.is_finished());
    let busy = stage.seek(0, SeekTo::Earliest).await.unwrap();
    assert_eq!(busy, Err(SeekError::Busy { partition: orders(0) }));
    assert_eq!(seek.await.unwrap(), Ok(40));
    let facts = stage.facts(|fact| match fact {
        Committed(_, 1, _) => None,
        fact => Some(fact.clone()),
    });
    assert_eq!(facts, [Ended(orders(0), 1), Committed(orders(0), 40, Some(1))]);
    assert_eq!(stage.broker.reads(&orders(0)), Some(40));
    assert!(stage.events_so_far().contains(&Event::Sought { partition: orders(0), from: 2, to: 40 }));
    // Backwards, and by time.
    assert_eq!(stage.seek(0, SeekTo::Timestamp(12)).await.unwrap(), Ok(12));
    stage.feed(0, &["ok"]).await;
    stage.pass(2).await;
    assert!(stage.facts(all).ends_with(&[Ended(orders(0), 12), Committed(orders(0), 13, Some(1))]));
}

#[tokio::test(start_paused = true)]
async fn a_seek_that_cannot_be_leaves_everything_as_it_was() {
    let stage = Stage::new().await;
    stage.assign(&[0]).await;
    let outside = stage.seek(0, SeekTo::Offset(101)).await.unwrap();
    let range = SeekError::OutOfRange { partition: orders(0), asked: 101, log_start: 0, log_end: 100 };
    assert_eq!(outside, Err(range));
    let unknown = stage.seek(1, SeekTo::Latest).await.unwrap();
    assert_eq!(unknown, Err(SeekError::NotAssigned { partition: orders(1) }));
    stage.feed(0, &["ok"]).await;
    assert!(stage.facts(all).contains(&Delivered(orders(0), 0)));
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_is_revoked_on_its_way_elsewhere_is_given_up() {
    let stage = Stage::new().await;
    stage.assign(&[0]).await;
    stage.broker.takes_letters.send_replace(false);
    stage.feed(0, &["ok", "invalid"]).await;
    stage.pass(2).await;
    let seek = stage.seek(0, SeekTo::Latest);
    stage.settle().await;
    assert_eq!(stage.state(0).await, PartitionState::Restarting);
    stage.facts(all);
    stage.revoke(&[0]).await;
    assert_eq!(seek.await.unwrap(), Err(SeekError::NotAssigned { partition: orders(0) }));
    stage.pass(60).await;
    assert_eq!(stage.facts(all), [Released(orders(0))]);
    stage.broker.takes_letters.send_replace(true);
    stage.pass(60).await;
    assert_eq!(stage.facts(all), [], "the seek is over");
}
