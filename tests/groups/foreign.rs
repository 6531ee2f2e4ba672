//! Members of groups that are other clients: Kafka's console consumer, and a consumer of librdkafka in Python.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::membership::Kind;
use crate::support::Client;
use crate::tools::{CONSUMER, Tools};

/// Which client.
#[derive(Clone)]
pub(crate) enum Maker {
    Java(Tools),
    /// The Python that has the package `confluent-kafka`.
    Librdkafka(String),
}

impl Maker {
    /// Kafka's console consumer, where its jars are.
    pub(crate) fn java(client: &Client) -> Option<Self> {
        let tools = Tools::find(&client.bootstrap);
        if tools.is_none() {
            println!("skipped: KAFKA_LIBS names no folder with Kafka's jars");
        }
        tools.map(Self::Java)
    }

    /// librdkafka, where `LIBRDKAFKA_PYTHON` names a Python that has it (`scripts/librdkafka` makes one).
    pub(crate) fn librdkafka() -> Option<Self> {
        let python = std::env::var("LIBRDKAFKA_PYTHON").ok();
        if python.is_none() {
            println!("skipped: LIBRDKAFKA_PYTHON names no Python with confluent-kafka; scripts/librdkafka makes one");
        }
        python.map(Self::Librdkafka)
    }

    /// Its member joins a group, with the client id `foreign`.
    pub(crate) fn join(&self, client: &Client, group: &str, topic: &str, kind: Kind) -> Foreign {
        let command = match self {
            Self::Java(tools) => {
                let mut properties = vec!["client.id=foreign".to_owned(), "auto.offset.reset=earliest".to_owned()];
                properties.push("auto.commit.interval.ms=200".to_owned());
                let assignor =
                    |name: &str| format!("partition.assignment.strategy=org.apache.kafka.clients.consumer.{name}");
                let of_classic = ["session.timeout.ms=6000".to_owned(), "heartbeat.interval.ms=500".to_owned()];
                match kind {
                    Kind::Consumer => properties.push("group.protocol=consumer".to_owned()),
                    Kind::Sticky => properties.push(assignor("CooperativeStickyAssignor")),
                    Kind::Range => properties.push(assignor("RangeAssignor")),
                    Kind::RoundRobin => properties.push(assignor("RoundRobinAssignor")),
                }
                if kind != Kind::Consumer {
                    properties.extend(of_classic);
                }
                let mut words = vec!["--topic", topic, "--group", group];
                words.extend(["--formatter-property", "print.partition=true"]);
                words.extend(properties.iter().flat_map(|property| ["--command-property", property]));
                tools.command(CONSUMER, &words)
            }
            Self::Librdkafka(python) => {
                let mut command = Command::new(python);
                let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/groups/member.py");
                command.args(["-u", program, &client.bootstrap, group, topic, kind.name()]);
                command.stdin(Stdio::null()).kill_on_drop(true);
                command
            }
        };
        Foreign::start(command)
    }
}

/// A member that runs.
pub(crate) struct Foreign {
    process: Child,
    printed: Arc<Mutex<Vec<String>>>,
}

impl Foreign {
    fn start(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let printed = Arc::<Mutex<Vec<String>>>::default();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        tokio::spawn(collect(lines, Arc::clone(&printed)));
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        tokio::spawn(collect(lines, Arc::clone(&printed)));
        Self { process, printed }
    }

    /// The records that it has printed: partition and value.
    pub(crate) fn seen(&self) -> Vec<(i32, String)> {
        let record = |line: &String| {
            let (partition, value) = line.strip_prefix("Partition:")?.split_once('\t')?;
            Some((partition.parse().ok()?, value.to_owned()))
        };
        self.printed.lock().unwrap().iter().filter_map(record).collect()
    }

    /// Has it leave the group, and waits for its end; what it saw.
    pub(crate) async fn leave(mut self) -> Vec<(i32, String)> {
        let id = self.process.id().expect("it runs").to_string();
        Command::new("kill").args(["-TERM", &id]).status().await.unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(60), self.process.wait()).await;
        ended.unwrap_or_else(|_| panic!("the other client does not end: {}", self.told())).unwrap();
        self.seen()
    }

    /// The end of what it printed, without records; for people.
    pub(crate) fn told(&self) -> String {
        let printed = self.printed.lock().unwrap();
        let lines: Vec<&str> =
            printed.iter().filter(|line| !line.starts_with("Partition:")).map(String::as_str).collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }
}

async fn collect<R: tokio::io::AsyncBufRead + Unpin>(mut lines: tokio::io::Lines<R>, printed: Arc<Mutex<Vec<String>>>) {
    while let Ok(Some(line)) = lines.next_line().await {
        printed.lock().unwrap().push(line);
    }
}
