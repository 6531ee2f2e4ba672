//! A broker, a consumer that dead-letters, and a sink that keeps what it is told.

#[path = "../support/mod.rs"]
mod shared;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bezoar::broker::{BoxFuture, ConnectionSettings, NewTopic, OffsetSpec, Plane, Ports};
use bezoar::consumer::ConsumerBuilder;
use bezoar::embedded::Broker;
use bezoar::monitor::{Alert, AlertKind, MonitorSettings, Sink, SinkError};
use bezoar::policy::Category;
use bezoar::record::{ProducerRecord, TopicPartition};
use bezoar::{Consumer, Delivery, Failure, Handler, HandlerFactory, handler_fn};

pub(crate) use shared::{hasty, within};

/// How long a condition may take that should hold soon.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The broker of a test: the embedded one, or the one that `KAFKA_BOOTSTRAP` names.
pub(crate) struct Cluster {
    embedded: Option<Broker>,
    pub(crate) bootstrap: String,
    pub(crate) ports: Ports,
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
        let unique = format!("{}-{}", uuid::Uuid::new_v4().simple(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut cluster = Self { embedded, ports: ports(&bootstrap).await, bootstrap, unique };
        cluster.unique.truncate(12);
        cluster.unique.push_str(&NEXT.fetch_add(1, Ordering::Relaxed).to_string());
        cluster
    }

    /// The embedded broker of a test that was started with one.
    pub(crate) fn broker(&self) -> &Broker {
        self.embedded.as_ref().expect("the test runs on an embedded broker")
    }

    /// Connections of their own.
    pub(crate) async fn ports(&self) -> Ports {
        ports(&self.bootstrap).await
    }

    /// A name that no other test or run uses.
    pub(crate) fn name(&self, base: &str) -> String {
        format!("{base}-{}", self.unique)
    }

    pub(crate) async fn topic(&self, base: &str, partitions: i32) -> String {
        let name = self.name(base);
        self.create(NewTopic::new(&name, partitions).replication(1)).await;
        name
    }

    pub(crate) async fn create(&self, topic: NewTopic) {
        let (name, partitions) = (topic.name.clone(), topic.partitions);
        self.ports.admin.create_topic(topic).await.unwrap();
        let last = TopicPartition::new(name, partitions - 1);
        eventually("a created topic can be read", async || {
            self.ports.admin.offset(last.clone(), OffsetSpec::Latest).await.is_ok()
        })
        .await;
    }

    /// Appends as many records with the same value to a partition, as one batch.
    pub(crate) async fn append(&self, topic: &str, partition: i32, value: &str, count: usize) {
        let record = ProducerRecord::to(topic).value(value.to_owned());
        let records = std::iter::repeat_n(record, count).collect();
        self.ports.produce.produce(TopicPartition::new(topic, partition), records).await.unwrap();
    }

    pub(crate) async fn end(&self, topic: &str) -> i64 {
        self.ports.admin.offset(TopicPartition::new(topic, 0), OffsetSpec::Latest).await.unwrap_or(0)
    }

    /// A consumer of a topic whose handler does what a record's value says: see [`obey`].
    pub(crate) fn consumer(&self, group: &str) -> ConsumerBuilder {
        Consumer::builder(group)
            .bootstrap(&self.bootstrap)
            .policies(hasty())
            .commit_interval(Duration::from_millis(20))
            .fetch_max_wait(Duration::from_millis(100))
            .heartbeat_interval(Duration::from_millis(200))
    }
}

async fn ports(bootstrap: &str) -> Ports {
    let mut settings = ConnectionSettings::new([bootstrap]);
    settings.fetch_max_wait = Duration::from_millis(100);
    settings.metadata_max_age = Duration::from_secs(1);
    Plane::Native.connect(settings).await.unwrap()
}

/// Fails as the value says: a category's name, or not at all.
pub(crate) fn obey() -> impl HandlerFactory<Handler: Handler<Message = String>> {
    handler_fn(|text: String, _: Delivery| async move {
        match text.as_str() {
            "panic" => panic!("as it was told"),
            text => match text.parse::<Category>() {
                Ok(category) => Err(Failure::new(format!("told to be {category}")).category(category)),
                Err(_) => Ok(()),
            },
        }
    })
}

/// Looks often, and groups briefly.
pub(crate) fn quick() -> MonitorSettings {
    let settings = MonitorSettings::new().interval(Duration::from_millis(100)).window(Duration::from_secs(60));
    settings.group_interval(Duration::from_millis(300)).held_after(Duration::ZERO)
}

/// Keeps what it is told.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Arc<Alert>>>>);

impl Sink for Heard {
    fn name(&self) -> String {
        "heard".to_owned()
    }

    fn send(&self, alert: Arc<Alert>) -> BoxFuture<Result<(), SinkError>> {
        self.0.lock().unwrap().push(alert);
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Heard {
    pub(crate) fn all(&self) -> Vec<Arc<Alert>> {
        self.0.lock().unwrap().clone()
    }

    /// The alerts of a kind about a topic.
    pub(crate) fn of(&self, kind: AlertKind, topic: &str) -> Vec<Arc<Alert>> {
        let fits = |alert: &Arc<Alert>| alert.kind == kind && alert.tags.get("topic").is_some_and(|it| it == topic);
        self.all().into_iter().filter(fits).collect()
    }

    /// Waits for so many alerts of a kind about a topic.
    pub(crate) async fn until(&self, kind: AlertKind, topic: &str, count: usize) -> Vec<Arc<Alert>> {
        let what = format!("{count} alerts of {kind:?} about {topic}");
        let deadline = tokio::time::Instant::now() + SOON;
        loop {
            let found = self.of(kind, topic);
            if found.len() >= count {
                return found;
            }
            assert!(tokio::time::Instant::now() < deadline, "within {SOON:?}: {what}; heard {:#?}", self.all());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Waits until `condition` holds.
pub(crate) async fn eventually(what: &str, condition: impl AsyncFn() -> bool) {
    within(SOON, what, condition).await;
}

impl Cluster {
    /// The offset that a group has committed for partition 0 of a topic.
    pub(crate) async fn ports_committed(&self, group: &str, topic: &str) -> Option<i64> {
        let asked = vec![TopicPartition::new(topic, 0)];
        let found = self.ports.offsets.fetch(group.to_owned(), asked).await.unwrap();
        found.into_iter().next().flatten().map(|committed| committed.offset)
    }
}
