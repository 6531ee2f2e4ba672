//! Requests of every API and version with something in each of their arrays, and what must hold for all of them.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages as m;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};
use proptest::prelude::*;
use uuid::Uuid;

use super::api::Api;
use super::batch::BatchWriter;
use super::core::{ConnectionId, Core, Input, Now, Outcome};
use super::request::Request;
use super::state::{Creation, Settings, State};

fn s(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn topic(name: &str) -> TopicName {
    TopicName(s(name))
}

fn group() -> GroupId {
    GroupId(s("fulfilment"))
}

const CORRELATION: i32 = 77;

fn frame<R: Encodable + HeaderVersion>(api: Api, version: i16, request: &R) -> Bytes {
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
fn sample(api: Api, version: i16, topic_id: Uuid) -> Bytes {
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
        Api::InitProducerId => frame(api, version, &InitProducerIdRequest::default().with_transactional_id(None)),
        Api::DescribeConfigs => {
            use m::describe_configs_request::*;
            let asked = DescribeConfigsResource::default()
                .with_resource_type(2)
                .with_resource_name(s("orders"))
                .with_configuration_keys(Some(vec![s("cleanup.policy"), s("retention.ms")]));
            let request = DescribeConfigsRequest::default().with_resources(vec![asked]).with_include_synonyms(true);
            frame(api, version, &request)
        }
        Api::DeleteGroups => frame(api, version, &DeleteGroupsRequest::default().with_groups_names(vec![group()])),
    }
}

fn core() -> (Core, Uuid) {
    let settings = Settings { host: "localhost".into(), port: 9092, default_partitions: 1, auto_create_topics: false };
    let mut state = State::new(settings, 1);
    let creation = Creation { name: "orders".into(), partitions: 2, replication: 1, configs: Vec::new() };
    let orders = state.build_topic(creation).unwrap();
    let id = orders.id;
    state.topics.insert(orders);
    (Core::new(state), id)
}

const NOW: Now = Now { elapsed: std::time::Duration::ZERO, wall_millis: 1_790_000_000_000 };

/// What the core makes of one frame: the answer without its length, or `None` where it closes the connection.
fn answer(core: &mut Core, frame: Bytes) -> Option<Bytes> {
    let request = Box::new(Request::decode(frame).ok()?);
    let effects = core.step(NOW, Input::Request(ConnectionId(1), request));
    match effects.outcomes.into_iter().next()? {
        (_, Outcome::Reply(answer)) => Some(answer.slice(4..)),
        _ => None,
    }
}

fn every_version() -> impl Iterator<Item = (Api, i16)> {
    Api::ALL.iter().flat_map(|api| api.versions().map(|version| (*api, version)))
}

#[test]
fn every_shape_covers_its_requests_to_the_last_byte() {
    for (api, version) in every_version() {
        let mut body = sample(api, version, Uuid::from_u128(9));
        RequestHeader::decode(&mut body, api.header_version(version)).unwrap();
        assert!(api.shape().fits(&body, version), "{api} {version}");
        assert!(
            !api.shape().fits(&body[..body.len().saturating_sub(1)], version) || body.is_empty(),
            "{api} {version}"
        );
    }
}

#[test]
fn every_version_is_answered_without_an_error() {
    macro_rules! decode_answer {
        ($api:expr, $version:expr, $bytes:expr, $($name:ident => $response:ident,)*) => {
            match $api {
                $(Api::$name => {
                    ResponseHeader::decode($bytes, $response::header_version($version)).map(|header| {
                        assert_eq!(header.correlation_id, CORRELATION);
                    }).unwrap();
                    format!("{:?}", $response::decode($bytes, $version).unwrap())
                })*
            }
        };
    }
    for (api, version) in every_version() {
        let (mut core, id) = core();
        // Something to describe and to delete.
        if matches!(api, Api::DescribeGroups | Api::DeleteGroups | Api::ListGroups | Api::OffsetFetch) {
            answer(&mut core, sample(Api::OffsetCommit, 9, id)).unwrap();
        }
        let mut bytes = answer(&mut core, sample(api, version, id)).unwrap_or_else(|| panic!("{api} {version}"));
        let text = decode_answer!(api, version, &mut bytes,
            Produce => ProduceResponse, Fetch => FetchResponse, ListOffsets => ListOffsetsResponse,
            Metadata => MetadataResponse, OffsetCommit => OffsetCommitResponse, OffsetFetch => OffsetFetchResponse,
            FindCoordinator => FindCoordinatorResponse, DescribeGroups => DescribeGroupsResponse,
            ListGroups => ListGroupsResponse, ApiVersions => ApiVersionsResponse,
            CreateTopics => CreateTopicsResponse, DeleteTopics => DeleteTopicsResponse,
            DeleteRecords => DeleteRecordsResponse, InitProducerId => InitProducerIdResponse,
            DescribeConfigs => DescribeConfigsResponse, DeleteGroups => DeleteGroupsResponse,
        );
        assert!(bytes.is_empty(), "{api} {version}: bytes after the answer");
        let expected_errors = usize::from(api == Api::DeleteTopics); // one of its topics does not exist
        let errors = text.matches("error_code: ").count() - text.matches("error_code: 0").count();
        assert_eq!(errors, expected_errors, "{api} {version}: {text}");
    }
}

/// A change of a frame: a byte written, the end cut off, or bytes put in.
#[derive(Debug, Clone)]
enum Change {
    Write(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<prop::sample::Index>(), prop_oneof![any::<u8>(), Just(0xff), Just(0x7f), Just(0)])
            .prop_map(|(at, byte)| Change::Write(at, byte)),
        1 => any::<prop::sample::Index>().prop_map(Change::Cut),
        2 => (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..6))
            .prop_map(|(at, bytes)| Change::Insert(at, bytes)),
    ]
}

fn changed(frame: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    for change in changes {
        match change {
            Change::Write(at, byte) if frame.len() > 8 => {
                // What names API and version stays: other bytes are more telling.
                let at = 4 + at.index(frame.len() - 4);
                frame[at] = *byte;
            }
            Change::Write(..) => {}
            Change::Cut(at) => frame.truncate(at.index(frame.len() + 1)),
            Change::Insert(at, bytes) => {
                let at = at.index(frame.len() + 1);
                frame.splice(at..at, bytes.iter().copied());
            }
        }
    }
    frame
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn changed_requests_are_answered_or_refused_and_the_next_is_served(
        which: prop::sample::Index,
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let all: Vec<_> = every_version().collect();
        let (api, version) = all[which.index(all.len())];
        let (mut core, id) = core();
        let _ = answer(&mut core, changed(&sample(api, version, id), &changes).into());
        prop_assert!(answer(&mut core, sample(Api::ApiVersions, 3, id)).is_some());
    }

    #[test]
    fn the_decoder_reads_exactly_what_the_shape_walked(
        which: prop::sample::Index,
        changes in prop::collection::vec(change(), 1..6),
        spare in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let all: Vec<_> = every_version().collect();
        let (api, version) = all[which.index(all.len())];
        let mut body = changed(&sample(api, version, Uuid::from_u128(9)), &changes);
        body.extend(spare);
        let mut body = Bytes::from(body);
        if RequestHeader::decode(&mut body, api.header_version(version)).is_err() {
            return Ok(());
        }
        if let Some(rest) = api.shape().walk(&body, version) {
            let left = rest.len();
            // The decoder may refuse more (text that is not UTF-8, null where there must be something).
            if api.decode(&mut body, version).is_ok() {
                prop_assert_eq!(body.len(), left, "{} {}", api, version);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_are_no_trouble(key in 0i16..80, version in -1i16..20, rest in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut frame = BytesMut::new();
        frame.put_i16(key);
        frame.put_i16(version);
        frame.put_slice(&rest);
        let (mut core, id) = core();
        let _ = answer(&mut core, frame.freeze());
        prop_assert!(answer(&mut core, sample(Api::ApiVersions, 3, id)).is_some());
    }
}

#[test]
fn an_announced_array_costs_nothing_before_its_elements_are_there() {
    // Metadata version 1 with an array of 2,147,483,647 topics; reserving room for them would end the process.
    let mut frame = BytesMut::new();
    frame.put_i16(Api::Metadata.key());
    frame.put_i16(1);
    frame.put_i32(1);
    frame.put_i16(-1);
    frame.put_i32(i32::MAX);
    let error = Request::decode(frame.freeze()).unwrap_err().to_string();
    assert!(error.contains("lengths do not fit"), "{error}");
}
