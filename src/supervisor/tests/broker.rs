use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use uuid::Uuid;

use crate::broker::{
    Admin, BoxFuture, BrokerError, CommittedOffset, ErrorCode, Feed, MemberIdentity, NewTopic, OffsetSpec, OffsetStore,
    Ports, Produce, Source, TopicMetadata,
};
use crate::record::{ProducerRecord, RecordBatchBuilder, TopicPartition};

/// What happened, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fact {
    /// A record was given to a handler.
    Delivered(TopicPartition, i64),
    /// A handler has ended, by itself or by force.
    Ended(TopicPartition, i64),
    /// An offset was committed, by a member of this epoch.
    Committed(TopicPartition, i64, Option<i32>),
    /// So many dead letters were sent.
    Sent(usize),
    /// The group was told that a partition is given up.
    Released(TopicPartition),
    /// A commit was refused, and the group was told.
    Refused(ErrorCode),
    /// The group was left.
    Left,
    /// The test assigned a partition, revoked it, or took it away.
    Assigned(TopicPartition),
    Revoked(TopicPartition),
    Losing(TopicPartition),
    Lost(TopicPartition),
}

/// The broker as the supervisor sees it: every topic has ten partitions of 100 records, of which a test feeds those that it
/// wants.
pub(super) struct Broker {
    facts: Mutex<Vec<Fact>>,
    feeds: Mutex<BTreeMap<TopicPartition, Reading>>,
    /// Records that a handler returned from.
    through: Mutex<BTreeSet<(TopicPartition, i64)>>,
    committed: Mutex<BTreeMap<TopicPartition, CommittedOffset>>,
    /// Whether questions about topics are answered, and dead letters and commits taken; they wait otherwise.
    pub(super) answers: watch::Sender<bool>,
    pub(super) takes_letters: watch::Sender<bool>,
    pub(super) takes_commits: watch::Sender<bool>,
    /// Whether offsets of logs and groups cannot be read for now.
    pub(super) is_away: AtomicBool,
    pub(super) refused: Mutex<Option<ErrorCode>>,
}

struct Reading {
    from: i64,
    /// The offset of the record to be fed next.
    next: i64,
    feed: Arc<Feed>,
}

impl Broker {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            facts: Mutex::default(),
            feeds: Mutex::default(),
            through: Mutex::default(),
            committed: Mutex::default(),
            answers: watch::Sender::new(false),
            takes_letters: watch::Sender::new(true),
            takes_commits: watch::Sender::new(true),
            is_away: AtomicBool::new(false),
            refused: Mutex::default(),
        })
    }

    pub(super) fn ports(self: &Arc<Self>) -> Ports {
        let port = Arc::new(Port(Arc::clone(self)));
        Ports { admin: port.clone(), source: port.clone(), produce: port.clone(), offsets: port, membership: None }
    }

    pub(super) fn note(&self, fact: Fact) {
        self.facts.lock().unwrap().push(fact);
    }

    pub(super) fn facts(&self) -> MutexGuard<'_, Vec<Fact>> {
        self.facts.lock().unwrap()
    }

    /// Has the group a committed offset already.
    pub(super) fn commit(&self, offset: CommittedOffset) {
        self.committed.lock().unwrap().insert(offset.partition.clone(), offset);
    }

    /// Notes that a handler returned.
    pub(super) fn through(&self, partition: TopicPartition, offset: i64) {
        self.through.lock().unwrap().insert((partition, offset));
    }

    /// Whether a handler returned from a record.
    pub(super) fn is_through(&self, partition: &TopicPartition, offset: i64) -> bool {
        self.through.lock().unwrap().contains(&(partition.clone(), offset))
    }

    /// Where a partition is read from, if it is read.
    pub(super) fn reads(&self, partition: &TopicPartition) -> Option<i64> {
        self.feeds.lock().unwrap().get(partition).map(|reading| reading.from)
    }

    /// Feeds the next records of a partition. False if it is not read.
    pub(super) fn feed(&self, partition: &TopicPartition, values: &[&str]) -> bool {
        let mut feeds = self.feeds.lock().unwrap();
        let Some(reading) = feeds.get_mut(partition) else { return false };
        let mut batch = RecordBatchBuilder::new(partition.clone(), None);
        for value in values {
            batch.push(reading.next, 0, None, Some(value.as_bytes()), std::iter::empty());
            reading.next += 1;
        }
        reading.feed.push(batch.build(reading.next))
    }

    fn away(&self) -> Result<(), BrokerError> {
        let timeout = || BrokerError::Timeout { doing: "asking".to_owned(), after: Duration::from_secs(1) };
        if self.is_away.load(Ordering::Acquire) { Err(timeout()) } else { Ok(()) }
    }
}

struct Port(Arc<Broker>);

async fn until(open: &watch::Sender<bool>) {
    open.subscribe().wait_for(|open| *open).await.unwrap();
}

impl Admin for Port {
    fn topics(&self, names: Vec<String>) -> BoxFuture<Result<Vec<Option<TopicMetadata>>, BrokerError>> {
        let broker = Arc::clone(&self.0);
        Box::pin(async move {
            until(&broker.answers).await;
            let topic = |name| Some(TopicMetadata { name, id: None, partitions: 10, operations: None });
            Ok(names.into_iter().map(topic).collect())
        })
    }

    fn create_topic(&self, _: NewTopic) -> BoxFuture<Result<(), BrokerError>> {
        Box::pin(async { Ok(()) })
    }

    fn delete_topics(&self, _: Vec<String>) -> BoxFuture<Result<(), BrokerError>> {
        Box::pin(async { Ok(()) })
    }

    fn topic_config(&self, _: String, _: String) -> BoxFuture<Result<Option<String>, BrokerError>> {
        Box::pin(async { Ok(None) })
    }

    fn offset(&self, _: TopicPartition, spec: OffsetSpec) -> BoxFuture<Result<i64, BrokerError>> {
        let broker = Arc::clone(&self.0);
        Box::pin(async move {
            broker.away()?;
            Ok(match spec {
                OffsetSpec::Earliest => 0,
                OffsetSpec::Timestamp(millis) => millis,
                OffsetSpec::Latest | OffsetSpec::MaxTimestamp => 100,
            })
        })
    }
}

impl Source for Port {
    fn add(&self, partition: TopicPartition, _: Option<Uuid>, offset: i64, feed: Arc<Feed>) {
        self.0.feeds.lock().unwrap().insert(partition, Reading { from: offset, next: offset, feed });
    }

    fn remove(&self, partition: &TopicPartition) {
        self.0.feeds.lock().unwrap().remove(partition);
    }
}

impl Produce for Port {
    fn produce(&self, _: TopicPartition, records: Vec<ProducerRecord>) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        let broker = Arc::clone(&self.0);
        broker.note(Fact::Sent(records.len()));
        Box::pin(async move {
            until(&broker.takes_letters).await;
            Ok((0..records.len() as i64).collect())
        })
    }
}

impl Port {
    fn commit(
        &self,
        member: Option<MemberIdentity>,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        let broker = Arc::clone(&self.0);
        Box::pin(async move {
            until(&broker.takes_commits).await;
            if let Some(code) = *broker.refused.lock().unwrap() {
                let refused = BrokerError::Response { doing: "committing".to_owned(), code, message: None };
                return Ok(vec![Err(refused); offsets.len()]);
            }
            let epoch = member.map(|member| member.epoch);
            let results = offsets.iter().map(|_| Ok(())).collect();
            for offset in offsets {
                broker.note(Fact::Committed(offset.partition.clone(), offset.offset, epoch));
                broker.commit(offset);
            }
            Ok(results)
        })
    }
}

impl OffsetStore for Port {
    fn fetch(
        &self,
        _: String,
        partitions: Vec<TopicPartition>,
    ) -> BoxFuture<Result<Vec<Option<CommittedOffset>>, BrokerError>> {
        let broker = Arc::clone(&self.0);
        Box::pin(async move {
            broker.away()?;
            let committed = broker.committed.lock().unwrap();
            Ok(partitions.iter().map(|partition| committed.get(partition).cloned()).collect())
        })
    }

    fn commit(
        &self,
        _: String,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        self.commit(None, offsets)
    }

    fn commit_as(
        &self,
        _: String,
        member: MemberIdentity,
        offsets: Vec<CommittedOffset>,
    ) -> BoxFuture<Result<Vec<Result<(), BrokerError>>, BrokerError>> {
        self.commit(Some(member), offsets)
    }

    fn group_exists(&self, _: String) -> BoxFuture<Result<bool, BrokerError>> {
        Box::pin(async { Ok(false) })
    }

    fn delete_group(&self, _: String) -> BoxFuture<Result<(), BrokerError>> {
        Box::pin(async { Ok(()) })
    }
}
