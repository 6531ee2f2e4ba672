use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ractor::rpc::CallResult;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::watch;
use tokio::time::Instant;

use super::broker::{Broker, Fact};
use crate::broker::{CommittedOffset, MemberIdentity};
use crate::classifier::{ClassifierActor, Rules};
use crate::dead_letter::{DeadLetterActor, DeadLetterFormat, Publisher, TopicCreation, TopicKeeper};
use crate::event::{Event, EventStream, Events};
use crate::group::{GroupMessage, GroupNotice, GroupProtocol, GroupSettings, Lease, Subscription};
use crate::handler::{Access, Delivery, Failure, OriginSettings, Utf8, handler_fn};
use crate::isolation::{Isolation, Planes};
use crate::offsets::{OffsetReset, OffsetsActor};
use crate::partition::{CorruptBatches, Hooks, TopicLimits, TopicName, TypedSpawner};
use crate::policy::{DeadLetterTopics, Policies};
use crate::record::TopicPartition;
use crate::supervisor::*;

/// How long the lease of a new stage is: longer than any test, unless it waits for the end.
pub(super) const LEASE: Duration = Duration::from_secs(2 * 3600);

/// How long what is in flight may take to end.
pub(super) const DRAIN: Duration = Duration::from_secs(10);

/// A supervisor whose group is played by the test.
pub(super) struct Stage {
    pub(super) broker: Arc<Broker>,
    pub(super) supervisor: ActorRef<SupervisorMessage>,
    pub(super) lease: Arc<Lease>,
    /// See [`Script`].
    pub(super) loses_upon_leaving: Arc<AtomicBool>,
    pub(super) events: EventStream,
    pub(super) ended: watch::Receiver<Option<Finished>>,
    _planes: Planes,
}

/// What differs from test to test.
pub(super) struct Setting {
    pub(super) isolation: Isolation,
    pub(super) offset_reset: OffsetReset,
    /// What the group had committed before.
    pub(super) committed: Vec<CommittedOffset>,
    pub(super) drain: Duration,
}

impl Default for Setting {
    fn default() -> Self {
        let (isolation, offset_reset) = (Isolation::Inline, OffsetReset::Earliest);
        Self { isolation, offset_reset, committed: Vec::new(), drain: DRAIN }
    }
}

pub(super) fn orders(partition: i32) -> TopicPartition {
    TopicPartition::new("orders", partition)
}

/// Notes that a handler has ended, however it did.
struct Ending(Arc<Broker>, TopicPartition, i64);

impl Drop for Ending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.through(self.1.clone(), self.2);
        }
        self.0.note(Fact::Ended(self.1.clone(), self.2));
    }
}

/// Does what the record's value says.
async fn act(broker: Arc<Broker>, value: String, delivery: Delivery) -> Result<(), Failure> {
    let (partition, offset) = (delivery.record().partition().clone(), delivery.offset());
    broker.note(Fact::Delivered(partition.clone(), offset));
    let _ending = Ending(Arc::clone(&broker), partition.clone(), offset);
    let done = obey(value).await;
    broker.through(partition, offset);
    done
}

async fn obey(value: String) -> Result<(), Failure> {
    match value.split_once(' ').unwrap_or((&value, "")) {
        ("wait", seconds) => tokio::time::sleep(Duration::from_secs(seconds.parse()?)).await,
        ("block", millis) => std::thread::sleep(Duration::from_millis(millis.parse()?)),
        ("retry", seconds) => {
            let after = Duration::from_secs(seconds.parse()?);
            return Err(Failure::transient("later").retry_after(after));
        }
        ("invalid", _) => return Err(Failure::validation("wrong")),
        ("panic", _) => panic!("as told"),
        _ => {}
    }
    Ok(())
}

impl Stage {
    pub(super) async fn new() -> Self {
        Self::with(Setting::default()).await
    }

    pub(super) async fn with(setting: Setting) -> Self {
        crate::isolation::guard::install_hook(false);
        let broker = Broker::new();
        setting.committed.into_iter().for_each(|offset| broker.commit(offset));
        let (ports, events, closed) = (broker.ports(), Events::new(), Arc::new(AtomicBool::new(false)));
        let planes = Planes::new(setting.isolation).unwrap();
        let acting = Arc::clone(&broker);
        let handler = handler_fn(move |value: String, delivery: Delivery| act(Arc::clone(&acting), value, delivery));
        let group = GroupSettings {
            group: "group".into(),
            protocol: GroupProtocol::Auto,
            instance_id: None,
            rack: None,
            assignors: Vec::new(),
            server_assignor: None,
            session_timeout: Duration::from_secs(45),
            heartbeat_interval: Duration::from_secs(3),
            rebalance_timeout: Duration::from_secs(60),
            refresh: Duration::from_secs(60),
            lease: Duration::from_secs(30),
            classic_only: Vec::new(),
        };
        let (finished, ended) = watch::channel(None);
        let actors = ControlActors {
            classifier: ClassifierActor { policies: Policies::default(), rules: Arc::new(Rules::default()) },
            dead_letter: DeadLetterActor {
                publisher: Arc::new(Publisher {
                    produce: Arc::clone(&ports.produce),
                    keeper: Arc::new(TopicKeeper::new(Arc::clone(&ports.admin), TopicCreation::default())),
                    format: DeadLetterFormat::default(),
                    group: "group".into(),
                    consumer_id: "test".into(),
                    consumer_version: "1".into(),
                }),
                events: events.clone(),
            },
            offsets: OffsetsActor {
                group: "group".into(),
                store: Arc::clone(&ports.offsets),
                events: events.clone(),
                commit_interval: Duration::from_secs(1),
                closed: Arc::clone(&closed),
            },
            monitor: None,
        };
        let origins = OriginSettings { access: Access::Given(ports.clone()), trusted: Vec::new() };
        let supervisor = SupervisorActor {
            ports,
            planes: planes.clone(),
            events: events.clone(),
            topics: vec![TopicPlan {
                matches: TopicName::Exact("orders".to_owned()),
                spawner: Arc::new(TypedSpawner::new(Utf8, handler)),
                limits: TopicLimits { poison_timeout: Some(Duration::from_secs(300)) },
            }],
            settings: SupervisorSettings {
                group: "group".into(),
                membership: Some(MembershipPlan {
                    settings: group,
                    subscription: Subscription::new(vec!["orders".to_owned()], Vec::new(), Arc::new(|_| false)),
                }),
                offset_reset: setting.offset_reset,
                feed_bytes: 1 << 20,
                restart: RestartPolicy::default(),
                drain_timeout: setting.drain,
                dead_letter_topics: DeadLetterTopics::per_category(),
                origins,
                max_unacknowledged: 256,
                corrupt_batches: CorruptBatches::Quarantine,
                buffer_bytes: 1 << 20,
                commit_every: None,
                offsets_recommit: Duration::from_secs(3600),
            },
            hooks: Hooks::default(),
            closed,
            finished,
        };
        let events = events.subscribe();
        let (supervisor, _) = Actor::spawn(None, supervisor, actors).await.unwrap();
        // Before the broker answers, upon which the real group actor would be started.
        let loses_upon_leaving = Arc::new(AtomicBool::new(false));
        let script = Script {
            broker: Arc::clone(&broker),
            supervisor: supervisor.clone(),
            loses_upon_leaving: Arc::clone(&loses_upon_leaving),
        };
        let (group, _) = Actor::spawn(None, script, ()).await.unwrap();
        let scripted = |reply| SupervisorMessage::Scripted(group, reply);
        let Ok(CallResult::Success(lease)) = supervisor.call(scripted, None).await else { panic!("no lease") };
        lease.extend(Instant::now() + LEASE);
        let stage = Self { broker, supervisor, lease, loses_upon_leaving, events, ended, _planes: planes };
        stage.broker.answers.send_replace(true);
        stage.identity(1);
        stage.settle().await;
        stage
    }

    pub(super) fn tell(&self, notice: GroupNotice) {
        self.supervisor.cast(SupervisorMessage::Group(notice)).unwrap();
    }

    pub(super) fn identity(&self, epoch: i32) {
        let member = MemberIdentity { member_id: "member".to_owned(), epoch, instance_id: None };
        self.tell(GroupNotice::Identity(Some(member)));
    }

    pub(super) async fn assign(&self, partitions: &[i32]) {
        self.tell(GroupNotice::Assigned(partitions.iter().map(|partition| (orders(*partition), None)).collect()));
        self.settle().await;
    }

    pub(super) async fn revoke(&self, partitions: &[i32]) {
        self.tell(GroupNotice::Revoked(partitions.iter().map(|partition| orders(*partition)).collect()));
        self.settle().await;
    }

    pub(super) async fn lose(&self, partitions: &[i32]) {
        let partitions = partitions.iter().map(|partition| orders(*partition)).collect();
        self.tell(GroupNotice::Lost { partitions, reason: "as told".to_owned() });
        self.settle().await;
    }

    /// Lets all that can happen now happen: in paused time, a millisecond passes only when nobody has anything to do.
    pub(super) async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    pub(super) async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub(super) async fn feed(&self, partition: i32, values: &[&str]) {
        assert!(self.broker.feed(&orders(partition), values), "{partition} is not read");
        self.settle().await;
    }

    pub(super) async fn pause(&self, partitions: Option<&[i32]>, paused: bool) -> Vec<TopicPartition> {
        let partitions = partitions.map(|partitions| partitions.iter().map(|partition| orders(*partition)).collect());
        let pause = |reply| SupervisorMessage::Pause { partitions, paused, reply };
        let Ok(CallResult::Success(unknown)) = self.supervisor.call(pause, None).await else { panic!("no answer") };
        self.settle().await;
        unknown
    }

    pub(super) async fn status(&self) -> Vec<PartitionStatus> {
        let Ok(CallResult::Success(status)) = self.supervisor.call(SupervisorMessage::Status, None).await else {
            panic!("no answer")
        };
        status
    }

    /// The facts since the last call that `wanted` takes.
    pub(super) fn facts<T>(&self, wanted: impl Fn(&Fact) -> Option<T>) -> Vec<T> {
        std::mem::take(&mut *self.broker.facts()).iter().filter_map(wanted).collect()
    }

    pub(super) fn events_so_far(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_next()).collect()
    }

    pub(super) async fn shutdown(&mut self) -> Finished {
        self.supervisor.cast(SupervisorMessage::Drain { deadline: DRAIN }).unwrap();
        self.finished().await
    }

    pub(super) async fn finished(&mut self) -> Finished {
        self.ended.wait_for(Option::is_some).await.unwrap().clone().unwrap()
    }
}

/// Plays the group actor: notes what it is told.
struct Script {
    broker: Arc<Broker>,
    supervisor: ActorRef<SupervisorMessage>,
    /// Whether it says upon leaving that what was owned is lost, as members of the classic protocol do.
    loses_upon_leaving: Arc<AtomicBool>,
}

#[cfg_attr(feature = "async-trait", ractor::async_trait)]
impl Actor for Script {
    type Msg = GroupMessage;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<GroupMessage>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<GroupMessage>,
        message: GroupMessage,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        match message {
            GroupMessage::Released(partitions) => {
                partitions.into_iter().for_each(|partition| self.broker.note(Fact::Released(partition)));
            }
            GroupMessage::CommitRefused(code) => self.broker.note(Fact::Refused(code)),
            GroupMessage::Leave(reply) => {
                self.broker.note(Fact::Left);
                if self.loses_upon_leaving.load(Ordering::Acquire) {
                    let lost = GroupNotice::Lost { partitions: vec![orders(0)], reason: "it leaves".to_owned() };
                    self.supervisor.cast(SupervisorMessage::Group(lost)).unwrap();
                }
                reply.send(()).unwrap();
            }
            other => panic!("the supervisor does not say {other:?}"),
        }
        Ok(())
    }
}
