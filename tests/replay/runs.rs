//! Runs that go on side by side, are interrupted, fail half-way or are held back.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use bezoar::broker::{ErrorCode, NewTopic};
use bezoar::embedded::{Api, Fault};
use bezoar::replay::{Filter, Outcome, ReplayError, Selection, Skip, State};

use crate::fixture::PATIENCE;
use crate::stand::{Stand, options, outcomes};

fn all() -> Selection {
    Selection::Matching(Filter::new())
}

fn window(size: u32) -> NonZeroU32 {
    NonZeroU32::new(size).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_at_once_never_double() {
    let stand = Stand::new(2).await;
    for number in 0..2 {
        stand.fail_values(number, number * 1000..number * 1000 + 300).await;
    }
    let options = options(|options| options.in_flight = window(20));
    let runs = (stand.letters().await, stand.letters().await);
    let selection = all();
    let (one, other) =
        tokio::join!(runs.0.replay(&selection, &options, |_| {}), runs.1.replay(&selection, &options, |_| {}),);
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!((one.failed, other.failed), (0, 0));
    assert_eq!(one.success + other.success, 600, "{one:?} {other:?}");
    assert_eq!((one.maybe_doubled, other.maybe_doubled), (Vec::new(), Vec::new()));
    let values = stand.replayed_values().await;
    assert_eq!((values.len(), values.into_iter().collect::<BTreeSet<_>>().len()), (600, 600));
    assert!(stand.all().await.iter().all(|entry| matches!(entry.state, State::Replayed { .. })));
}

#[tokio::test]
async fn what_a_dropped_run_had_under_way_is_sent_by_a_later_one_and_told() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..50).await;
    let cut = options(|options| {
        options.in_flight = window(10);
        options.claim_lease = Duration::from_secs(2);
    });
    let letters = stand.letters().await;
    let selection = all();
    {
        let count = std::sync::atomic::AtomicU32::new(0);
        let enough = tokio::sync::Notify::new();
        let run = letters.replay(&selection, &cut, |_| {
            if count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 14 {
                enough.notify_one();
            }
        });
        tokio::select! {
            biased;
            () = enough.notified() => {}
            report = run => panic!("it should have been dropped: {report:?}"),
        }
    }
    let claimed = |entries: &[bezoar::replay::Entry]| {
        entries
            .iter()
            .filter(|it| matches!(it.state, State::Claimed { .. }))
            .map(|it| it.at.clone())
            .collect::<BTreeSet<_>>()
    };
    let left = claimed(&stand.all().await);
    assert!((1..=10).contains(&left.len()), "{left:?}");
    // At first they are left alone, and the others are sent.
    let mut told = BTreeSet::new();
    let mut success = 0;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (report, progress) = stand.replay(&options(|_| {})).await;
        assert_eq!(report.failed, 0);
        success += report.success;
        told.extend(report.maybe_doubled);
        for skipped in progress.iter().filter(|it| matches!(it.outcome, Outcome::Skipped(_))) {
            assert!(matches!(skipped.outcome, Outcome::Skipped(Skip::Claimed(_))), "{skipped:?}");
            assert!(left.contains(&skipped.at));
        }
        if report.skipped == 0 {
            break;
        }
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(told, left);
    assert!(success <= 50 - 5, "{success}");
    let values = stand.replayed_values().await;
    let distinct: BTreeSet<_> = values.iter().collect();
    assert_eq!(distinct.len(), 50);
    assert!(values.len() - 50 <= left.len());
    // Records that came twice are known for what they are.
    let replayed = stand.replayed(&stand.source, 0).await;
    let ids: BTreeSet<_> = replayed.iter().map(|it| crate::stand::header(it, "bezoar.replay.id")).collect();
    assert_eq!(ids.len(), 50);
}

#[tokio::test]
async fn no_more_are_under_way_than_allowed() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fail_values(0, 0..30).await;
    let slow = Fault::on(Api::Produce).topic(&stand.source).forever().delay(Duration::from_millis(30));
    broker.inject(slow);
    let letters = stand.letters().await;
    let (selection, options) = (all(), options(|options| options.in_flight = window(4)));
    let run = letters.replay(&selection, &options, |_| {});
    tokio::pin!(run);
    let mut most = 0;
    let report = loop {
        tokio::select! {
            report = &mut run => break report.unwrap(),
            entries = stand.all() => {
                let claimed = entries.iter().filter(|it| matches!(it.state, State::Claimed { .. })).count();
                most = most.max(claimed);
            }
        }
    };
    assert_eq!(report.success, 30);
    assert!((1..=4).contains(&most), "{most}");
}

#[tokio::test]
async fn a_rate_is_kept() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..11).await;
    let started = Instant::now();
    let (report, _) = stand.replay(&options(|options| options.rate = NonZeroU32::new(10))).await;
    assert_eq!(report.success, 11);
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_failed_send_leaves_the_letter_and_the_rest_goes_on_unless_told_otherwise() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fail_values(0, 0..6).await;
    let refuse = || {
        let refused = Fault::on(Api::Produce).topic(&stand.source).after(2).times(1);
        broker.inject(refused.error(ErrorCode::MESSAGE_TOO_LARGE))
    };
    let fault = refuse();
    let (report, told) =
        stand.replay(&options(|options| (options.in_flight, options.stop_at_first_error) = (window(1), true))).await;
    assert_eq!(fault.fired(), 1);
    assert_eq!((report.success, report.failed, report.stopped), (2, 1, true));
    let Outcome::Failed(reason) = &outcomes(told)[2] else { panic!() };
    assert!(reason.contains("MESSAGE_TOO_LARGE"), "{reason}");
    let entries = stand.all().await;
    assert_eq!(entries[2].state.result(), Some(format!("failed: {reason}")));
    assert!(entries[3..].iter().all(|entry| entry.state == State::Unresolved));

    let fault = refuse();
    let (report, _) = stand.replay(&options(|options| options.in_flight = window(1))).await;
    assert_eq!(fault.fired(), 1);
    assert_eq!((report.success, report.failed, report.stopped), (3, 1, false));
    let (report, _) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.failed), (1, 0));
    // It was refused: nobody need fear that it is there twice.
    assert_eq!(report.maybe_doubled, []);
    assert_eq!(stand.replayed_values().await.len(), 6);
}

#[tokio::test]
async fn a_run_that_stops_takes_back_what_it_has_not_sent() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fail_values(0, 0..40).await;
    let refused = Fault::on(Api::Produce).topic(&stand.source).forever().error(ErrorCode(29));
    let fault = broker.inject(refused);
    let stop = options(|options| {
        options.stop_at_first_error = true;
        options.rate = NonZeroU32::new(20);
    });
    let (report, _) = stand.replay(&stop).await;
    assert!(report.stopped && report.success == 0 && report.failed >= 1, "{report:?}");
    let entries = stand.all().await;
    assert!(!entries.iter().any(|entry| matches!(entry.state, State::Claimed { .. })));
    assert!(entries.iter().filter(|entry| entry.state == State::Unresolved).count() >= 20);
    fault.remove();
    let (report, _) = stand.replay(&options(|_| {})).await;
    assert_eq!((report.success, report.skipped), (40, 0));
}

#[tokio::test]
async fn a_target_that_is_not_there_fails_with_the_reason() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..1).await;
    let gone = crate::fixture::unique("gone");
    let (report, told) = stand
        .replay(&options(|options| {
            options.target = Some(gone.as_str().into());
            options.allowed_targets = vec![gone.as_str().into()];
        }))
        .await;
    assert_eq!(report.failed, 1);
    assert!(matches!(&told[0].outcome, Outcome::Failed(reason) if reason.contains("does not exist")), "{told:?}");
}

#[tokio::test]
async fn a_marks_topic_that_would_forget_is_refused() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..1).await;
    let marks = format!("{}.replays", stand.dead);
    let unfit = NewTopic::new(&marks, 1).replication(1).config("cleanup.policy", "delete");
    stand.fixture.ports.admin.create_topic(unfit).await.unwrap();
    let letters = stand.letters().await;
    let error = letters.replay(&all(), &options(|_| {}), |_| {}).await.unwrap_err();
    assert!(matches!(&error, ReplayError::MarksTopic { topic, .. } if *topic == marks), "{error}");
    assert!(error.to_string().contains("set cleanup.policy=compact"), "{error}");
    assert!(stand.replayed_values().await.is_empty());
}

#[tokio::test]
async fn marks_that_are_none_are_ignored() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..3).await;
    let (report, _) = stand.replay_these(&Selection::These(vec![stand.at(0, 0)]), &options(|_| {})).await;
    assert_eq!(report.success, 1);
    let marks = crate::fixture::partition(&format!("{}.replays", stand.dead), 0);
    let key = |offset| stand.at(0, offset).to_string();
    let later = r#"{"version": 2, "state": "replayed", "replay_result": "success: orders/0/1"}"#;
    let garbage = [(key(1), "{"), (key(2), later), ("garbage".to_owned(), later), ("orders/0/0".to_owned(), "")];
    let records = garbage.map(|(key, value)| bezoar::record::ProducerRecord::to("").key(key).value(value));
    stand.fixture.produce(&marks, records.to_vec()).await;
    let (report, _) = stand.replay(&options(|_| {})).await;
    assert_eq!(report.success, 2);
}

#[tokio::test]
async fn marks_of_a_topic_that_was_made_anew_say_nothing_of_the_new_one() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fail_values(0, 0..2).await;
    assert_eq!(stand.replay(&options(|_| {})).await.0.success, 2);
    broker.recreate_topic(&stand.dead).unwrap();
    stand.fail_values(0, 2..4).await;
    assert!(stand.all().await.iter().all(|entry| entry.state == State::Unresolved));
    assert_eq!(stand.replay(&options(|_| {})).await.0.success, 2);
    assert_eq!(stand.replayed_values().await, ["0", "1", "2", "3"]);
}
