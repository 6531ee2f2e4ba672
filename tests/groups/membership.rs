//! How the members of a test's groups behave.

use std::time::Duration;

use bezoar::consumer::{Assignor, ConsumerBuilder, GroupProtocol};
use serde::{Deserialize, Serialize};

/// How a group divides its partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// KIP-848.
    Consumer,
    /// Classic, `cooperative-sticky`.
    Sticky,
    /// Classic, `range`.
    Range,
    /// Classic, `roundrobin`.
    RoundRobin,
}

impl Kind {
    pub(crate) fn protocol(self) -> GroupProtocol {
        match self {
            Self::Consumer => GroupProtocol::Consumer,
            Self::Sticky | Self::Range | Self::RoundRobin => GroupProtocol::Classic,
        }
    }

    /// For topics and groups of a test.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Consumer => "consumer",
            Self::Sticky => "sticky",
            Self::Range => "range",
            Self::RoundRobin => "roundrobin",
        }
    }
}

/// What a member sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Membership {
    pub(crate) kind: Kind,
    pub(crate) instance_id: Option<String>,
    /// Milliseconds. For KIP-848 it is the broker's, and only told here.
    pub(crate) session_timeout: u64,
}

impl Default for Membership {
    fn default() -> Self {
        Self { kind: Kind::Sticky, instance_id: None, session_timeout: 6_000 }
    }
}

impl Membership {
    pub(crate) fn of(kind: Kind, session_timeout: Duration) -> Self {
        Self { kind, instance_id: None, session_timeout: session_timeout.as_millis() as u64 }
    }

    pub(crate) fn session(&self) -> Duration {
        Duration::from_millis(self.session_timeout)
    }

    pub(crate) fn lease(&self) -> Duration {
        self.session() * 3 / 4
    }

    pub(crate) fn apply(&self, builder: ConsumerBuilder) -> ConsumerBuilder {
        let builder = builder
            .group_protocol(self.kind.protocol())
            .lease(self.lease())
            .drain_timeout(Duration::from_secs(10))
            .rebalance_timeout(Duration::from_secs(25));
        let builder = match &self.instance_id {
            Some(id) => builder.instance_id(id),
            None => builder,
        };
        let assignor = match self.kind {
            // Sessions, heartbeats and the assignor are the broker's.
            Kind::Consumer => return builder,
            Kind::Sticky => Assignor::CooperativeSticky,
            Kind::Range => Assignor::Range,
            Kind::RoundRobin => Assignor::RoundRobin,
        };
        builder.assignors([assignor]).session_timeout(self.session()).heartbeat_interval(self.session() / 10)
    }
}
