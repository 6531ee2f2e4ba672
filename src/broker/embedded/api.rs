use std::fmt;
use std::ops::RangeInclusive;

use bytes::Bytes;
use kafka_protocol::messages as m;
use kafka_protocol::protocol::{Decodable, HeaderVersion};

use super::apis;
use super::shape::Shape;

/// Declares what is served, once: the public [`Api`], the decoded [`Body`] and the tables over both.
macro_rules! served {
    ($($(#[$doc:meta])* $name:ident = $key:literal, $versions:expr, $request:ident, $module:ident;)*) => {
        /// A request type of the Kafka protocol that the embedded broker serves.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Api {
            $($(#[$doc])* $name = $key,)*
        }

        /// The decoded body of a request.
        #[derive(Debug)]
        pub(crate) enum Body {
            $($name(m::$request),)*
        }

        impl Api {
            /// All that are served.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The API with this key, or `None` where it is not served.
            pub(crate) fn from_key(key: i16) -> Option<Self> {
                match key {
                    $($key => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The versions served, first and last.
            pub(crate) fn versions(self) -> RangeInclusive<i16> {
                match self {
                    $(Self::$name => $versions,)*
                }
            }

            /// How requests of this API lie on the wire.
            pub(super) fn shape(self) -> &'static Shape {
                match self {
                    $(Self::$name => &apis::$module::SHAPE,)*
                }
            }

            /// The version of the header before a request of `version`.
            pub(super) fn header_version(self, version: i16) -> i16 {
                match self {
                    $(Self::$name => m::$request::header_version(version),)*
                }
            }

            /// Decodes the body of a request that [`Shape::fits`] has passed.
            pub(super) fn decode(self, bytes: &mut Bytes, version: i16) -> Result<Body, String> {
                match self {
                    $(Self::$name => m::$request::decode(bytes, version)
                        .map(Body::$name)
                        .map_err(|error| error.to_string()),)*
                }
            }
        }
    };
}

served! {
    /// Appends record batches.
    Produce = 0, 3..=13, ProduceRequest, produce;
    /// Reads record batches.
    Fetch = 1, 4..=17, FetchRequest, fetch;
    /// Asks for first and last offsets, and for offsets by time.
    ListOffsets = 2, 1..=10, ListOffsetsRequest, list_offsets;
    /// Asks for brokers, topics and partitions.
    Metadata = 3, 0..=13, MetadataRequest, metadata;
    /// Commits a group's offsets.
    OffsetCommit = 8, 2..=9, OffsetCommitRequest, offset_commit;
    /// Reads a group's committed offsets.
    OffsetFetch = 9, 1..=9, OffsetFetchRequest, offset_fetch;
    /// Asks which broker coordinates a group or a transaction.
    FindCoordinator = 10, 0..=6, FindCoordinatorRequest, find_coordinator;
    /// Joins a group by the classic protocol.
    JoinGroup = 11, 0..=9, JoinGroupRequest, join_group;
    /// Keeps a member of a classic group alive.
    Heartbeat = 12, 0..=4, HeartbeatRequest, heartbeat;
    /// Leaves a classic group.
    LeaveGroup = 13, 0..=5, LeaveGroupRequest, leave_group;
    /// Brings or asks for the assignment of a classic group.
    SyncGroup = 14, 0..=5, SyncGroupRequest, sync_group;
    /// Describes groups.
    DescribeGroups = 15, 0..=6, DescribeGroupsRequest, describe_groups;
    /// Lists groups.
    ListGroups = 16, 0..=5, ListGroupsRequest, list_groups;
    /// Asks which APIs and versions are served.
    ApiVersions = 18, 0..=4, ApiVersionsRequest, api_versions;
    /// Creates topics.
    CreateTopics = 19, 2..=7, CreateTopicsRequest, create_topics;
    /// Deletes topics.
    DeleteTopics = 20, 1..=6, DeleteTopicsRequest, delete_topics;
    /// Moves the start of logs forward.
    DeleteRecords = 21, 0..=2, DeleteRecordsRequest, delete_records;
    /// Gives out a producer id, and gives a transactional id to a producer.
    InitProducerId = 22, 0..=5, InitProducerIdRequest, init_producer_id;
    /// Asks where leader epochs ended.
    OffsetForLeaderEpoch = 23, 2..=4, OffsetForLeaderEpochRequest, offset_for_leader_epoch;
    /// Adds partitions to a transaction.
    AddPartitionsToTxn = 24, 0..=3, AddPartitionsToTxnRequest, add_partitions_to_txn;
    /// Adds a group's offsets to a transaction.
    AddOffsetsToTxn = 25, 0..=4, AddOffsetsToTxnRequest, add_offsets_to_txn;
    /// Commits or aborts a transaction.
    EndTxn = 26, 0..=4, EndTxnRequest, end_txn;
    /// Commits a group's offsets with a transaction.
    TxnOffsetCommit = 28, 0..=4, TxnOffsetCommitRequest, txn_offset_commit;
    /// Reads the configuration of topics and of the broker.
    DescribeConfigs = 32, 1..=4, DescribeConfigsRequest, describe_configs;
    /// Replaces the configuration of topics.
    AlterConfigs = 33, 0..=2, AlterConfigsRequest, alter_configs;
    /// Gives topics more partitions.
    CreatePartitions = 37, 0..=3, CreatePartitionsRequest, create_partitions;
    /// Deletes groups.
    DeleteGroups = 42, 0..=2, DeleteGroupsRequest, delete_groups;
    /// Changes entries of topics' configuration.
    IncrementalAlterConfigs = 44, 0..=1, IncrementalAlterConfigsRequest, incremental_alter_configs;
    /// Deletes a group's committed offsets.
    OffsetDelete = 47, 0..=0, OffsetDeleteRequest, offset_delete;
    /// Asks for the cluster's id, controller and brokers.
    DescribeCluster = 60, 0..=2, DescribeClusterRequest, describe_cluster;
    /// Joins, stays in and leaves a group by the protocol of KIP-848.
    ConsumerGroupHeartbeat = 68, 0..=1, ConsumerGroupHeartbeatRequest, consumer_group_heartbeat;
    /// Describes groups by the protocol of KIP-848.
    ConsumerGroupDescribe = 69, 0..=1, ConsumerGroupDescribeRequest, consumer_group_describe;
    /// Asks for topics and partitions, in parts.
    DescribeTopicPartitions = 75, 0..=0, DescribeTopicPartitionsRequest, describe_topic_partitions;
}

impl Api {
    /// Its key in the protocol.
    pub fn key(self) -> i16 {
        self as i16
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
