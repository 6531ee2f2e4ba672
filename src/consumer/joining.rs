use std::time::Duration;

use super::builder::ConsumerBuilder;
use super::membership::{Assignment, MissingTopics};
use crate::group::{Assignor, GroupProtocol};

/// How the consumer is a member of its group. The defaults fit; `docs/groups.md` says when others do.
impl ConsumerBuilder {
    /// Who decides which partitions are processed. Default [`Assignment::Group`].
    pub fn assignment(mut self, assignment: Assignment) -> Self {
        self.settings.assignment = assignment;
        self
    }

    /// Which protocol the group speaks. Default [`GroupProtocol::Auto`]. Whether one that is forced can join a group with members
    /// of the other kind is the brokers' choice: Kafka 4 converts such a group by default and lets both in; with
    /// `group.consumer.migration.policy=disabled` it refuses, as does `embedded::Broker`, and the consumer stops with an error.
    pub fn group_protocol(mut self, protocol: GroupProtocol) -> Self {
        self.settings.membership.protocol = protocol;
        self
    }

    /// Makes the consumer a static member: under this id, which no other instance of the group may have, it gets its
    /// partitions back after a restart within the session timeout, and they are not given to others meanwhile. 1 to 249 ASCII
    /// letters, digits, `.`, `_` and `-`. Default none: partitions are given to others as soon as it leaves. Whether it was shut
    /// down or died, the others get the partitions of a static member that stays away when its session is over, not before.
    pub fn instance_id(mut self, id: impl Into<String>) -> Self {
        self.settings.membership.instance_id = Some(id.into());
        self
    }

    /// Where the instance runs, as the brokers' `broker.rack` names it: for assignors that look at it. Default none.
    pub fn rack(mut self, rack: impl Into<String>) -> Self {
        self.settings.membership.rack = Some(rack.into());
        self
    }

    /// How long the group's coordinator waits for a heartbeat before it gives the partitions to others. Default 45 s; brokers
    /// accept 6 s to 30 min unless set otherwise. Not for [`GroupProtocol::Consumer`], where the broker has it
    /// (`group.consumer.session.timeout.ms`, 45 s by default); where [`GroupProtocol::Auto`] comes to that, a warning says that it
    /// has no effect.
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.settings.membership.session_timeout = timeout;
        self
    }

    /// How often heartbeats are sent. Default 3 s, at most a third of the session timeout. They are sent whatever handlers do.
    /// Not for [`GroupProtocol::Consumer`], where the broker tells.
    pub fn heartbeat_interval(mut self, interval: Duration) -> Self {
        self.settings.membership.heartbeat_interval = interval;
        self
    }

    /// How long the coordinator waits for partitions to be given up. Default 60 s; at least the
    /// [`drain_timeout`](Self::drain_timeout) and 10 s for the last commit.
    pub fn rebalance_timeout(mut self, timeout: Duration) -> Self {
        self.settings.membership.rebalance_timeout = timeout;
        self
    }

    /// How long after the *sending* of its last heartbeat that succeeded the consumer dispatches records, commits and hands
    /// over dead letters. Default two thirds of the [`session_timeout`](Self::session_timeout) with [`GroupProtocol::Classic`],
    /// 30 s with [`GroupProtocol::Consumer`], the smaller of both with [`GroupProtocol::Auto`]: 30 s, if nothing is set. At least
    /// three heartbeat intervals, and shorter than the session timeout: so the consumer has stopped by itself when the
    /// coordinator gives its partitions to others, even where it cannot be reached. With [`GroupProtocol::Consumer`] the broker
    /// does not tell the session timeout: where it is set below its default of 45 s, set this below it too.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.membership.lease = Some(lease);
        self
    }

    /// How a classic group divides partitions, the preferred way first; the group takes one that all members name. Default
    /// [`Assignor::CooperativeSticky`]. It can't be mixed with the others, which take all partitions from all members at each
    /// change. Not for [`GroupProtocol::Consumer`].
    pub fn assignors(mut self, assignors: impl IntoIterator<Item = Assignor>) -> Self {
        self.settings.membership.assignors = assignors.into_iter().collect();
        self
    }

    /// The broker's assignor by name: `uniform` and `range` come with Kafka. Default: the broker's choice. Not for
    /// [`GroupProtocol::Classic`].
    pub fn server_assignor(mut self, name: impl Into<String>) -> Self {
        self.settings.membership.server_assignor = Some(name.into());
        self
    }

    /// What happens at the start where a topic that is named does not exist. Default [`MissingTopics::Fail`]. One that
    /// disappears while the consumer runs is an event ([`Event::TopicMissing`](crate::Event::TopicMissing)) either way.
    pub fn missing_topics(mut self, missing: MissingTopics) -> Self {
        self.settings.membership.missing_topics = missing;
        self
    }

    /// How often it is looked for new topics and partitions. Default 30 s, 500 ms to 5 min.
    pub fn topic_refresh(mut self, interval: Duration) -> Self {
        self.settings.membership.topic_refresh = interval;
        self
    }
}
