use std::time::Duration;

use serde::Deserialize;

/// Which protocol a group speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GroupProtocol {
    /// That of KIP-848 where the brokers offer it and the group is not a classic one with members, else the classic one.
    #[default]
    Auto,
    /// JoinGroup, SyncGroup, Heartbeat: the members divide the partitions themselves. All brokers; shared with members of
    /// other clients that speak it.
    Classic,
    /// KIP-848: the broker divides the partitions. Kafka 4.0 and later, or 3.7 with it switched on.
    Consumer,
}

/// How a classic group divides partitions; the names are those that all clients use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Assignor {
    /// `range`: topic by topic, neighbouring partitions. Every change takes all partitions from all members for a moment.
    Range,
    /// `roundrobin`: one by one over all topics. Every change takes all partitions from all members for a moment.
    #[serde(rename = "roundrobin")]
    RoundRobin,
    /// `cooperative-sticky`: evenly, and only partitions that move are given up.
    CooperativeSticky,
}

impl Assignor {
    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::RoundRobin => "roundrobin",
            Self::CooperativeSticky => "cooperative-sticky",
        }
    }
}

/// How a member behaves.
#[derive(Debug, Clone)]
pub(crate) struct GroupSettings {
    pub(crate) group: String,
    pub(crate) protocol: GroupProtocol,
    pub(crate) instance_id: Option<String>,
    pub(crate) rack: Option<String>,
    /// Classic: in the order of preference. All of one kind: eager ones do not mix with a cooperative one.
    pub(crate) assignors: Vec<Assignor>,
    /// KIP-848: the broker's assignor by name; `None` leaves it to the broker.
    pub(crate) server_assignor: Option<String>,
    /// Classic: how long the coordinator waits for a heartbeat. KIP-848: the broker has it, and does not tell.
    pub(crate) session_timeout: Duration,
    /// Classic: how often heartbeats are sent. KIP-848: the broker tells.
    pub(crate) heartbeat_interval: Duration,
    /// How long the coordinator waits for partitions to be given up.
    pub(crate) rebalance_timeout: Duration,
    /// How often metadata is read anew, for topics and partitions that came or went. At most five minutes, whatever this says.
    pub(crate) refresh: Duration,
    /// How long after the sending of the last heartbeat that succeeded records may be dispatched.
    pub(crate) lease: Duration,
    /// Settings that were changed and mean nothing in a group of KIP-848, for the log.
    pub(crate) classic_only: Vec<String>,
}
