//! An instance: a process of its own, which is this test binary once more, with a consumer in it that notes all that it does.

mod fate;
mod handler;
mod spy;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bezoar::broker::{ConnectionSettings, Plane};
use bezoar::policy::DeadLetterTopics;
use bezoar::{Event, Raw};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

pub(crate) use self::fate::Fate;
use self::spy::Tenure;
use crate::journal::{Journal, What};
use crate::membership::Membership;
use crate::support::hasty;

/// What an instance is told, by its environment.
const SETTING: &str = "BEZOAR_TEST_GROUPS_INSTANCE";
const HOST: &str = "instance::an_instance_is_what_its_setting_says";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Setting {
    /// How it is called in the journal: `slot.life`.
    pub(crate) who: String,
    /// Where journal and logs are.
    pub(crate) folder: PathBuf,
    pub(crate) bootstrap: String,
    pub(crate) topic: String,
    pub(crate) group: String,
    pub(crate) membership: Membership,
    /// Decides the records' fates.
    pub(crate) seed: u64,
}

impl Setting {
    /// Starts the process, which ends when its standard input is closed. Killed when dropped.
    pub(crate) fn spawn(&self) -> Child {
        let log = std::fs::File::create(self.folder.join(format!("instance-{}.log", self.who))).unwrap();
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", HOST, "--nocapture"])
            .env(SETTING, serde_json::to_string(self).unwrap())
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }
}

/// Where the journal of a trial is.
pub(crate) fn journal(folder: &Path) -> PathBuf {
    folder.join("journal")
}

/// The process of an instance begins here.
#[test]
fn an_instance_is_what_its_setting_says() {
    let Ok(text) = std::env::var(SETTING) else {
        let setting = Setting {
            who: "2.1".to_owned(),
            folder: PathBuf::from("a folder"),
            bootstrap: "127.0.0.1:9092".to_owned(),
            topic: "orders".to_owned(),
            group: "fulfilment".to_owned(),
            membership: Membership::default(),
            seed: u64::MAX,
        };
        let told: Setting = serde_json::from_str(&serde_json::to_string(&setting).unwrap()).unwrap();
        assert_eq!(told, setting);
        return;
    };
    let setting = serde_json::from_str(&text).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run(setting));
    // Not waiting for the thread that reads the standard input.
    runtime.shutdown_background();
}

async fn run(setting: Setting) {
    let filter = tracing_subscriber::EnvFilter::new("warn,bezoar=info");
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    let journal = Journal::open(&journal(&setting.folder), &setting.who);
    let tenure = Tenure::new(setting.membership.lease());
    let mut terminated = signal(SignalKind::terminate()).unwrap();
    let mut connection = ConnectionSettings::new([&setting.bootstrap]);
    connection.fetch_max_wait = Duration::from_millis(100);
    // A broker that is away is looked for again soon.
    connection.connect_timeout = Duration::from_secs(2);
    let ports = loop {
        match Plane::Native.connect(connection.clone()).await {
            Ok(ports) => break ports,
            Err(error) => journal.tell(format!("cannot connect: {error}")),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let builder = bezoar::Consumer::builder(&setting.group)
        .ports(spy::watched(ports, &journal, &tenure))
        .policies(hasty())
        .dead_letter_topics(DeadLetterTopics::single())
        .commit_interval(Duration::from_millis(200))
        .start_attempts(1_000)
        .poison_timeout(Some(Duration::from_secs(300)))
        .topic(&setting.topic, Raw, handler::factory(journal.clone(), tenure, setting.seed));
    let builder = setting.membership.apply(builder);
    let mut events = builder.events();
    let noting = journal.clone();
    let noted = tokio::spawn(async move {
        while let Some(event) = events.next().await {
            note(&noting, event);
        }
    });
    let consumer = match builder.start().await {
        Ok(consumer) => consumer,
        Err(error) => return journal.note(What::Halted(format!("it does not start: {error}"))),
    };
    let asked = async move {
        let (mut input, mut nothing) = (tokio::io::stdin(), [0]);
        tokio::select! {
            _ = terminated.recv() => {}
            // Who started it is gone.
            _ = input.read(&mut nothing) => {}
        }
    };
    let ended = consumer.run_until(asked).await;
    let _ = noted.await;
    match ended {
        Ok(summary) => {
            journal.tell(format!("{summary:?}"));
            journal.note(What::Left);
        }
        Err(error) => journal.note(What::Halted(error.to_string())),
    }
}

/// Notes those events that tell of partitions coming and going.
fn note(journal: &Journal, event: Event) {
    match event {
        Event::Lost { partition, reason } => {
            journal.note(What::Lost { partition: partition.partition() });
            journal.tell(format!("{partition} is lost: {reason}"));
        }
        Event::Retrying { .. }
        | Event::Exhausted { .. }
        | Event::DeadLettered { .. }
        | Event::Alert { .. }
        | Event::HandlerLost { .. }
        | Event::Committed { .. } => {}
        other => journal.tell(format!("{other:?}")),
    }
}
