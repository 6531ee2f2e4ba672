use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use crate::broker::{BrokerError, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ErrorCode};
use crate::group::consumer::ConsumerMember;
use crate::group::machine::{Answer, Effect, Input, Machine, Request, TopicInfo, Topics};
use crate::group::message::GroupNotice;
use crate::group::settings::{Assignor, GroupProtocol, GroupSettings};
use crate::record::TopicPartition;

pub(super) const LEASE: Duration = Duration::from_secs(20);
pub(super) const INTERVAL: Duration = Duration::from_secs(3);
pub(super) const ORDERS: Uuid = Uuid::from_u128(7);

pub(super) fn settings() -> GroupSettings {
    GroupSettings {
        group: "g".to_owned(),
        protocol: GroupProtocol::Consumer,
        instance_id: None,
        rack: Some("r1".to_owned()),
        assignors: vec![Assignor::CooperativeSticky],
        server_assignor: Some("uniform".to_owned()),
        session_timeout: Duration::from_secs(30),
        heartbeat_interval: INTERVAL,
        rebalance_timeout: Duration::from_secs(25),
        refresh: Duration::from_secs(30),
        lease: LEASE,
        classic_only: Vec::new(),
    }
}

/// A member, and a clock of its own.
pub(super) struct Script {
    pub(super) machine: ConsumerMember,
    pub(super) now: Instant,
}

impl Script {
    pub(super) fn new(instance_id: Option<&str>) -> Self {
        let mut settings = settings();
        settings.instance_id = instance_id.map(str::to_owned);
        Self { machine: ConsumerMember::new(settings, 1), now: Instant::now() }
    }

    pub(super) fn step(&mut self, input: Input) -> Vec<Effect> {
        self.machine.step(self.now, input)
    }

    pub(super) fn topics(&mut self) -> Vec<Effect> {
        let orders = TopicInfo { id: Some(ORDERS), partitions: 4, subscribed: true };
        self.step(Input::Topics(Topics::from([("orders".to_owned(), orders)])))
    }

    pub(super) fn answer(&mut self, epoch: i32, assignment: Option<&[i32]>) -> Vec<Effect> {
        self.now += Duration::from_millis(5);
        let assignment = assignment.map(|numbers| match numbers {
            [] => Vec::new(),
            numbers => vec![(ORDERS, numbers.to_vec())],
        });
        let answer =
            ConsumerHeartbeatAnswer { member_id: String::new(), member_epoch: epoch, interval: INTERVAL, assignment };
        self.step(Input::Answered(Answer::ConsumerHeartbeat(Ok(answer))))
    }

    pub(super) fn refuse(&mut self, code: ErrorCode) -> Vec<Effect> {
        let error = BrokerError::Response { doing: "heartbeat".to_owned(), code, message: None };
        self.fail(error)
    }

    pub(super) fn fail(&mut self, error: BrokerError) -> Vec<Effect> {
        self.now += Duration::from_millis(5);
        self.step(Input::Answered(Answer::ConsumerHeartbeat(Err(error))))
    }

    /// Waits until the machine wants to be stepped, and steps it.
    pub(super) fn wait(&mut self) -> Vec<Effect> {
        self.now = self.now.max(self.machine.wake_at().expect("it waits for something"));
        self.step(Input::Tick)
    }

    /// Joins at epoch 5 with these partitions, and has them confirmed.
    pub(super) fn join(&mut self, numbers: &[i32]) {
        self.topics();
        let effects = self.answer(5, Some(numbers));
        if sent(&effects).is_some() {
            assert_eq!(self.answer(5, None).len(), 1);
        }
    }
}

pub(super) fn sent(effects: &[Effect]) -> Option<&ConsumerHeartbeat> {
    let mut sent = effects.iter().filter_map(|effect| match effect {
        Effect::Send(Request::ConsumerHeartbeat(heartbeat)) => Some(heartbeat),
        _ => None,
    });
    let first = sent.next();
    assert_eq!(sent.next(), None);
    first
}

pub(super) fn notices(effects: &[Effect]) -> Vec<&GroupNotice> {
    let notices = effects.iter().filter_map(|effect| match effect {
        Effect::Notice(notice) => Some(notice),
        _ => None,
    });
    notices.collect()
}

pub(super) fn orders(numbers: &[i32]) -> Vec<TopicPartition> {
    numbers.iter().map(|number| TopicPartition::new("orders", *number)).collect()
}

pub(super) fn assigned(numbers: &[i32]) -> GroupNotice {
    GroupNotice::Assigned(orders(numbers).into_iter().map(|partition| (partition, Some(ORDERS))).collect())
}

pub(super) fn timed_out() -> BrokerError {
    BrokerError::Timeout { doing: "heartbeat".to_owned(), after: Duration::from_secs(5) }
}
