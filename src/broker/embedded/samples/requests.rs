//! Requests of every API and version with something in each of their arrays; for tests.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages as m;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Encodable, HeaderVersion, StrBytes};
use uuid::Uuid;

use super::super::api::Api;
use super::members;
use crate::broker::batch::BatchWriter;

pub(super) fn s(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

pub(in super::super) fn topic(name: &str) -> TopicName {
    TopicName(s(name))
}

pub(super) fn group() -> GroupId {
    GroupId(s("fulfilment"))
}

/// The member of the group of all samples.
pub(super) const MEMBER: &str = "member";
/// The transactional id of all samples.
pub(super) const PAYMENTS: &str = "payments";
/// The first producer id that a broker gives out.
pub(super) const FIRST_PRODUCER: i64 = 1_000;

/// The correlation id of all samples.
pub(in super::super) const CORRELATION: i32 = 77;

pub(super) fn frame<R: Encodable + HeaderVersion>(api: Api, version: i16, request: &R) -> Bytes {
    let mut buffer = BytesMut::new();
    RequestHeader::default()
        .with_request_api_key(api.key())
        .with_request_api_version(version)
        .with_correlation_id(CORRELATION)
        .with_client_id(Some(s("samples")))
        .encode(&mut buffer, R::header_version(version))
        .unwrap();
    request.encode(&mut buffer, version).unwrap_or_else(|error| panic!("{api} {version}: {error}"));
    buffer.freeze()
}

/// A request of `version`, without the length before it.
pub(in super::super) fn sample(api: Api, version: i16, topic_id: Uuid) -> Bytes {
    let batch = BatchWriter::new().record(Some(b"k"), Some(b"v"), Vec::new()).build();
    let since = |first: i16| version >= first;
    match api {
        Api::Produce => {
            use m::produce_request::*;
            let partition = PartitionProduceData::default().with_index(0).with_records(Some(batch));
            let mut data = TopicProduceData::default().with_partition_data(vec![partition]);
            if since(13) {
                data.topic_id = topic_id
            } else {
                data.name = topic("orders")
            }
            frame(api, version, &ProduceRequest::default().with_acks(-1).with_topic_data(vec![data]))
        }
        Api::Fetch => {
            use m::fetch_request::*;
            let mut partition = FetchPartition::default().with_partition_max_bytes(1_000);
            if since(17) {
                partition.replica_directory_id = Uuid::from_u128(5);
            }
            let mut asked = FetchTopic::default().with_partitions(vec![partition]);
            let mut forgotten = ForgottenTopic::default().with_partitions(vec![1, 2]);
            if since(13) {
                (asked.topic_id, forgotten.topic_id) = (topic_id, topic_id);
            } else {
                (asked.topic, forgotten.topic) = (topic("orders"), topic("orders"));
            }
            let mut request = FetchRequest::default().with_topics(vec![asked]).with_max_bytes(1_000);
            if since(7) {
                request.forgotten_topics_data = vec![forgotten];
            }
            if since(12) {
                request.cluster_id = Some(s("cluster"));
            }
            if since(15) {
                request.replica_state = ReplicaState::default().with_replica_epoch(3);
            }
            frame(api, version, &request)
        }
        Api::ListOffsets => {
            use m::list_offsets_request::*;
            let partition = ListOffsetsPartition::default().with_timestamp(-1);
            let asked = ListOffsetsTopic::default().with_name(topic("orders")).with_partitions(vec![partition]);
            frame(api, version, &ListOffsetsRequest::default().with_topics(vec![asked]))
        }
        Api::Metadata => {
            use m::metadata_request::*;
            let mut topics = vec![MetadataRequestTopic::default().with_name(Some(topic("orders")))];
            if since(12) {
                topics.push(MetadataRequestTopic::default().with_name(None).with_topic_id(topic_id));
            }
            frame(api, version, &MetadataRequest::default().with_topics(Some(topics)))
        }
        Api::OffsetCommit => {
            use m::offset_commit_request::*;
            let partition = OffsetCommitRequestPartition::default()
                .with_committed_offset(3)
                .with_committed_metadata(Some(s("note")));
            let asked = OffsetCommitRequestTopic::default().with_name(topic("orders")).with_partitions(vec![partition]);
            frame(api, version, &OffsetCommitRequest::default().with_group_id(group()).with_topics(vec![asked]))
        }
        Api::OffsetFetch => {
            use m::offset_fetch_request::*;
            let mut request = OffsetFetchRequest::default();
            if since(8) {
                let asked =
                    OffsetFetchRequestTopics::default().with_name(topic("orders")).with_partition_indexes(vec![0, 1]);
                request.groups =
                    vec![OffsetFetchRequestGroup::default().with_group_id(group()).with_topics(Some(vec![asked]))];
            } else {
                let asked =
                    OffsetFetchRequestTopic::default().with_name(topic("orders")).with_partition_indexes(vec![0, 1]);
                request.group_id = group();
                request.topics = Some(vec![asked]);
            }
            frame(api, version, &request)
        }
        Api::FindCoordinator => {
            let mut request = FindCoordinatorRequest::default();
            if since(4) {
                request.coordinator_keys = vec![s("a"), s("b")]
            } else {
                request.key = s("a")
            }
            frame(api, version, &request)
        }
        Api::JoinGroup => members::join(version),
        Api::SyncGroup => members::sync(version),
        Api::Heartbeat => members::heartbeat(version),
        Api::LeaveGroup => members::leave(version),
        Api::ConsumerGroupHeartbeat => members::consumer_heartbeat(version, topic_id),
        Api::ConsumerGroupDescribe => {
            frame(api, version, &ConsumerGroupDescribeRequest::default().with_group_ids(vec![group()]))
        }
        Api::OffsetDelete => {
            use m::offset_delete_request::*;
            let partition = OffsetDeleteRequestPartition::default();
            let asked = OffsetDeleteRequestTopic::default().with_name(topic("orders")).with_partitions(vec![partition]);
            frame(api, version, &OffsetDeleteRequest::default().with_group_id(group()).with_topics(vec![asked]))
        }
        Api::DescribeGroups => frame(api, version, &DescribeGroupsRequest::default().with_groups(vec![group()])),
        Api::ListGroups => {
            let mut request = ListGroupsRequest::default();
            if since(4) {
                request.states_filter = vec![s("empty")];
            }
            if since(5) {
                request.types_filter = vec![s("classic")];
            }
            frame(api, version, &request)
        }
        Api::ApiVersions => {
            let mut request = ApiVersionsRequest::default();
            if since(3) {
                request = request.with_client_software_name(s("samples")).with_client_software_version(s("1.0"));
            }
            frame(api, version, &request)
        }
        Api::CreateTopics => {
            use m::create_topics_request::*;
            let config = CreatableTopicConfig::default().with_name(s("retention.ms")).with_value(Some(s("-1")));
            let assignment = CreatableReplicaAssignment::default().with_broker_ids(vec![BrokerId(1)]);
            let asked = CreatableTopic::default()
                .with_name(topic("refunds"))
                .with_num_partitions(-1)
                .with_replication_factor(-1)
                .with_assignments(vec![assignment])
                .with_configs(vec![config]);
            frame(api, version, &CreateTopicsRequest::default().with_topics(vec![asked]))
        }
        Api::DeleteTopics => {
            use m::delete_topics_request::*;
            let mut request = DeleteTopicsRequest::default();
            if since(6) {
                request.topics = vec![
                    DeleteTopicState::default().with_name(Some(topic("gone"))),
                    DeleteTopicState::default().with_name(None).with_topic_id(topic_id),
                ];
            } else {
                request.topic_names = vec![topic("gone"), topic("orders")];
            }
            frame(api, version, &request)
        }
        Api::DeleteRecords => {
            use m::delete_records_request::*;
            let partition = DeleteRecordsPartition::default().with_offset(-1);
            let asked = DeleteRecordsTopic::default().with_name(topic("orders")).with_partitions(vec![partition]);
            frame(api, version, &DeleteRecordsRequest::default().with_topics(vec![asked]))
        }
        Api::InitProducerId => {
            let request = InitProducerIdRequest::default().with_transactional_id(Some(TransactionalId(s(PAYMENTS))));
            frame(api, version, &request.with_transaction_timeout_ms(60_000))
        }
        Api::AddPartitionsToTxn => {
            use m::add_partitions_to_txn_request::*;
            let asked = AddPartitionsToTxnTopic::default().with_name(topic("orders")).with_partitions(vec![0, 1]);
            let request = AddPartitionsToTxnRequest::default()
                .with_v3_and_below_transactional_id(TransactionalId(s(PAYMENTS)))
                .with_v3_and_below_producer_id(ProducerId(FIRST_PRODUCER))
                .with_v3_and_below_topics(vec![asked]);
            frame(api, version, &request)
        }
        Api::AddOffsetsToTxn => {
            let request = AddOffsetsToTxnRequest::default()
                .with_transactional_id(TransactionalId(s(PAYMENTS)))
                .with_producer_id(ProducerId(FIRST_PRODUCER))
                .with_group_id(group());
            frame(api, version, &request)
        }
        Api::EndTxn => {
            let request = EndTxnRequest::default()
                .with_transactional_id(TransactionalId(s(PAYMENTS)))
                .with_producer_id(ProducerId(FIRST_PRODUCER))
                .with_committed(true);
            frame(api, version, &request)
        }
        Api::TxnOffsetCommit => {
            use m::txn_offset_commit_request::*;
            let partition = TxnOffsetCommitRequestPartition::default()
                .with_committed_offset(3)
                .with_committed_metadata(Some(s("note")));
            let asked = TxnOffsetCommitRequestTopic::default().with_name(topic("orders"));
            let asked = asked.with_partitions(vec![partition]);
            let request = TxnOffsetCommitRequest::default()
                .with_transactional_id(TransactionalId(s(PAYMENTS)))
                .with_group_id(group())
                .with_producer_id(ProducerId(FIRST_PRODUCER))
                .with_topics(vec![asked]);
            frame(api, version, &request)
        }
        Api::DescribeConfigs => {
            use m::describe_configs_request::*;
            let asked = DescribeConfigsResource::default()
                .with_resource_type(2)
                .with_resource_name(s("orders"))
                .with_configuration_keys(Some(vec![s("cleanup.policy"), s("retention.ms")]));
            let request = DescribeConfigsRequest::default().with_resources(vec![asked]).with_include_synonyms(true);
            frame(api, version, &request)
        }
        Api::OffsetForLeaderEpoch => {
            use m::offset_for_leader_epoch_request::*;
            let partition = OffsetForLeaderPartition::default().with_current_leader_epoch(0).with_leader_epoch(0);
            let asked = OffsetForLeaderTopic::default().with_topic(topic("orders")).with_partitions(vec![partition]);
            frame(api, version, &OffsetForLeaderEpochRequest::default().with_topics(vec![asked]))
        }
        Api::AlterConfigs => {
            use m::alter_configs_request::*;
            let config = AlterableConfig::default().with_name(s("retention.ms")).with_value(Some(s("5")));
            let asked = AlterConfigsResource::default().with_resource_type(2).with_resource_name(s("orders"));
            let asked = asked.with_configs(vec![config]);
            frame(api, version, &AlterConfigsRequest::default().with_resources(vec![asked]))
        }
        Api::CreatePartitions => {
            use m::create_partitions_request::*;
            let assignment = CreatePartitionsAssignment::default().with_broker_ids(vec![BrokerId(1)]);
            let asked = CreatePartitionsTopic::default().with_name(topic("orders")).with_count(3);
            let asked = asked.with_assignments(Some(vec![assignment]));
            frame(api, version, &CreatePartitionsRequest::default().with_topics(vec![asked]))
        }
        Api::IncrementalAlterConfigs => {
            use m::incremental_alter_configs_request::*;
            let config = AlterableConfig::default().with_name(s("retention.ms")).with_value(Some(s("5")));
            let asked = AlterConfigsResource::default().with_resource_type(2).with_resource_name(s("orders"));
            let asked = asked.with_configs(vec![config]);
            frame(api, version, &IncrementalAlterConfigsRequest::default().with_resources(vec![asked]))
        }
        Api::DescribeCluster => {
            frame(api, version, &DescribeClusterRequest::default().with_include_cluster_authorized_operations(true))
        }
        Api::DescribeTopicPartitions => {
            use m::describe_topic_partitions_request::*;
            let asked = TopicRequest::default().with_name(topic("orders"));
            let cursor = Cursor::default().with_topic_name(topic("orders")).with_partition_index(1);
            let request = DescribeTopicPartitionsRequest::default().with_topics(vec![asked]);
            frame(api, version, &request.with_response_partition_limit(10).with_cursor(Some(cursor)))
        }
        Api::DeleteGroups => frame(api, version, &DeleteGroupsRequest::default().with_groups_names(vec![group()])),
    }
}
