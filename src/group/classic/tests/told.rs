use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::super::ClassicMember;
use super::super::protocol::{Subscription, encode_assignment};
use super::settings;
use crate::broker::{BrokerError, ErrorCode, JoinAnswer, JoinGroup, JoinedMember};
use crate::group::machine::{Answer, Effect, Input, Machine, Request, TopicInfo, Topics};
use crate::group::message::GroupNotice;
use crate::group::settings::{Assignor, GroupSettings};
use crate::record::TopicPartition;

/// A member whose inputs are given one by one.
pub(super) struct Told {
    pub(super) member: ClassicMember,
    pub(super) now: Instant,
}

impl Told {
    pub(super) fn new(assignor: Assignor) -> Self {
        Self::with(GroupSettings { assignors: vec![assignor], ..settings("") })
    }

    pub(super) fn with(settings: GroupSettings) -> Self {
        Self { member: ClassicMember::new(settings, 7), now: Instant::now() }
    }

    pub(super) fn step(&mut self, input: Input) -> Vec<Effect> {
        self.member.step(self.now, input)
    }

    pub(super) fn after(&mut self, millis: u64, input: Input) -> Vec<Effect> {
        self.now += Duration::from_millis(millis);
        self.step(input)
    }

    pub(super) fn joined(&mut self, leader: &str, generation: i32, members: Vec<JoinedMember>) -> Vec<Effect> {
        let protocol = self.member.settings.assignors[0].name().to_owned();
        let (leader, member_id) = (leader.to_owned(), "me".to_owned());
        let answer = JoinAnswer { generation, protocol, leader, member_id, skip_assignment: false, members };
        self.step(Input::Answered(Answer::Join(Ok(Ok(answer)))))
    }

    /// Brings it into the group as a follower with these partitions of `orders`.
    pub(super) fn settle(&mut self, generation: i32, partitions: &[i32]) -> Vec<Effect> {
        self.joined("other", generation, Vec::new());
        self.step(synced(partitions))
    }
}

pub(super) fn topics(counts: &[(&str, i32, bool)]) -> Input {
    let info = |&(name, partitions, subscribed): &(&str, i32, bool)| {
        (name.to_owned(), TopicInfo { id: None, partitions, subscribed })
    };
    Input::Topics(counts.iter().map(info).collect::<Topics>())
}

pub(super) fn orders(numbers: &[i32]) -> Vec<TopicPartition> {
    numbers.iter().map(|number| TopicPartition::new("orders", *number)).collect()
}

pub(super) fn synced(partitions: &[i32]) -> Input {
    Input::Answered(Answer::Sync(Ok(encode_assignment(&orders(partitions)).unwrap())))
}

pub(super) fn refused(code: ErrorCode) -> BrokerError {
    BrokerError::Response { doing: "asking".to_owned(), code, message: None }
}

pub(super) fn beaten(code: ErrorCode) -> Input {
    Input::Answered(Answer::Heartbeat(Err(refused(code))))
}

pub(super) fn notices(effects: &[Effect]) -> Vec<GroupNotice> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Notice(notice) => Some(notice.clone()),
            _ => None,
        })
        .collect()
}

pub(super) fn join_in(effects: &[Effect]) -> Option<JoinGroup> {
    effects.iter().find_map(|effect| match effect {
        Effect::Send(Request::Join(join)) => Some(join.clone()),
        _ => None,
    })
}

pub(super) fn revoked(effects: &[Effect]) -> Vec<TopicPartition> {
    let of = |notice| match notice {
        GroupNotice::Revoked(partitions) => partitions,
        _ => Vec::new(),
    };
    notices(effects).into_iter().flat_map(of).collect()
}

pub(super) fn assigned(effects: &[Effect]) -> Vec<TopicPartition> {
    let of = |notice| match notice {
        GroupNotice::Assigned(partitions) => partitions.into_iter().map(|(partition, _)| partition).collect(),
        _ => Vec::new(),
    };
    notices(effects).into_iter().flat_map(of).collect()
}

pub(super) fn lost(effects: &[Effect]) -> Vec<TopicPartition> {
    let of = |notice| match notice {
        GroupNotice::Lost { partitions, .. } => partitions,
        _ => Vec::new(),
    };
    notices(effects).into_iter().flat_map(of).collect()
}

pub(super) fn member(id: &str, subscription: Bytes) -> JoinedMember {
    JoinedMember { member_id: id.to_owned(), instance_id: None, subscription }
}

pub(super) fn wants(topics: &[&str]) -> Bytes {
    let topics: BTreeSet<String> = topics.iter().map(|topic| (*topic).to_owned()).collect();
    Subscription { topics, owned: Vec::new(), generation: -1, rack: None }.encode(false).unwrap()
}

/// A member in the group, with `orders` 0 and 1 in generation 3.
pub(super) fn settled(assignor: Assignor) -> Told {
    let mut told = Told::new(assignor);
    told.step(topics(&[("orders", 4, true)]));
    told.settle(3, &[0, 1]);
    told
}

/// The heartbeat that it sends now.
pub(super) fn heartbeat_of(told: &Told) -> Effect {
    Effect::Send(Request::Heartbeat(told.member.identity()))
}
