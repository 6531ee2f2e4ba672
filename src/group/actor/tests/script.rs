use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use uuid::Uuid;

use crate::broker::{
    Admin, BoxFuture, BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode, GroupDescription, JoinAnswer,
    JoinGroup, MemberIdentity, Membership, NewTopic, OffsetSpec, SyncGroup, TopicMetadata,
};
use crate::record::TopicPartition;

pub(super) const ORDERS: Uuid = Uuid::from_u128(7);

/// What the broker does with the next heartbeat.
pub(super) enum Act {
    Answer { epoch: i32, assignment: Option<Vec<i32>> },
    Fail(BrokerError),
    FailAfter(Duration, BrokerError),
    Panic,
    Hang,
}

/// A broker that does as it is told.
#[derive(Default)]
pub(super) struct Script {
    acts: VecDeque<Act>,
    pub(super) offers: VecDeque<Result<bool, BrokerError>>,
    pub(super) group: Option<GroupDescription>,
    pub(super) topics: BTreeMap<String, (Uuid, i32)>,
    /// What was asked, in order; not the reading of metadata.
    asked: Vec<String>,
    pub(super) readings: Vec<Instant>,
    pub(super) unreadable: Option<BrokerError>,
}

#[derive(Clone, Default)]
pub(super) struct Broker(Arc<Mutex<Script>>);

impl Broker {
    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, what: String) {
        self.script().asked.push(what);
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.script().asked.clone()
    }
}

pub(super) fn response(code: ErrorCode) -> BrokerError {
    BrokerError::Response { doing: "asking".to_owned(), code, message: None }
}

fn ready<T: Send + 'static>(value: T) -> BoxFuture<T> {
    Box::pin(std::future::ready(value))
}

impl Membership for Broker {
    fn offers_consumer_protocol(&self, _: String) -> BoxFuture<Result<bool, BrokerError>> {
        self.ask("offers".to_owned());
        ready(self.script().offers.pop_front().unwrap_or(Ok(true)))
    }

    fn consumer_heartbeat(
        &self,
        heartbeat: ConsumerHeartbeat,
    ) -> BoxFuture<Result<ConsumerHeartbeatAnswer, BrokerError>> {
        let topics = heartbeat.topics.map(|topics| topics.join(",")).unwrap_or_default();
        self.ask(format!("heartbeat {} {topics}", heartbeat.member.epoch).trim_end().to_owned());
        let stays = Act::Answer { epoch: heartbeat.member.epoch.max(1), assignment: None };
        let act = self.script().acts.pop_front().unwrap_or(stays);
        match act {
            Act::Answer { epoch: member_epoch, assignment } => {
                let assignment = assignment.map(|numbers| vec![(ORDERS, numbers)]);
                let (member_id, interval) = (heartbeat.member.member_id, Duration::from_secs(3));
                ready(Ok(ConsumerHeartbeatAnswer { member_id, member_epoch, interval, assignment }))
            }
            Act::Fail(error) => ready(Err(error)),
            Act::FailAfter(wait, error) => Box::pin(async move {
                tokio::time::sleep(wait).await;
                Err(error)
            }),
            Act::Panic => panic!("an adapter's bug"),
            Act::Hang => Box::pin(std::future::pending()),
        }
    }

    fn join(&self, join: JoinGroup) -> BoxFuture<Result<Result<JoinAnswer, String>, BrokerError>> {
        self.ask(format!("join {:?}", join.member.member_id));
        Box::pin(std::future::pending())
    }

    fn sync(&self, _: SyncGroup) -> BoxFuture<Result<Bytes, BrokerError>> {
        Box::pin(std::future::pending())
    }

    fn heartbeat(&self, _: String, _: MemberIdentity) -> BoxFuture<Result<(), BrokerError>> {
        Box::pin(std::future::pending())
    }

    fn leave(&self, _: String, _: MemberIdentity, _: String) -> BoxFuture<Result<(), BrokerError>> {
        ready(Ok(()))
    }
}

impl Admin for Broker {
    fn topics(&self, names: Vec<String>) -> BoxFuture<Result<Vec<Option<TopicMetadata>>, BrokerError>> {
        let mut script = self.script();
        script.readings.push(Instant::now());
        if let Some(error) = script.unreadable.clone() {
            return ready(Err(error));
        }
        let found = names.into_iter().map(|name| {
            let (id, partitions) = script.topics.get(&name).copied()?;
            Some(TopicMetadata { name, id: Some(id), partitions, operations: None })
        });
        ready(Ok(found.collect()))
    }

    fn create_topic(&self, _: NewTopic) -> BoxFuture<Result<(), BrokerError>> {
        ready(Ok(()))
    }

    fn delete_topics(&self, _: Vec<String>) -> BoxFuture<Result<(), BrokerError>> {
        ready(Ok(()))
    }

    fn topic_config(&self, _: String, _: String) -> BoxFuture<Result<Option<String>, BrokerError>> {
        ready(Ok(None))
    }

    fn offset(&self, _: TopicPartition, _: OffsetSpec) -> BoxFuture<Result<i64, BrokerError>> {
        ready(Ok(0))
    }

    fn list_topics(&self) -> BoxFuture<Result<Vec<String>, BrokerError>> {
        ready(Ok(self.script().topics.keys().cloned().collect()))
    }

    fn describe_group(&self, _: String) -> BoxFuture<Result<GroupDescription, BrokerError>> {
        self.ask("describe".to_owned());
        ready(self.script().group.clone().ok_or_else(|| response(ErrorCode::GROUP_ID_NOT_FOUND)))
    }
}

pub(super) fn broker(topics: &[(&str, i32)], acts: impl IntoIterator<Item = Act>) -> Broker {
    let broker = Broker::default();
    broker.script().topics =
        topics.iter().map(|(name, partitions)| ((*name).to_owned(), (ORDERS, *partitions))).collect();
    broker.script().acts = acts.into_iter().collect();
    broker
}
