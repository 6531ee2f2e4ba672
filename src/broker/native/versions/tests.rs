use bytes::BytesMut;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::Encodable;

use super::*;

fn versions(spoken: &[(i16, i16, i16)]) -> Versions {
    Versions { spoken: spoken.iter().map(|(key, min, max)| (*key, (*min, *max))).collect() }
}

/// What Kafka 2.1 speaks of what we use.
const KAFKA_2_1: &[(i16, i16, i16)] = &[
    (0, 0, 7),
    (1, 0, 10),
    (2, 0, 4),
    (3, 0, 7),
    (8, 0, 6),
    (9, 0, 5),
    (10, 0, 2),
    (15, 0, 2),
    (16, 0, 2),
    (17, 0, 1),
    (18, 0, 2),
    (19, 0, 3),
    (20, 0, 3),
    (21, 0, 1),
    (22, 0, 1),
    (23, 0, 2),
    (32, 0, 2),
    (36, 0, 0),
    (37, 0, 1),
    (42, 0, 1),
];

/// What Kafka 4.3 speaks of it.
const KAFKA_4: &[(i16, i16, i16)] = &[
    (0, 0, 13),
    (1, 4, 18),
    (2, 1, 11),
    (3, 0, 13),
    (8, 2, 10),
    (9, 1, 10),
    (10, 0, 6),
    (15, 0, 6),
    (16, 0, 5),
    (17, 0, 1),
    (18, 0, 4),
    (19, 2, 7),
    (20, 1, 6),
    (21, 0, 2),
    (22, 0, 5),
    (23, 2, 4),
    (32, 1, 4),
    (36, 0, 2),
    (37, 0, 3),
    (42, 0, 2),
    (44, 0, 1),
    (69, 0, 1),
];

/// The version agreed on with each.
fn agreed<R: Api>() -> (Option<i16>, Option<i16>) {
    (versions(KAFKA_2_1).agree::<R>().ok(), versions(KAFKA_4).agree::<R>().ok())
}

#[test]
fn there_is_a_common_version_with_brokers_old_and_new() {
    assert_eq!(agreed::<MetadataRequest>(), (Some(7), Some(12)));
    assert_eq!(agreed::<ListOffsetsRequest>(), (Some(4), Some(7)));
    assert_eq!(agreed::<OffsetCommitRequest>(), (Some(6), Some(9)));
    assert_eq!(agreed::<OffsetFetchRequest>(), (Some(5), Some(9)));
    assert_eq!(agreed::<FindCoordinatorRequest>(), (Some(2), Some(4)));
    assert_eq!(agreed::<ListGroupsRequest>(), (Some(2), Some(5)));
    assert_eq!(agreed::<DeleteGroupsRequest>(), (Some(1), Some(2)));
    assert_eq!(agreed::<CreateTopicsRequest>(), (Some(3), Some(7)));
    assert_eq!(agreed::<DeleteTopicsRequest>(), (Some(3), Some(6)));
    assert_eq!(agreed::<DescribeConfigsRequest>(), (Some(2), Some(4)));
}

#[test]
fn ranges_that_do_not_overlap_are_named() {
    let error = versions(&[(3, 13, 20)]).agree::<MetadataRequest>().unwrap_err();
    assert!(error.contains("versions 13 to 20 of Metadata, this client 4 to 12"), "{error}");
    let error = versions(&[(3, 0, 3)]).agree::<MetadataRequest>().unwrap_err();
    assert!(error.contains("versions 0 to 3 of Metadata"), "{error}");
    let error = versions(&[]).agree::<MetadataRequest>().unwrap_err();
    assert!(error.contains("does not offer Metadata"), "{error}");
}

/// A frame with an answer, correlation id 0.
fn frame(code: i16, apis: &[(i16, i16, i16)], version: i16) -> Bytes {
    let api = |(key, min, max): &(i16, i16, i16)| {
        ApiVersion::default().with_api_key(*key).with_min_version(*min).with_max_version(*max)
    };
    let answer = ApiVersionsResponse::default().with_error_code(code).with_api_keys(apis.iter().map(api).collect());
    let mut frame = BytesMut::zeroed(4);
    answer.encode(&mut frame, version).unwrap();
    frame.freeze()
}

#[test]
fn brokers_say_what_they_speak() {
    for version in 0..=4 {
        assert_eq!(greeting(frame(0, KAFKA_4, version), version), Ok(Greeting::Speaks(versions(KAFKA_4))));
    }
    assert_eq!(greeting(frame(58, &[], 4), 4), Ok(Greeting::Refused(58)));
}

#[test]
fn a_broker_that_does_not_understand_is_asked_as_it_likes_and_at_last_in_version_0() {
    // Kafka 2.1 says nothing but the code; Kafka 2.4 to 3.8 tell their range. Both in version 0.
    assert_eq!(greeting(frame(35, &[], 0), 4), Ok(Greeting::AskIn(0)));
    assert_eq!(greeting(frame(35, &[(18, 0, 3)], 0), 4), Ok(Greeting::AskIn(3)));
    // One that contradicts itself makes no loop.
    assert_eq!(greeting(frame(35, &[(18, 0, 9)], 0), 4), Ok(Greeting::AskIn(3)));
    assert_eq!(greeting(frame(35, &[(18, 0, 9)], 0), 1), Ok(Greeting::AskIn(0)));
    assert_eq!(greeting(frame(35, &[], 0), 0), Ok(Greeting::Refused(35)));
}

#[test]
fn the_software_is_named_in_the_versions_that_can() {
    assert!(question(2).client_software_name.is_empty());
    assert_eq!(&*question(4).client_software_name, "bezoar");
    assert_eq!(&*question(4).client_software_version, env!("CARGO_PKG_VERSION"));
}
