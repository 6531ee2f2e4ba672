//! Runs that stand still for longer than their claims hold, while others go on with their letters.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::ErrorCode;
use bezoar::embedded::{Api, Fault};
use bezoar::replay::{DeadLetters, Filter, Outcome, ReplayReport, Selection, State};

use crate::stand::{Stand, header, options};

fn all() -> Selection {
    Selection::Matching(Filter::new())
}

/// Starts a run, suspends it once it has sent `sent` letters, for longer than its claims hold, lets `meanwhile` happen, and lets it
/// go on.
async fn suspended(
    stand: &Stand,
    sent: u32,
    change: impl FnOnce(&mut bezoar::replay::ReplayOptions),
    meanwhile: impl AsyncFnOnce(),
) -> ReplayReport {
    let lease = Duration::from_secs(1);
    let slow = options(|options| {
        options.rate = NonZeroU32::new(10);
        options.claim_lease = lease;
        change(options);
    });
    let letters = stand.letters().await;
    let (selection, count) = (all(), AtomicU32::new(0));
    let enough = tokio::sync::Notify::new();
    let run = letters.replay(&selection, &slow, |_| {
        if count.fetch_add(1, Relaxed) + 1 == sent {
            enough.notify_one();
        }
    });
    tokio::pin!(run);
    tokio::select! {
        biased;
        () = enough.notified() => {}
        report = &mut run => panic!("it should have been suspended: {report:?}"),
    }
    tokio::time::sleep(lease + Duration::from_millis(500)).await;
    meanwhile().await;
    run.await.unwrap()
}

/// How often each letter was sent.
async fn times(stand: &Stand) -> BTreeMap<String, u32> {
    let mut times = BTreeMap::new();
    for record in stand.replayed(&stand.source, 0).await {
        *times.entry(header(&record, "bezoar.replay.of").unwrap()).or_default() += 1;
    }
    times
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_suspended_run_takes_back_is_not_what_another_has_sent_meanwhile() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fail_values(0, 0..30).await;
    let other = Mutex::new(ReplayReport::default());
    let stopped = suspended(
        &stand,
        2,
        |options| options.stop_at_first_error = true,
        async || {
            let (report, _) = stand.replay(&options(|_| {})).await;
            *other.lock().unwrap() = report;
            broker.inject(Fault::on(Api::Produce).topic(&stand.source).times(1).error(ErrorCode(29)));
        },
    )
    .await;
    let other = other.into_inner().unwrap();
    let mut told: BTreeSet<String> = other.maybe_doubled.iter().map(ToString::to_string).collect();
    assert!(stand.all().await.iter().all(|entry| matches!(entry.state, State::Replayed { .. })), "{stopped:?}");
    let (report, _) = stand.replay(&options(|_| {})).await;
    told.extend(report.maybe_doubled.iter().map(ToString::to_string));
    let doubled: BTreeSet<String> =
        times(&stand).await.into_iter().filter(|(_, times)| *times > 1).map(|(of, _)| of).collect();
    assert!(doubled.is_subset(&told), "{:?}", doubled.difference(&told));
    assert_eq!(report.success, 0, "nothing was left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_records_of_a_letter_that_two_runs_sent_have_its_origin() {
    let stand = Stand::new(1).await;
    stand.fail_values(0, 0..15).await;
    let other = Mutex::new(ReplayReport::default());
    let first = suspended(
        &stand,
        2,
        |_| {},
        async || {
            let (report, _) = stand.replay(&options(|_| {})).await;
            *other.lock().unwrap() = report;
        },
    )
    .await;
    let other = other.into_inner().unwrap();
    assert_eq!(first.failed + other.failed, 0);
    let told: BTreeSet<String> =
        first.maybe_doubled.iter().chain(&other.maybe_doubled).map(ToString::to_string).collect();
    let times = times(&stand).await;
    assert_eq!(times.len(), 15);
    let doubled: BTreeSet<String> = times.into_iter().filter(|(_, times)| *times > 1).map(|(of, _)| of).collect();
    assert!(doubled.is_subset(&told), "{doubled:?} {told:?}");
    let origins = crate::origins::Told::default();
    let consumer = crate::origins::consumer(&stand, &origins, &stand.source).start().await.unwrap();
    crate::origins::catch_up(&consumer).await;
    consumer.shutdown().await.unwrap();
    let first_ones: BTreeSet<String> = (0..15).map(|offset| format!("{}/0/{offset}", stand.source)).collect();
    for (at, origin) in origins.lock().unwrap().iter() {
        assert!(first_ones.contains(origin), "{at} has {origin} as its origin: {doubled:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_that_another_run_failed_to_send_between_look_and_claim_is_told() {
    let stand = Stand::new(1).await;
    let Some(broker) = &stand.fixture.embedded else { return };
    stand.fail_values(0, 0..1).await;
    // The answer is lost, the record is there.
    let lost = broker.inject(Fault::on(Api::Produce).topic(&stand.source).forever().drop_after_effect());
    let ports = stand
        .fixture
        .with(|settings| {
            settings.request_timeout = Duration::from_secs(1);
            settings.produce.delivery_timeout = Duration::from_secs(2);
        })
        .await;
    let hasty = DeadLetters::new(ports, [stand.dead.as_str()]);
    let (runtime, other) = (tokio::runtime::Handle::current(), Arc::new(Mutex::new(None)));
    let meanwhile = {
        let other = Arc::clone(&other);
        move || {
            let run = async {
                let mut told = Vec::new();
                hasty.replay(&all(), &options(|_| {}), |progress| told.push(progress.clone())).await.unwrap();
                lost.remove();
                told
            };
            *other.lock().unwrap() = Some(tokio::task::block_in_place(|| runtime.block_on(run)));
        }
    };
    let first = std::sync::Once::new();
    let (report, told) = stand
        .replay(&options(|options| {
            options.claim_lease = Duration::from_secs(1);
            options.fix = Some(Arc::new(move |_, record| {
                first.call_once(&meanwhile);
                Ok(record)
            }));
        }))
        .await;
    let other = other.lock().unwrap().take().unwrap();
    assert!(matches!(&other[0].outcome, Outcome::Failed(_)), "{other:?}");
    let mut doubled = report.maybe_doubled.clone();
    while !stand.all().await[0].state.is_resolved() {
        // Claimed by the run before, a moment ago.
        tokio::time::sleep(Duration::from_millis(200)).await;
        doubled.extend(stand.replay(&options(|_| {})).await.0.maybe_doubled);
    }
    let sent = times(&stand).await;
    assert!(sent.values().all(|times| *times == 1) || doubled.len() == 1, "{sent:?}: {told:?}");
}
