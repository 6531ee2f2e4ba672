use std::ffi::OsStr;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bezoar::broker::{ConnectionSettings, Feed, NewTopic, OffsetSpec, Plane, Ports};
use bezoar::embedded::Broker;
use bezoar::producer::Producer;
use bezoar::record::{ProducerRecord, TopicPartition};
use bytes::Bytes;
use serde_json::Value;
use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

/// Generous: a command takes some milliseconds on an idle machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// A broker, and topics that are this test's alone.
pub(crate) struct Stage {
    pub(crate) bootstrap: String,
    /// A source topic, empty; its dead-letter topics are named after it.
    pub(crate) orders: String,
    pub(crate) ports: Ports,
    producer: Producer,
    pub(crate) embedded: Option<Broker>,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let given = std::env::var("KAFKA_BOOTSTRAP").ok();
        let embedded = if given.is_none() { Some(Broker::start().await.unwrap()) } else { None };
        let bootstrap = given.unwrap_or_else(|| embedded.as_ref().unwrap().bootstrap());
        let ports = Plane::Native.connect(ConnectionSettings::new([&bootstrap])).await.unwrap();
        let orders = format!("orders-{}", &Uuid::new_v4().simple().to_string()[..8]);
        let producer = Producer::new(ports.clone(), Handle::current());
        let stage = Self { bootstrap, orders, ports, producer, embedded };
        stage.create(&stage.orders, 1).await;
        stage
    }

    pub(crate) async fn create(&self, topic: &str, partitions: i32) {
        self.ports.admin.create_topic(NewTopic::new(topic, partitions).replication(1)).await.unwrap();
    }

    /// The dead-letter topic of a category.
    pub(crate) fn dlq(&self, category: &str) -> String {
        format!("{}.dlq.{category}", self.orders)
    }

    pub(crate) async fn produce(&self, record: ProducerRecord) -> i64 {
        self.producer.send(record).await.unwrap().offset
    }

    /// All records of the one partition of a topic.
    pub(crate) async fn records(&self, topic: &str) -> Vec<ProducerRecord> {
        let partition = TopicPartition::new(topic, 0);
        let end = self.ports.admin.offset(partition.clone(), OffsetSpec::Latest).await.unwrap();
        let feed = Arc::new(Feed::new(partition.clone(), 16 << 20, |problem| panic!("{problem:?}")));
        self.ports.source.add(partition.clone(), None, 0, Arc::clone(&feed));
        let mut records = Vec::new();
        let mut next = 0;
        let reading = async {
            while next < end {
                let Some(batch) = feed.front() else {
                    sleep(Duration::from_millis(5)).await;
                    continue;
                };
                feed.pop_front();
                for record in batch.iter() {
                    next = record.offset() + 1;
                    records.push(ProducerRecord {
                        topic: topic.into(),
                        partition: Some(0),
                        key: record.key().map(Bytes::copy_from_slice),
                        value: record.value().map(Bytes::copy_from_slice),
                        headers: record.headers().to_vec(),
                        timestamp: Some(record.timestamp()),
                    });
                }
            }
        };
        timeout(LIMIT, reading).await.expect("all is read");
        self.ports.source.remove(&partition);
        records
    }

    /// Five dead letters of two faults in two topics, and returns the names of these. Validation: offsets 0 to 3 of the source;
    /// poison: 4.
    pub(crate) async fn fill(&self) -> (String, String) {
        let (validation, poison) = (self.dlq("validation"), self.dlq("poison"));
        self.create(&validation, 1).await;
        self.create(&poison, 1).await;
        for number in 0..4 {
            let value = format!(r#"{{"order_id":"ord_{number}","items":"broken"}}"#);
            let letter =
                Letter::new(number, "validation", "orders::BadItems", &format!("items of order {number} are no list"));
            self.produce(letter.record(&validation).key(format!("k{number}")).value(value).header("tenant", "blue"))
                .await;
        }
        let letter = Letter::new(4, "poison", "panic", "panicked at src/orders.rs:7: no font");
        self.produce(letter.record(&poison).value("Zürich")).await;
        (validation, poison)
    }

    /// A command that is told where the broker is.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = bezoar(args);
        command.env("BEZOAR_BOOTSTRAP", &self.bootstrap);
        command
    }

    /// Runs a command, whose words stand in one text. `$ORDERS` is the source topic.
    pub(crate) async fn run(&self, line: &str) -> Ran {
        let line = line.replace("$ORDERS", &self.orders);
        ran(self.command(line.split_whitespace())).await
    }

    /// Runs a command with `--output json`, and reads its lines.
    pub(crate) async fn json(&self, line: &str) -> Vec<Value> {
        let ran = self.run(&format!("{line} --output json")).await;
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
        ran.json()
    }
}

impl Ran {
    /// Asserts the exit code, and returns standard output.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stdout, self.stderr);
        &self.stdout
    }

    /// Asserts the exit code and that standard error says so.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, says: &str) {
        self.ends(code);
        assert!(self.stderr.contains(says), "{says:?} is not in {:?}", self.stderr);
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
            .collect()
    }
}

/// The command without any settings.
pub(crate) fn bezoar<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bezoar"));
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("BEZOAR_") {
            command.env_remove(variable);
        }
    }
    command.env_remove("VISUAL").env_remove("EDITOR").args(args).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs a command to its end.
pub(crate) async fn ran(mut command: Command) -> Ran {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap().wait_with_output();
    let Output { status, stdout, stderr } = timeout(LIMIT, output).await.expect("it ends").unwrap();
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    Ran { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// Runs the command without any settings, its words in one text.
pub(crate) async fn plain(line: &str) -> Ran {
    ran(bezoar(line.split_whitespace())).await
}

/// The context of a dead letter, as Bezoar writes it.
pub(crate) struct Letter {
    pub(crate) offset: i64,
    category: String,
    error_type: String,
    message: String,
}

impl Letter {
    pub(crate) fn new(offset: i64, category: &str, error_type: &str, message: &str) -> Self {
        Self { offset, category: category.into(), error_type: error_type.into(), message: message.into() }
    }

    /// A record for a dead-letter topic, whose name tells the source.
    pub(crate) fn record(&self, topic: &str) -> ProducerRecord {
        let source = topic.split_once(".dlq").unwrap().0.to_owned();
        self.from(topic, &source)
    }

    /// A record for a dead-letter topic.
    pub(crate) fn from(&self, topic: &str, source: &str) -> ProducerRecord {
        use bezoar::dead_letter::{fingerprint, names};
        let category = self.category.parse().unwrap();
        ProducerRecord::to(topic)
            .partition(0)
            .header(names::TOPIC, source.to_owned())
            .header(names::PARTITION, "0")
            .header(names::OFFSET, self.offset.to_string())
            .header(names::GROUP, "shipping")
            .header(names::DELIVERY_COUNT, "3")
            .header(names::MESSAGE, self.message.clone())
            .header(names::CATEGORY, self.category.clone())
            .header(names::ERROR_TYPE, self.error_type.clone())
            .header(names::BACKTRACE, "caused by: nothing\nat all")
            .header(names::FIRST_FAILED_AT, "2024-01-15T10:30:00.000Z")
            .header(names::LAST_FAILED_AT, "2024-01-15T10:30:05.000Z")
            .header(names::CONSUMER_ID, "shipping@host:1")
            .header(names::CONSUMER_VERSION, "1.2.3")
            .header(names::FINGERPRINT, fingerprint(category, &self.error_type, &self.message, None))
            .header(names::REPLAY_COUNT, "0")
    }
}
