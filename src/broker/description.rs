use crate::record::TopicPartition;

/// A cluster, as it says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterDescription {
    /// Its id; `None` where the broker tells none.
    pub id: Option<String>,
    /// The id of the broker that takes requests for the controller; `None` while there is none.
    pub controller: Option<i32>,
    /// The brokers that are up, by id.
    pub brokers: Vec<BrokerNode>,
}

/// A broker, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerNode {
    /// Its id.
    pub id: i32,
    /// Its address, `host:port`.
    pub address: String,
    /// Its rack, where it has one.
    pub rack: Option<String>,
}

/// A configuration entry of a topic, and what holds for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Its name, e.g. `retention.ms`.
    pub name: String,
    /// Its value; `None` where it has none or is sensitive.
    pub value: Option<String>,
    /// Whether it was set for this topic, rather than for the brokers or by default.
    pub is_own: bool,
}

/// A change of a configuration entry of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigChange {
    /// Sets an entry.
    Set {
        /// The entry's name.
        name: String,
        /// Its new value.
        value: String,
    },
    /// Deletes an entry, so that the brokers' value holds.
    Delete {
        /// The entry's name.
        name: String,
    },
}

impl ConfigChange {
    /// Sets an entry.
    pub fn set(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self::Set { name: name.into(), value: value.into() }
    }

    /// Deletes an entry, so that the brokers' value holds.
    pub fn delete(name: impl Into<String>) -> Self {
        Self::Delete { name: name.into() }
    }
}

/// A group in a list of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedGroup {
    /// Its id.
    pub group: String,
    /// What its members are, e.g. `consumer`; empty where the group only holds offsets.
    pub protocol_type: String,
    /// Its state, e.g. `Stable`; `None` where the broker does not tell (before Kafka 2.6).
    pub state: Option<String>,
    /// Which protocol its members speak, e.g. `classic` or `consumer` (KIP-848); `None` where the broker does not tell
    /// (before Kafka 3.8).
    pub kind: Option<String>,
}

/// A group of consumers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupDescription {
    /// Its id.
    pub group: String,
    /// Its state as the broker names it, e.g. `Stable`, `Empty` or `PreparingRebalance`.
    pub state: String,
    /// Whether its members speak the protocol of KIP-848 rather than the classic one.
    pub is_modern: bool,
    /// The assignor in use; empty where there is none.
    pub assignor: String,
    /// The epoch of a group of KIP-848; `None` for a classic one.
    pub epoch: Option<i32>,
    /// Its members.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// Its id, given by the broker or made by the client.
    pub id: String,
    /// The instance id of a static member.
    pub instance_id: Option<String>,
    /// The client id of its connection.
    pub client_id: String,
    /// The address that it connects from.
    pub host: String,
    /// What it is assigned; empty where the group is not one of consumers.
    pub assignment: Vec<TopicPartition>,
}
