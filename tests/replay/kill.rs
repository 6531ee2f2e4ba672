//! A process that replays is killed at random points, and started again each time: nothing is lost, and what may be there twice is
//! told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::num::NonZeroU32;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bezoar::broker::{ConnectionSettings, OffsetSpec, Plane};
use bezoar::replay::{DeadLetters, Filter, Outcome, Selection};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::fixture::{PATIENCE, partition};
use crate::stand::{Stand, header, options};

/// What the replaying process is told by its environment: broker, dead-letter topic, file to write to, window.
const SETTING: &str = "BEZOAR_TEST_REPLAY";

/// Each test is both sides: it runs itself anew as the replaying process.
fn both_sides(test: &str, letters: i32, in_flight: u32, kills: u32) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match std::env::var(SETTING) {
        Ok(setting) => runtime.block_on(replay(&setting)),
        Err(_) => runtime.block_on(kill_and_check(test, letters, in_flight, kills)),
    }
}

#[test]
fn ten_thousand_letters_survive_kills_at_random_points() {
    both_sides("kill::ten_thousand_letters_survive_kills_at_random_points", 10_000, 100, 6);
}

#[test]
fn one_at_a_time_doubles_one_at_most() {
    both_sides("kill::one_at_a_time_doubles_one_at_most", 300, 1, 4);
}

/// The replaying process: goes on until nothing is left, and notes what may be there twice as it is told.
async fn replay(setting: &str) {
    let mut parts = setting.split('|');
    let mut part = || parts.next().unwrap().to_owned();
    let (bootstrap, dead, path, in_flight) = (part(), part(), part(), part());
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    let ports = Plane::Native.connect(ConnectionSettings::new([bootstrap])).await.unwrap();
    let letters = DeadLetters::new(ports, [dead]);
    let options = options(|options| {
        options.in_flight = NonZeroU32::new(in_flight.parse().unwrap()).unwrap();
        options.claim_lease = Duration::from_secs(1);
    });
    loop {
        let selection = Selection::Matching(Filter::new());
        let report = letters.replay(&selection, &options, |progress| {
            if progress.maybe_doubled && matches!(progress.outcome, Outcome::Success(_)) {
                // One write: a kill leaves the whole line or nothing.
                file.write_all(format!("{}\n", progress.at).as_bytes()).unwrap();
            }
        });
        let report = report.await.unwrap();
        assert_eq!(report.failed, 0);
        if report.skipped == 0 {
            return;
        }
        // Claimed by the process before, a moment ago.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn start(test: &str, setting: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(SETTING, setting)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

async fn kill_and_check(test: &str, letters: i32, in_flight: u32, kills: u32) {
    let stand = Stand::new(2).await;
    let per_partition = letters / 2;
    for number in 0..2 {
        for start in (0..per_partition).step_by(500) {
            stand.fail_values(number, start..(start + 500).min(per_partition)).await;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("doubled");
    File::create(&path).unwrap();
    let setting = format!("{}|{}|{}|{in_flight}", stand.fixture.address, stand.dead, path.display());
    let sent = async || {
        let mut sent = -i64::from(letters);
        for number in 0..2 {
            sent +=
                stand.fixture.ports.admin.offset(partition(&stand.source, number), OffsetSpec::Latest).await.unwrap();
        }
        sent
    };
    let seed = u64::from(std::process::id());
    let mut random = StdRng::seed_from_u64(seed);
    let share = i64::from(letters) / i64::from(kills + 1);
    for _ in 0..kills {
        let before = sent().await;
        let wanted = before + random.random_range(1..share);
        let mut process = start(test, &setting);
        let deadline = Instant::now() + PATIENCE;
        while sent().await < wanted && process.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "the replay gets on");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let mut process = start(test, &setting);
    let deadline = Instant::now() + PATIENCE * 2;
    let ended = loop {
        if let Some(ended) = process.try_wait().unwrap() {
            break ended;
        }
        assert!(Instant::now() < deadline, "the last run ends");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(ended.success());

    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for number in 0..2 {
        for record in stand.replayed(&stand.source, number).await {
            let of = header(&record, "bezoar.replay.of").unwrap();
            *times.entry(of.clone()).or_default() += 1;
            ids.entry(of).or_default().insert(header(&record, "bezoar.replay.id").unwrap());
        }
    }
    assert_eq!(times.len(), letters as usize, "nothing is lost");
    let told: BTreeSet<String> = std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    let doubled: BTreeSet<String> = times.iter().filter(|(_, times)| **times > 1).map(|(of, _)| of.clone()).collect();
    let untold: Vec<&String> = doubled.difference(&told).collect();
    assert!(untold.is_empty(), "seed {seed}: doubled and not told: {untold:?}");
    let extra: u64 = times.values().map(|times| times - 1).sum();
    assert!(extra <= u64::from(in_flight * kills), "seed {seed}: {extra} doubles");
    assert!(told.len() <= (in_flight * kills) as usize, "{} are told", told.len());
    assert!(in_flight == 1 || !told.is_empty(), "a kill leaves something under way");
    // Both of a pair are known for replays of one letter.
    assert!(ids.values().all(|ids| ids.len() == 1));
    assert!(stand.all().await.iter().all(|entry| entry.state.is_resolved()));
}
