mod groups;

use bytes::BytesMut;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::create_topics_response::{CreatableTopicConfigs, CreatableTopicResult};
use kafka_protocol::messages::delete_records_response::{DeleteRecordsPartitionResult, DeleteRecordsTopicResult};
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use kafka_protocol::messages::fetch_response::{
    AbortedTransaction, EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
    SnapshotId,
};
use kafka_protocol::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::offset_for_leader_epoch_response::{self, OffsetForLeaderTopicResult};
use kafka_protocol::messages::produce_response::{
    BatchIndexAndErrorMessage, PartitionProduceResponse, TopicProduceResponse,
};
use kafka_protocol::messages::{
    ApiVersionsResponse, BrokerId, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest,
    CreatePartitionsResponse, CreateTopicsResponse, DeleteGroupsRequest, DeleteRecordsResponse, DeleteTopicsResponse,
    DescribeConfigsResponse, DescribeGroupsRequest, FetchResponse, FindCoordinatorRequest, HeartbeatRequest,
    IncrementalAlterConfigsResponse, InitProducerIdResponse, JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest,
    ListOffsetsResponse, MetadataResponse, OffsetCommitRequest, OffsetFetchRequest, OffsetForLeaderEpochResponse,
    ProduceResponse, SyncGroupRequest, TopicName, api_versions_response,
};
use kafka_protocol::protocol::{Encodable, StrBytes};
use proptest::prelude::*;

use super::*;

/// An answer that fills every array and text, two entries each.
trait Sample: Api {
    fn sample(version: i16) -> Self::Response;
}

fn text() -> StrBytes {
    StrBytes::from_static_str("text")
}

fn topic() -> TopicName {
    TopicName(text())
}

fn two<T: Clone>(value: T) -> Vec<T> {
    vec![value.clone(), value]
}

impl Sample for ApiVersionsRequest {
    fn sample(version: i16) -> ApiVersionsResponse {
        use api_versions_response::*;
        let answer = ApiVersionsResponse::default().with_api_keys(two(ApiVersion::default()));
        if version < 3 {
            return answer;
        }
        answer
            .with_supported_features(two(SupportedFeatureKey::default().with_name(text())))
            .with_finalized_features_epoch(7)
            .with_finalized_features(two(FinalizedFeatureKey::default().with_name(text())))
            .with_zk_migration_ready(true)
    }
}

impl Sample for MetadataRequest {
    fn sample(version: i16) -> MetadataResponse {
        let broker = MetadataResponseBroker::default().with_host(text()).with_rack(Some(text()));
        let mut partition =
            MetadataResponsePartition::default().with_replica_nodes(two(BrokerId(1))).with_isr_nodes(two(BrokerId(1)));
        if version >= 5 {
            partition = partition.with_offline_replicas(two(BrokerId(2)));
        }
        let topic = MetadataResponseTopic::default().with_name(Some(topic())).with_partitions(two(partition));
        MetadataResponse::default().with_brokers(two(broker)).with_cluster_id(Some(text())).with_topics(two(topic))
    }
}

impl Sample for CreateTopicsRequest {
    fn sample(version: i16) -> CreateTopicsResponse {
        let mut result = CreatableTopicResult::default().with_name(topic()).with_error_message(Some(text()));
        if version >= 5 {
            let config = CreatableTopicConfigs::default().with_name(text()).with_value(Some(text()));
            result = result.with_configs(Some(two(config))).with_topic_config_error_code(29);
        }
        CreateTopicsResponse::default().with_topics(two(result))
    }
}

impl Sample for DeleteTopicsRequest {
    fn sample(version: i16) -> DeleteTopicsResponse {
        let mut result = DeletableTopicResult::default().with_name(Some(topic()));
        if version >= 5 {
            result = result.with_error_message(Some(text()));
        }
        DeleteTopicsResponse::default().with_responses(two(result))
    }
}

impl Sample for DescribeConfigsRequest {
    fn sample(version: i16) -> DescribeConfigsResponse {
        let synonym = DescribeConfigsSynonym::default().with_name(text()).with_value(Some(text()));
        let mut config = DescribeConfigsResourceResult::default()
            .with_name(text())
            .with_value(Some(text()))
            .with_synonyms(two(synonym));
        if version >= 3 {
            config = config.with_documentation(Some(text()));
        }
        let result = DescribeConfigsResult::default().with_error_message(Some(text())).with_configs(two(config));
        DescribeConfigsResponse::default().with_results(two(result))
    }
}

impl Sample for ListOffsetsRequest {
    fn sample(_: i16) -> ListOffsetsResponse {
        let partitions = two(ListOffsetsPartitionResponse::default());
        let topic = ListOffsetsTopicResponse::default().with_name(topic()).with_partitions(partitions);
        ListOffsetsResponse::default().with_topics(two(topic))
    }
}

impl Sample for CreatePartitionsRequest {
    fn sample(_: i16) -> CreatePartitionsResponse {
        let result = CreatePartitionsTopicResult::default().with_name(topic()).with_error_message(Some(text()));
        CreatePartitionsResponse::default().with_results(two(result))
    }
}

impl Sample for IncrementalAlterConfigsRequest {
    fn sample(_: i16) -> IncrementalAlterConfigsResponse {
        let result =
            AlterConfigsResourceResponse::default().with_error_message(Some(text())).with_resource_name(text());
        IncrementalAlterConfigsResponse::default().with_responses(two(result))
    }
}

impl Sample for DeleteRecordsRequest {
    fn sample(_: i16) -> DeleteRecordsResponse {
        let partitions = two(DeleteRecordsPartitionResult::default());
        let topic = DeleteRecordsTopicResult::default().with_name(topic()).with_partitions(partitions);
        DeleteRecordsResponse::default().with_topics(two(topic))
    }
}

impl Sample for FetchRequest {
    fn sample(version: i16) -> FetchResponse {
        let mut partition = PartitionData::default()
            .with_aborted_transactions(Some(two(AbortedTransaction::default())))
            .with_records(Some(Bytes::from_static(b"records")));
        if version >= 12 {
            partition = partition
                .with_diverging_epoch(EpochEndOffset::default().with_epoch(1).with_end_offset(2))
                .with_current_leader(LeaderIdAndEpoch::default().with_leader_id(BrokerId(1)).with_leader_epoch(2))
                .with_snapshot_id(SnapshotId::default().with_end_offset(1).with_epoch(2));
        }
        let topic = FetchableTopicResponse::default().with_partitions(two(partition));
        let topic = if version < 13 { topic.with_topic(self::topic()) } else { topic };
        let answer = FetchResponse::default().with_responses(two(topic));
        let endpoint = NodeEndpoint::default().with_node_id(BrokerId(1)).with_host(text()).with_rack(Some(text()));
        if version < 16 { answer } else { answer.with_node_endpoints(two(endpoint)) }
    }
}

impl Sample for OffsetForLeaderEpochRequest {
    fn sample(_: i16) -> OffsetForLeaderEpochResponse {
        let partitions = two(offset_for_leader_epoch_response::EpochEndOffset::default());
        let topic = OffsetForLeaderTopicResult::default().with_topic(topic()).with_partitions(partitions);
        OffsetForLeaderEpochResponse::default().with_topics(two(topic))
    }
}

impl Sample for ProduceRequest {
    fn sample(version: i16) -> ProduceResponse {
        let mut partition = PartitionProduceResponse::default().with_index(1).with_base_offset(7);
        if version >= 8 {
            let record = BatchIndexAndErrorMessage::default().with_batch_index_error_message(Some(text()));
            partition = partition.with_record_errors(two(record)).with_error_message(Some(text()));
        }
        let topic = TopicProduceResponse::default().with_name(topic()).with_partition_responses(two(partition));
        ProduceResponse::default().with_responses(two(topic))
    }
}

impl Sample for InitProducerIdRequest {
    fn sample(_: i16) -> InitProducerIdResponse {
        InitProducerIdResponse::default().with_producer_id(7.into()).with_producer_epoch(1)
    }
}

/// Calls a function for each kind of request.
macro_rules! for_each_kind {
    ($act:ident($($argument:expr),*)) => {
        $act::<ApiVersionsRequest>($($argument),*);
        $act::<MetadataRequest>($($argument),*);
        $act::<CreateTopicsRequest>($($argument),*);
        $act::<DeleteTopicsRequest>($($argument),*);
        $act::<DescribeConfigsRequest>($($argument),*);
        $act::<ListOffsetsRequest>($($argument),*);
        $act::<FindCoordinatorRequest>($($argument),*);
        $act::<OffsetCommitRequest>($($argument),*);
        $act::<OffsetFetchRequest>($($argument),*);
        $act::<DeleteGroupsRequest>($($argument),*);
        $act::<ListGroupsRequest>($($argument),*);
        $act::<JoinGroupRequest>($($argument),*);
        $act::<SyncGroupRequest>($($argument),*);
        $act::<HeartbeatRequest>($($argument),*);
        $act::<LeaveGroupRequest>($($argument),*);
        $act::<ConsumerGroupHeartbeatRequest>($($argument),*);
        $act::<CreatePartitionsRequest>($($argument),*);
        $act::<IncrementalAlterConfigsRequest>($($argument),*);
        $act::<DeleteRecordsRequest>($($argument),*);
        $act::<DescribeGroupsRequest>($($argument),*);
        $act::<ConsumerGroupDescribeRequest>($($argument),*);
        $act::<FetchRequest>($($argument),*);
        $act::<OffsetForLeaderEpochRequest>($($argument),*);
        $act::<ProduceRequest>($($argument),*);
        $act::<InitProducerIdRequest>($($argument),*);
    };
}

/// The frame of an answer, correlation id 0.
fn frame<R: Sample>(version: i16) -> BytesMut {
    let mut frame = BytesMut::new();
    ResponseHeader::default().encode(&mut frame, R::Response::header_version(version)).unwrap();
    R::sample(version).encode(&mut frame, version).unwrap();
    frame
}

fn every_version_is_read_to_its_end<R: Sample>()
where
    R::Response: PartialEq + std::fmt::Debug,
{
    assert!(R::SPOKEN.max <= R::VERSIONS.max && R::SPOKEN.min >= R::VERSIONS.min, "{}", R::NAME);
    for version in R::SPOKEN.min..=R::SPOKEN.max {
        let frame = frame::<R>(version);
        let header = if R::Response::header_version(version) >= 1 { 5 } else { 4 };
        let rest = shape::check(&frame[header..], R::ANSWER, version, R::header_version(version) >= 2);
        assert_eq!(rest, Ok(&[][..]), "{} version {version}", R::NAME);
        assert_eq!(decode::<R>(frame.freeze(), version), Ok(R::sample(version)));
    }
}

#[test]
fn every_answer_is_read_to_its_end() {
    for_each_kind!(every_version_is_read_to_its_end());
}

#[test]
fn a_count_that_the_bytes_cannot_hold_is_an_error() {
    // The decoder alone would set aside two billion entries, which ends the process.
    let mut lying = frame::<MetadataRequest>(8);
    lying[8..12].copy_from_slice(&i32::MAX.to_be_bytes());
    let error = decode::<MetadataRequest>(lying.freeze(), 8).unwrap_err();
    assert!(error.starts_with("Metadata answer, version 8: array of 2147483647 entries"), "{error}");
}

#[test]
fn a_known_tag_of_another_size_is_an_error() {
    // The decoder would read on in the middle of it, where a count could lie unseen.
    let mut lying = frame::<CreateTopicsRequest>(7);
    let tag = lying.windows(4).position(|window| window == [0, 2, 0, 29]).unwrap();
    lying[tag + 1] = 1;
    assert!(
        decode::<CreateTopicsRequest>(lying.freeze(), 7).unwrap_err().contains("tagged field 0 of 1 bytes takes 2")
    );
}

/// Changes some bytes of a frame and cuts it off.
fn garbled(mut frame: BytesMut, changes: &[(usize, u8)], cut: usize) -> Bytes {
    for (place, byte) in changes {
        let place = place % frame.len();
        frame[place] = *byte;
    }
    frame.truncate(frame.len() - cut.min(frame.len()));
    frame.freeze()
}

fn survives<R: Sample>(changes: &[(usize, u8)], cut: usize) {
    for version in R::SPOKEN.min..=R::SPOKEN.max {
        // Either outcome is fine; a panic or an allocation that ends the process is not.
        let _ = decode::<R>(garbled(frame::<R>(version), changes, cut), version);
    }
}

proptest! {
    #[test]
    fn garbled_answers_neither_panic_nor_take_memory(
        changes in prop::collection::vec((0..400usize, prop_oneof![any::<u8>(), Just(0xff), Just(0x7f)]), 0..6),
        cut in prop_oneof![Just(0), 0..40usize],
    ) {
        for_each_kind!(survives(&changes, cut));
    }
}
