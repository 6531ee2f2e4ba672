use std::fmt;

use kafka_protocol::ResponseError;

/// An error code of the Kafka protocol, as data. Displays as its name and number, e.g. `NOT_COORDINATOR (16)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub i16);

impl ErrorCode {
    /// `OFFSET_OUT_OF_RANGE`.
    pub const OFFSET_OUT_OF_RANGE: Self = Self(1);
    /// `UNKNOWN_TOPIC_OR_PARTITION`.
    pub const UNKNOWN_TOPIC_OR_PARTITION: Self = Self(3);
    /// `LEADER_NOT_AVAILABLE`.
    pub const LEADER_NOT_AVAILABLE: Self = Self(5);
    /// `MESSAGE_TOO_LARGE`.
    pub const MESSAGE_TOO_LARGE: Self = Self(10);
    /// `COORDINATOR_LOAD_IN_PROGRESS`.
    pub const COORDINATOR_LOAD_IN_PROGRESS: Self = Self(14);
    /// `COORDINATOR_NOT_AVAILABLE`.
    pub const COORDINATOR_NOT_AVAILABLE: Self = Self(15);
    /// `NOT_COORDINATOR`.
    pub const NOT_COORDINATOR: Self = Self(16);
    /// `ILLEGAL_GENERATION`.
    pub const ILLEGAL_GENERATION: Self = Self(22);
    /// `INCONSISTENT_GROUP_PROTOCOL`.
    pub const INCONSISTENT_GROUP_PROTOCOL: Self = Self(23);
    /// `UNKNOWN_MEMBER_ID`.
    pub const UNKNOWN_MEMBER_ID: Self = Self(25);
    /// `INVALID_SESSION_TIMEOUT`.
    pub const INVALID_SESSION_TIMEOUT: Self = Self(26);
    /// `REBALANCE_IN_PROGRESS`.
    pub const REBALANCE_IN_PROGRESS: Self = Self(27);
    /// `GROUP_AUTHORIZATION_FAILED`.
    pub const GROUP_AUTHORIZATION_FAILED: Self = Self(30);
    /// `UNSUPPORTED_VERSION`.
    pub const UNSUPPORTED_VERSION: Self = Self(35);
    /// `TOPIC_ALREADY_EXISTS`.
    pub const TOPIC_ALREADY_EXISTS: Self = Self(36);
    /// `GROUP_ID_NOT_FOUND`.
    pub const GROUP_ID_NOT_FOUND: Self = Self(69);
    /// `MEMBER_ID_REQUIRED`.
    pub const MEMBER_ID_REQUIRED: Self = Self(79);
    /// `GROUP_MAX_SIZE_REACHED`.
    pub const GROUP_MAX_SIZE_REACHED: Self = Self(81);
    /// `FENCED_INSTANCE_ID`.
    pub const FENCED_INSTANCE_ID: Self = Self(82);
    /// `UNKNOWN_TOPIC_ID`.
    pub const UNKNOWN_TOPIC_ID: Self = Self(100);
    /// `FENCED_MEMBER_EPOCH`.
    pub const FENCED_MEMBER_EPOCH: Self = Self(110);
    /// `UNRELEASED_INSTANCE_ID`.
    pub const UNRELEASED_INSTANCE_ID: Self = Self(111);
    /// `UNSUPPORTED_ASSIGNOR`.
    pub const UNSUPPORTED_ASSIGNOR: Self = Self(112);
    /// `STALE_MEMBER_EPOCH`.
    pub const STALE_MEMBER_EPOCH: Self = Self(113);

    /// Whether the same request may succeed later.
    pub fn is_retriable(self) -> bool {
        ResponseError::try_from_code(self.0).is_some_and(|error| error.is_retriable())
    }

    /// Whether it says that a right (an ACL) is missing.
    pub fn is_authorization(self) -> bool {
        matches!(self.0, 29 | 30 | 31 | 53 | 65)
    }

    /// Whether metadata is to be read again before another attempt: the partition is not, or not any more, where it was
    /// looked for.
    pub fn refreshes_metadata(self) -> bool {
        // UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, REPLICA_NOT_AVAILABLE,
        // NETWORK_EXCEPTION, NOT_CONTROLLER, KAFKA_STORAGE_ERROR, LISTENER_NOT_FOUND, FENCED_LEADER_EPOCH,
        // UNKNOWN_LEADER_EPOCH, PREFERRED_ and ELIGIBLE_LEADERS_NOT_AVAILABLE, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID.
        matches!(self.0, 3 | 5 | 6 | 9 | 13 | 41 | 56 | 72 | 74 | 75 | 80 | 83 | 100 | 103)
    }

    /// Whether the group's coordinator is to be looked for again before another attempt.
    pub fn refreshes_coordinator(self) -> bool {
        // COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR.
        matches!(self.0, 15 | 16)
    }

    /// Whether it says that the group has gone on without the member that asked: another generation or member epoch, a
    /// session that expired, another consumer with the same instance id.
    pub fn is_fenced(self) -> bool {
        matches!(
            self,
            Self::ILLEGAL_GENERATION
                | Self::UNKNOWN_MEMBER_ID
                | Self::FENCED_INSTANCE_ID
                | Self::FENCED_MEMBER_EPOCH
                | Self::STALE_MEMBER_EPOCH
        )
    }

    /// What it means and what can be done about it, for people; `None` where its name says it all, or it is rare.
    pub fn advice(self) -> Option<&'static str> {
        Some(match self.0 {
            -1 => "the broker failed; its log says why",
            2 => "the records were damaged on the way or on the broker's disk",
            3 => "no such topic or partition: check the name, or create it",
            5 => "an election is under way, or all replicas are down: check the brokers",
            6 => "the partition's leader has moved",
            7 => "the replicas did not confirm in time: check the brokers' load and replication",
            8 | 9 => "a broker is down or starting: check the brokers",
            10 => "larger than the topic's max.message.bytes allows: raise that, or send less",
            12 => "larger than the brokers' offset.metadata.max.bytes allows",
            14 => "the group's coordinator is starting",
            15 => "the group has no coordinator now: check that __consumer_offsets has leaders",
            16 => "the group's coordinator has moved",
            17 => "topic names are up to 249 letters, digits, '.', '_' and '-'",
            18 => "the batch is larger than the topic's segment.bytes: send less at once",
            19 | 20 => "fewer in-sync replicas than min.insync.replicas: bring the missing brokers back",
            22 | 25 | 110 | 113 => "the group has gone on without this member, which was away for too long",
            23 => "the members of the group speak another protocol, or have no assignor in common with this one",
            24 => "group names must not be empty",
            26 => "the brokers limit session timeouts (group.min.session.timeout.ms, group.max.session.timeout.ms)",
            27 => "the group is rebalancing",
            29 => "this client lacks a right on the topic: grant it (kafka-acls)",
            30 => "this client lacks a right on the group: grant it (kafka-acls)",
            31 => "this client lacks a right on the cluster: grant it (kafka-acls)",
            32 => "the topic's message.timestamp limits forbid the record's time",
            33 => "the listener does not offer this SASL mechanism",
            34 => "the listener expects SASL authentication first, or none",
            35 => "the broker is too old or too new for this request",
            37 => "a topic has at least one partition, and never fewer than before",
            38 => "no more replicas than there are brokers",
            41 => "the controller has moved",
            44 => "a policy of the brokers (create.topic.policy, alter.config.policy) forbids it",
            47 | 90 => "another producer has taken over this one's id",
            53 => "this client lacks a right on the transactional id: grant it (kafka-acls)",
            56 => "the broker's disk failed: its log says which",
            58 => "the broker does not accept these credentials",
            68 => "its members must stop first",
            69 => "no such group: check the name",
            72 => "the partition's leader lacks the listener that this client uses: check the brokers' listeners",
            73 => "the brokers forbid deleting topics (delete.topic.enable)",
            74 => "the partition has a newer leader",
            75 => "the broker has not heard of the partition's newest leader yet",
            76 => "the broker is too old for this compression",
            81 => "the group has as many members as the brokers allow (group.max.size)",
            82 => "another consumer uses the same group.instance.id",
            87 => "the broker does not accept the record: a compacted topic needs keys",
            88 => "a transaction that commits offsets of the group is still open",
            89 => "a quota of the brokers (controller_mutation_rate) is used up: go more slowly",
            100 => "the topic was deleted, and perhaps made anew",
            103 => "the topic was deleted and made anew",
            111 => "another consumer with the same group.instance.id is still a member",
            112 => "the brokers don't have this assignor (group.consumer.assignors)",
            _ => return None,
        })
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ResponseError::try_from_code(self.0) {
            Some(ResponseError::Unknown(_)) | None => write!(f, "error code {}", self.0),
            Some(error) => write!(f, "{} ({})", screaming(&format!("{error:?}")), self.0),
        }
    }
}

/// `UnknownTopicOrPartition` as Kafka writes it: `UNKNOWN_TOPIC_OR_PARTITION`.
fn screaming(camel: &str) -> String {
    let mut name = String::with_capacity(camel.len() + 8);
    for (index, letter) in camel.chars().enumerate() {
        if letter.is_ascii_uppercase() && index > 0 {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_shown_as_kafka_names_them() {
        assert_eq!(ErrorCode(16).to_string(), "NOT_COORDINATOR (16)");
        assert_eq!(ErrorCode(-1).to_string(), "UNKNOWN_SERVER_ERROR (-1)");
        assert_eq!(ErrorCode(32_000).to_string(), "error code 32000");
    }

    #[test]
    fn what_is_to_be_looked_for_again_may_succeed_then() {
        for code in (-1..200).map(ErrorCode) {
            if code.refreshes_metadata() || code.refreshes_coordinator() {
                assert!(code.is_retriable(), "{code}");
            }
            assert!(!(code.is_authorization() && code.is_retriable()), "{code}");
        }
    }
}
