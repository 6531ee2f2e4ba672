use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bezoar::replay::DeadLetter;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::check::{Facts, Findings, check, history};
use super::instances::{Instances, State};
use super::load::Load;
use crate::instance::{Setting, journal};
use crate::journal::{Journal, read};
use crate::membership::{Kind, Membership};
use crate::place::Place;
use crate::support::{Client, turn};

const PARTITIONS: i32 = 6;
/// The members' session: as short as brokers allow on a machine that is busy.
const SESSION: Duration = Duration::from_secs(3);
/// How long what is left may take in the end.
const PATIENCE: Duration = Duration::from_secs(180);
/// How few run before another is started.
const FEWEST: usize = 2;

struct Trial {
    seed: u64,
    place: Arc<Place>,
    /// The crash of the broker that is under way.
    crash: Option<JoinHandle<()>>,
    client: Arc<Client>,
    topic: String,
    group: String,
    folder: PathBuf,
    journal: Journal,
    random: StdRng,
    instances: Instances,
}

/// What is done to the instances, or to the broker.
#[derive(Debug, Clone, Copy)]
enum Act {
    Start,
    Kill,
    Stop,
    Leave,
    Crash,
}

pub(crate) async fn run(kind: Kind) {
    let _turn = turn().await;
    let place = Place::find_own(SESSION).await;
    let Some(mut trial) = Trial::prepare(kind, place).await else { return };
    println!("{kind:?} with BEZOAR_TRIAL_SEED={}", trial.seed);
    let outcome = trial.pass().await;
    let entries = read(&journal(&trial.folder));
    match outcome {
        Ok(findings) if findings.violations.is_empty() => {
            println!("{} lines of journal: {findings:?}", entries.len());
            let idle = findings.handovers < 3 || findings.letters == 0 || findings.retries == 0;
            assert!(!idle, "too little happened for a trial: {findings:?}");
            std::fs::remove_dir_all(&trial.folder).unwrap();
            trial.place.wipe().await;
        }
        Ok(findings) => {
            let found: Vec<String> =
                findings.violations.iter().take(5).map(|violation| history(&entries, violation)).collect();
            let count = findings.violations.len();
            panic!("{} found {count} violations, the first:\n{}", trial.told(), found.join("\n"));
        }
        Err(trouble) => {
            let last: Vec<String> =
                entries[entries.len().saturating_sub(60)..].iter().map(ToString::to_string).collect();
            panic!("{}: {trouble}\nThe journal ends with\n{}", trial.told(), last.join("\n"));
        }
    }
}

impl Trial {
    /// `None` where the broker can't be brought to short sessions.
    async fn prepare(kind: Kind, place: Place) -> Option<Self> {
        let seed = match std::env::var("BEZOAR_TRIAL_SEED") {
            Ok(seed) => seed.parse().expect("BEZOAR_TRIAL_SEED is a number"),
            Err(_) => rand::random(),
        };
        let client = Client::connect(&place.bootstrap()).await;
        let name = format!("chaos-{}", kind.name());
        let (topic, group) = (client.topic(&name, PARTITIONS).await, client.name(&name));
        if kind == Kind::Consumer && !place.set_session(&group, SESSION).await {
            return None;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&group);
        std::fs::create_dir_all(&folder).unwrap();
        let journal = Journal::open(&journal(&folder), "test");
        let mut random = StdRng::seed_from_u64(seed);
        let setting = Setting {
            who: String::new(),
            folder: folder.clone(),
            bootstrap: place.bootstrap(),
            topic: topic.clone(),
            group: group.clone(),
            membership: Membership::of(kind, SESSION),
            seed,
        };
        let instances = Instances::new(setting, journal.clone(), &mut random);
        let (place, client) = (Arc::new(place), Arc::new(client));
        Some(Self { seed, place, crash: None, client, topic, group, folder, journal, random, instances })
    }

    fn told(&self) -> String {
        format!("the trial with BEZOAR_TRIAL_SEED={} (journal and logs are in {})", self.seed, self.folder.display())
    }

    async fn pass(&mut self) -> Result<Findings, String> {
        let load = Load::start(&self.client, &self.group, &self.topic, PARTITIONS);
        let disorder = self.disorder().await;
        let produced = load.stop().await?;
        disorder?;
        self.journal.tell(format!("{produced} records were acknowledged; what is left is handled"));
        let ends = self.settle().await?;
        self.instances.end(PATIENCE).await?;
        let total: i64 = ends.iter().sum();
        if (total as usize) < produced {
            return Err(format!("{produced} records were acknowledged, and the logs hold {total}"));
        }
        let letters = self.client.read(&format!("{}.dlq", self.topic)).await;
        let source = |letter| DeadLetter::from_record(letter).origin.record().unwrap();
        let letters: BTreeSet<(i32, i64)> =
            letters.iter().map(source).map(|source| (source.partition.partition(), source.offset)).collect();
        Ok(check(&read(&journal(&self.folder)), &Facts { seed: self.seed, ends, letters }))
    }

    /// Instances come and go, and the broker crashes. Each act is done at least once.
    async fn disorder(&mut self) -> Result<(), String> {
        let until = Instant::now() + self.length();
        for slot in 0..FEWEST + 1 {
            self.instances.start(slot);
        }
        let mut first = [Act::Start, Act::Kill, Act::Stop, Act::Leave, Act::Crash];
        first.shuffle(&mut self.random);
        let mut first = first.into_iter();
        loop {
            let pause = Duration::from_millis(self.random.random_range(300..2_000));
            self.wait(pause).await?;
            let act = match first.next() {
                Some(act) => act,
                None if Instant::now() >= until => return Ok(()),
                None => match self.random.random_range(0..100) {
                    0..30 => Act::Start,
                    30..55 => Act::Kill,
                    55..70 => Act::Stop,
                    70..93 => Act::Leave,
                    _ => Act::Crash,
                },
            };
            self.act(act).await;
        }
    }

    /// How long the disorder lasts, apart from what must happen in it.
    fn length(&self) -> Duration {
        let seconds = match std::env::var("BEZOAR_TRIAL_SECONDS") {
            Ok(seconds) => seconds.parse().expect("BEZOAR_TRIAL_SECONDS is a number"),
            Err(_) if self.place.is_embedded() => 12,
            Err(_) if self.place.is_ours() => 45,
            Err(_) => 30,
        };
        Duration::from_secs(seconds)
    }

    async fn act(&mut self, act: Act) {
        match act {
            Act::Start => {
                if let Some(slot) = self.choose(|state| state == State::Empty) {
                    self.instances.start(slot);
                }
            }
            Act::Kill => {
                // Those that are stopped, and those that leave, too.
                if let Some(slot) = self.choose(|state| state != State::Empty) {
                    self.instances.kill(slot).await;
                }
            }
            Act::Stop => {
                if let Some(slot) = self.choose(|state| state == State::Runs) {
                    let past = Duration::from_millis(self.random.random_range(200..2_000));
                    self.instances.stop(slot, Instant::now() + SESSION + past).await;
                }
            }
            Act::Leave => {
                if let Some(slot) = self.choose(|state| state == State::Runs) {
                    self.instances.leave(slot).await;
                }
            }
            Act::Crash => {
                if self.place.is_ours() && self.crash.as_ref().is_none_or(JoinHandle::is_finished) {
                    let (place, journal) = (Arc::clone(&self.place), self.journal.clone());
                    // Meanwhile the rest goes on.
                    self.crash = Some(tokio::spawn(async move {
                        journal.tell("the broker goes down");
                        place.crash().await;
                        journal.tell("the broker is back");
                    }));
                }
            }
        }
    }

    fn choose(&mut self, wanted: impl Fn(State) -> bool) -> Option<usize> {
        self.instances.which(wanted).choose(&mut self.random).copied()
    }

    /// Lets time pass, in which stopped instances go on when it is their time, and enough run.
    async fn wait(&mut self, pause: Duration) -> Result<(), String> {
        let until = Instant::now() + pause;
        loop {
            self.instances.reap()?;
            self.instances.go_on(Some(Instant::now())).await;
            while self.instances.which(|state| state == State::Runs).len() < FEWEST
                && let Some(slot) = self.choose(|state| state == State::Empty)
            {
                self.instances.start(slot);
            }
            if Instant::now() >= until {
                return Ok(());
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until everything in the logs is committed; where they end.
    async fn settle(&mut self) -> Result<Vec<i64>, String> {
        self.instances.go_on(None).await;
        if let Some(crash) = self.crash.take() {
            crash.await.map_err(|error| format!("the broker does not come back: {error}"))?;
        }
        let mut ends = Vec::new();
        for partition in 0..PARTITIONS {
            ends.push(self.client.end(&self.topic, partition).await.ok_or("the broker is away in the end")?);
        }
        let wanted: Vec<Option<i64>> = ends.iter().map(|end| Some(*end)).collect();
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.wait(Duration::from_millis(100)).await?;
            let committed = self.client.committed(&self.group, &self.topic, PARTITIONS).await;
            if committed.as_ref() == Some(&wanted) {
                return Ok(ends);
            }
            if Instant::now() >= deadline {
                return Err(format!("after {PATIENCE:?} {committed:?} is committed of logs that end at {ends:?}"));
            }
        }
    }
}
