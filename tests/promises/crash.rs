//! Promise 1 again: a consumer process that is killed at random points, and started again each time, loses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use bezoar::record::Record;
use bezoar::{Delivery, Failure, Raw, handler_fn};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::support::{Cluster, SOON, hasty, within};

const PARTITIONS: i32 = 4;
const PER_PARTITION: i64 = 5_000;
const KILLS: usize = 8;
const NAME: &str = "crash::a_process_killed_at_random_points_loses_nothing";

/// What the consumer process is told by its environment: where the broker is, topic, group, and the file to write to.
const SETTING: &str = "BEZOAR_TEST_CRASH";

/// This one test is both sides: it runs itself anew as the consumer process.
#[test]
fn a_process_killed_at_random_points_loses_nothing() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match std::env::var(SETTING) {
        Ok(setting) => runtime.block_on(consume(&setting)),
        Err(_) => runtime.block_on(kill_and_check()),
    }
}

/// The consumer process: notes each delivery in the file before it returns.
async fn consume(setting: &str) {
    let mut parts = setting.split('|');
    let mut part = || parts.next().unwrap().to_owned();
    let (bootstrap, topic, group, path) = (part(), part(), part(), part());
    let file = Arc::new(Mutex::new(OpenOptions::new().append(true).open(path).unwrap()));
    let handler = handler_fn(move |_: Record, delivery: Delivery| {
        let (partition, offset, attempt) = (delivery.partition(), delivery.offset(), delivery.attempt());
        let note = |what: &str| {
            let line = format!("{what} {partition} {offset}\n");
            // One write: a kill leaves the whole line or nothing.
            file.lock().unwrap().write_all(line.as_bytes()).unwrap();
        };
        if attempt == 1 {
            note("first");
        }
        let result = match offset % 500 {
            100 => Err(Failure::validation("never")),
            200 if attempt < 3 => Err(Failure::transient("not yet")),
            300 => {
                note("panics");
                panic!("poison")
            }
            _ => {
                note("handled");
                Ok(())
            }
        };
        async move {
            tokio::task::yield_now().await;
            result
        }
    });
    let consumer = bezoar::Consumer::builder(group)
        .bootstrap(&bootstrap)
        .assignment(bezoar::consumer::Assignment::Manual)
        .policies(hasty())
        .dead_letter_topics(bezoar::policy::DeadLetterTopics::single())
        .commit_interval(std::time::Duration::from_millis(10))
        .topic(topic, Raw, handler)
        .start()
        .await
        .unwrap();
    // Until it is killed.
    drop(consumer.run_until(std::future::pending::<()>()).await);
}

fn start(setting: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(SETTING, setting)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What the processes have noted: what was handled, and the first offset that was delivered of each partition.
#[derive(Default)]
struct Noted {
    handled: BTreeSet<(i32, i64)>,
    first: BTreeMap<i32, i64>,
    lines: usize,
}

/// Reads the notes, and checks the order of the process that began to write after line `from`.
fn read(path: &Path, from: usize) -> Noted {
    let mut noted = Noted::default();
    let mut last = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let mut words = line.split(' ');
        let what = words.next().unwrap();
        let partition: i32 = words.next().unwrap().parse().unwrap();
        let offset: i64 = words.next().unwrap().parse().unwrap();
        if what == "handled" {
            noted.handled.insert((partition, offset));
        }
        if what == "first" && noted.lines >= from {
            noted.first.entry(partition).or_insert(offset);
            let before = last.insert(partition, offset);
            assert!(before.is_none_or(|before| before + 1 == offset), "{partition}: {offset} came after {before:?}");
        }
        noted.lines += 1;
    }
    noted
}

async fn kill_and_check() {
    let cluster = Cluster::start().await;
    let (topic, group) = (cluster.topic("killed", PARTITIONS).await, cluster.name("killed"));
    for partition in 0..PARTITIONS {
        for start in (0..PER_PARTITION).step_by(500) {
            cluster.values(&topic, partition, start..start + 500).await;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("handled");
    File::create(&path).unwrap();
    let setting = format!("{}|{topic}|{group}|{}", cluster.bootstrap, path.display());
    let dead_letters = format!("{topic}.dlq");
    let mut random = StdRng::seed_from_u64(u64::from(std::process::id()));
    let mut before = 0;
    let mut settled_before = BTreeSet::new();
    for run in 0..=KILLS {
        let mut process = start(&setting);
        let wanted = before + random.random_range(200..4_000);
        let stop = async || match run {
            KILLS => {
                let mut all = true;
                for partition in 0..PARTITIONS {
                    all &= cluster.committed(&group, &topic, partition).await == Some(PER_PARTITION);
                }
                all
            }
            _ => {
                read(&path, before).lines >= wanted || cluster.committed(&group, &topic, 0).await == Some(PER_PARTITION)
            }
        };
        within(SOON * 2, &format!("process {run} gets on"), stop).await;
        process.kill().unwrap();
        process.wait().unwrap();

        let noted = read(&path, before);
        before = noted.lines;
        // It began where all before was settled already.
        for (partition, first) in &noted.first {
            for offset in 0..*first {
                assert!(settled_before.contains(&(*partition, offset)), "run {run} skipped {partition}/{offset}");
            }
        }
        let letters = cluster.dead_letters(&dead_letters).await;
        let source = |letter: &bezoar::replay::DeadLetter| {
            let origin = &letter.origin;
            (origin.partition.unwrap(), origin.offset.unwrap())
        };
        let dead: BTreeSet<(i32, i64)> = letters.iter().map(source).collect();
        assert!(dead.is_disjoint(&noted.handled));
        settled_before = noted.handled.union(&dead).copied().collect();
        // Nothing committed passes what is not settled.
        for partition in 0..PARTITIONS {
            for offset in 0..cluster.committed(&group, &topic, partition).await.unwrap_or(0) {
                assert!(settled_before.contains(&(partition, offset)), "run {run}: {partition}/{offset} is lost");
            }
        }
    }
    assert_eq!(settled_before.len() as i64, i64::from(PARTITIONS) * PER_PARTITION);
    crate::tools::assert_committed(&cluster, &group, &topic, PARTITIONS, PER_PARTITION);
}
