//! What must hold for every API and version: answers can be read, and no bytes do harm.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Decodable, HeaderVersion};
use proptest::prelude::*;
use uuid::Uuid;

use super::api::Api;
use super::core::{ConnectionId, Core, Input, Outcome};
use super::request::Request;
use super::samples::{CORRELATION, NOW, begin_transaction, core, join_consumer_group, join_group, sample};

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
        if matches!(
            api,
            Api::DescribeGroups | Api::DeleteGroups | Api::ListGroups | Api::OffsetFetch | Api::OffsetDelete
        ) {
            answer(&mut core, sample(Api::OffsetCommit, 9, id)).unwrap();
        }
        if matches!(api, Api::AddPartitionsToTxn | Api::AddOffsetsToTxn | Api::EndTxn | Api::TxnOffsetCommit) {
            begin_transaction(&mut core);
        }
        if matches!(api, Api::SyncGroup | Api::Heartbeat | Api::LeaveGroup) {
            join_group(&mut core);
        }
        if matches!(api, Api::ConsumerGroupHeartbeat | Api::ConsumerGroupDescribe) {
            join_consumer_group(&mut core);
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
            OffsetForLeaderEpoch => OffsetForLeaderEpochResponse, AlterConfigs => AlterConfigsResponse,
            CreatePartitions => CreatePartitionsResponse, DescribeCluster => DescribeClusterResponse,
            IncrementalAlterConfigs => IncrementalAlterConfigsResponse,
            AddPartitionsToTxn => AddPartitionsToTxnResponse, AddOffsetsToTxn => AddOffsetsToTxnResponse,
            EndTxn => EndTxnResponse, TxnOffsetCommit => TxnOffsetCommitResponse,
            DescribeTopicPartitions => DescribeTopicPartitionsResponse, OffsetDelete => OffsetDeleteResponse,
            JoinGroup => JoinGroupResponse, SyncGroup => SyncGroupResponse, Heartbeat => HeartbeatResponse,
            LeaveGroup => LeaveGroupResponse, ConsumerGroupHeartbeat => ConsumerGroupHeartbeatResponse,
            ConsumerGroupDescribe => ConsumerGroupDescribeResponse,
        );
        assert!(bytes.is_empty(), "{api} {version}: bytes after the answer");
        let expected_errors = match api {
            Api::DeleteTopics => 1,              // one of its topics does not exist
            Api::JoinGroup if version == 4 => 1, // a new member is told its id
            _ => 0,
        };
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
