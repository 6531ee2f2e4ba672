//! Runs that are asked to stop, and what is left of runs that are cut off.

use std::future::ready;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bezoar::embedded::{Api, Fault};
use bezoar::replay::{Entry, Filter, Outcome, ReplayOptions, Selection, State};
use tokio::sync::Notify;

use crate::stand::Stand;

fn all() -> Selection {
    Selection::Matching(Filter::new())
}

fn claimed(entries: &[Entry]) -> usize {
    entries.iter().filter(|entry| matches!(entry.state, State::Claimed { .. })).count()
}

fn replayed(entries: &[Entry]) -> u64 {
    entries.iter().filter(|entry| matches!(entry.state, State::Replayed { .. })).count() as u64
}

#[tokio::test]
async fn a_run_that_is_asked_to_stop_leaves_no_claim_and_nothing_in_doubt() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..60).await;
    let enough = Notify::new();
    let told = |progress: &bezoar::replay::Progress| {
        assert!(matches!(progress.outcome, Outcome::Success(_)), "{progress:?}");
        enough.notify_one();
    };
    let letters = stand.letters().await;
    let options = ReplayOptions::new().rate(20);
    let report = letters.replay_until(&all(), &options, told, enough.notified()).await.unwrap();
    assert!(report.stopped, "{report:?}");
    assert!(report.success >= 1 && report.failed + report.skipped == 0, "{report:?}");
    let entries = stand.all().await;
    assert_eq!((claimed(&entries), replayed(&entries)), (0, report.success));
    assert!(entries.iter().any(|entry| entry.state == State::Unresolved));

    // The next run need not wait, and sends the rest and nothing else.
    let (next, _) = stand.replay(&ReplayOptions::new()).await;
    assert_eq!((next.success, next.failed, next.skipped), (60 - report.success, 0, 0));
    assert_eq!((next.stopped, next.maybe_doubled), (false, Vec::new()));
    let wanted: Vec<String> = (0..60).map(|value| value.to_string()).collect();
    assert_eq!(stand.replayed_values().await, wanted);
}

#[tokio::test]
async fn embedded_what_is_on_its_way_is_waited_for_and_marked() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fail_values(0, 0..30).await;
    let slow = Fault::on(Api::Produce).topic(&stand.source).forever().delay(Duration::from_millis(200));
    let fault = broker.inject(slow);
    let sent = async {
        while fault.fired() == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let letters = stand.letters().await;
    let report = letters.replay_until(&all(), &ReplayOptions::new().in_flight(4), |_| {}, sent).await.unwrap();
    assert!(report.stopped && (1..30).contains(&report.success) && report.failed == 0, "{report:?}");
    let entries = stand.all().await;
    assert_eq!((claimed(&entries), replayed(&entries)), (0, report.success));
    assert_eq!(stand.replayed_values().await.len() as u64, report.success);
}

#[tokio::test]
async fn a_run_that_is_asked_to_stop_before_it_begins_does_nothing() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..3).await;
    let letters = stand.letters().await;
    let report = letters.replay_until(&all(), &ReplayOptions::new(), |_| {}, ready(())).await.unwrap();
    assert_eq!((report.stopped, report.success, report.failed, report.skipped), (true, 0, 0, 0));
    let found = stand.fixture.ports.admin.topics(vec![format!("{}.replays", stand.dead)]).await.unwrap();
    assert_eq!(found, [None]);
}

#[tokio::test]
async fn a_dry_run_stops_at_the_next_letter() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..100).await;
    let enough = Notify::new();
    let letters = stand.letters().await;
    let told = |_: &bezoar::replay::Progress| enough.notify_one();
    let options = ReplayOptions::new().dry_run(true);
    let report = letters.replay_until(&all(), &options, told, enough.notified()).await.unwrap();
    assert_eq!((report.stopped, report.skips.dry_run), (true, 1));
}

#[tokio::test]
async fn a_run_that_ends_before_the_signal_is_not_stopped() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..3).await;
    let letters = stand.letters().await;
    let never = std::future::pending::<()>();
    let report = letters.replay_until(&all(), &ReplayOptions::new(), |_| {}, never).await.unwrap();
    assert_eq!((report.stopped, report.success), (false, 3));
}

#[tokio::test]
async fn a_run_with_a_rate_claims_no_more_than_a_second_lets_through() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..30).await;
    let (count, enough) = (AtomicU32::new(0), Notify::new());
    let letters = stand.letters().await;
    let (selection, options) = (all(), ReplayOptions::new().rate(3));
    let run = letters.replay(&selection, &options, |_| {
        if count.fetch_add(1, Ordering::Relaxed) == 2 {
            enough.notify_one();
        }
    });
    tokio::select! {
        biased;
        () = enough.notified() => {}
        report = run => panic!("it should have been dropped: {report:?}"),
    }
    // Those that are claimed are those that the next run would say may be there twice.
    let claimed = claimed(&stand.all().await);
    assert!((1..=3).contains(&claimed), "{claimed}");
}

#[tokio::test]
async fn what_was_in_doubt_stays_in_doubt_and_need_not_be_waited_for_again() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..60).await;
    let enough = Notify::new();
    let letters = stand.letters().await;
    let lease = Duration::from_secs(1);
    let (selection, cut) = (all(), ReplayOptions::new().in_flight(10).claim_lease(lease).rate(10));
    let run = letters.replay(&selection, &cut, |_| enough.notify_one());
    tokio::select! {
        biased;
        () = enough.notified() => {}
        report = run => panic!("it should have been dropped: {report:?}"),
    }
    let left: Vec<_> = stand.all().await.into_iter().filter(|it| matches!(it.state, State::Claimed { .. })).collect();
    assert!(!left.is_empty());
    tokio::time::sleep(lease * 2).await;
    let enough = Notify::new();
    let (options, told) = (ReplayOptions::new().rate(20), |_: &bezoar::replay::Progress| enough.notify_one());
    let stopped = stand.letters().await.replay_until(&all(), &options, told, enough.notified()).await.unwrap();
    assert!(stopped.stopped && stopped.skipped == 0, "{stopped:?}");
    let (rest, _) = stand.replay(&ReplayOptions::new()).await;
    assert_eq!((rest.failed, rest.skipped), (0, 0));
    let mut doubted = [stopped.maybe_doubled, rest.maybe_doubled].concat();
    doubted.sort();
    assert_eq!(doubted, left.into_iter().map(|entry| entry.at).collect::<Vec<_>>());
}
