//! A broker, the process's one recorder, and how to read what it renders.

#[path = "../support/mod.rs"]
mod shared;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bezoar::broker::{ConnectionSettings, NewTopic, OffsetSpec, Plane, Ports};
use bezoar::consumer::{Assignment, ConsumerBuilder};
use bezoar::embedded::Broker;
use bezoar::policy::DeadLetterTopics;
use bezoar::record::{ProducerRecord, TopicPartition};
use bezoar::web::{self, Endpoint, Prometheus};
use bezoar::{Consumer, ConsumerHandle};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) use shared::hasty;

/// How long a condition may take that should hold soon.
const SOON: Duration = Duration::from_secs(60);

/// Waits until `condition` holds.
pub(crate) async fn eventually(what: &str, condition: impl AsyncFn() -> bool) {
    shared::within(SOON, what, condition).await;
}

/// The recorder: a process has one, so all tests share it and tell their metrics apart by group and topic.
pub(crate) fn prometheus() -> &'static Prometheus {
    static PROMETHEUS: OnceLock<Prometheus> = OnceLock::new();
    PROMETHEUS.get_or_init(|| web::prometheus().unwrap())
}

/// The broker of a test: the embedded one, or the one that `KAFKA_BOOTSTRAP` names.
pub(crate) struct Cluster {
    embedded: Option<Broker>,
    bootstrap: String,
    ports: Ports,
    unique: String,
}

impl Cluster {
    /// The real broker where there is one, else an embedded one.
    pub(crate) async fn start() -> Self {
        match std::env::var("KAFKA_BOOTSTRAP") {
            Ok(bootstrap) => Self::connect(None, bootstrap).await,
            Err(_) => Self::embedded().await,
        }
    }

    /// An embedded broker, for tests that inject faults.
    pub(crate) async fn embedded() -> Self {
        let broker = Broker::start().await.unwrap();
        let bootstrap = broker.bootstrap();
        Self::connect(Some(broker), bootstrap).await
    }

    async fn connect(embedded: Option<Broker>, bootstrap: String) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        prometheus();
        let unique = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let ports = Plane::Native.connect(ConnectionSettings::new([&bootstrap])).await.unwrap();
        Self { embedded, bootstrap, ports, unique }
    }

    pub(crate) fn broker(&self) -> &Broker {
        self.embedded.as_ref().expect("the test runs on an embedded broker")
    }

    /// A name that no other test or run uses.
    pub(crate) fn name(&self, base: &str) -> String {
        format!("{base}-{}", self.unique)
    }

    /// Creates a topic and returns its name.
    pub(crate) async fn topic(&self, base: &str, partitions: i32) -> String {
        let name = self.name(base);
        self.ports.admin.create_topic(NewTopic::new(&name, partitions).replication(1)).await.unwrap();
        let last = TopicPartition::new(name.as_str(), partitions - 1);
        eventually("a created topic can be read", async || {
            self.ports.admin.offset(last.clone(), OffsetSpec::Latest).await.is_ok()
        })
        .await;
        name
    }

    pub(crate) async fn append(&self, topic: &str, partition: i32, records: Vec<ProducerRecord>) {
        self.ports.produce.produce(TopicPartition::new(topic, partition), records).await.unwrap();
    }

    /// Appends records that have only values.
    pub(crate) async fn values(&self, topic: &str, partition: i32, values: impl IntoIterator<Item = impl ToString>) {
        let records = values.into_iter().map(|value| ProducerRecord::to(topic).value(value.to_string())).collect();
        self.append(topic, partition, records).await;
    }

    /// A consumer with waits short enough for a test.
    pub(crate) fn consumer(&self, group: &str) -> ConsumerBuilder {
        Consumer::builder(group)
            .bootstrap(&self.bootstrap)
            .policies(hasty())
            .dead_letter_topics(DeadLetterTopics::single())
            .commit_interval(Duration::from_millis(20))
            .fetch_max_wait(Duration::from_millis(100))
    }

    /// The same, with all partitions by its own word.
    pub(crate) fn lone(&self, group: &str) -> ConsumerBuilder {
        self.consumer(group).assignment(Assignment::Manual)
    }
}

/// What is rendered, series by series.
pub(crate) struct Exported(Vec<(String, BTreeMap<String, String>, f64)>);

impl Exported {
    pub(crate) fn now() -> Self {
        let text = prometheus().render();
        Self(text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(series).collect())
    }

    /// All series of a metric with these labels, added up; `None` where there is none.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |found: &BTreeMap<String, String>| {
            labels.iter().all(|(label, value)| found.get(*label).is_some_and(|found| found == value))
        };
        let values = self.0.iter().filter(|(found, labels, _)| found == name && has(labels)).map(|(.., value)| *value);
        values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
    }

    /// The names of a metric's labels.
    pub(crate) fn labels(&self, name: &str) -> Vec<String> {
        let series = self.0.iter().find(|(found, ..)| found == name);
        series.map(|(_, labels, _)| labels.keys().cloned().collect()).unwrap_or_default()
    }
}

/// `name{label="value",…} 1`; no label of these tests has a comma or a quote in it.
fn series(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (key, value) = line.rsplit_once(' ').unwrap();
    let (name, labels) = key.split_once('{').unwrap_or((key, "}"));
    let labels = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty());
    let labels = labels.map(|label| {
        let (label, value) = label.split_once('=').unwrap();
        (label.to_owned(), value.trim_matches('"').to_owned())
    });
    (name.to_owned(), labels.collect(), value.parse().unwrap())
}

/// An endpoint that lives as long as this does.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    _stop: tokio::sync::oneshot::Sender<()>,
}

/// Serves some consumers.
pub(crate) async fn serve(consumers: impl IntoIterator<Item = ConsumerHandle>) -> Served {
    let listener = web::listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let endpoint = Endpoint::new().prometheus(prometheus().clone());
    let endpoint = consumers.into_iter().fold(endpoint, Endpoint::consumer);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(web::serve(listener, endpoint, stopped));
    Served { address, _stop: stop }
}

impl Served {
    /// The status and the body.
    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await
    }

    pub(crate) async fn json(&self, path: &str) -> (u16, serde_json::Value) {
        let (status, body) = self.get(path).await;
        (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}")))
    }

    pub(crate) async fn send(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // One that is cut off has said what it had to say.
        let _ = tokio::time::timeout(SOON, stream.read_to_end(&mut answer)).await.expect("an answer within its time");
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, body.to_owned())
    }
}
