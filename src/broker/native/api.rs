use kafka_protocol::messages::{
    ApiVersionsRequest, CreateTopicsRequest, DeleteGroupsRequest, DeleteTopicsRequest, DescribeConfigsRequest,
    FindCoordinatorRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest, OffsetFetchRequest,
};
use kafka_protocol::protocol::{Request, VersionRange};

use super::shape::{Field, Kind, between, since};

/// A request that we send: the versions that we speak, and the shape of its answers.
pub(super) trait Api: Request {
    /// The name in the protocol.
    const NAME: &'static str;
    /// The versions that we speak.
    const SPOKEN: VersionRange;
    /// The shape of an answer.
    const ANSWER: &'static [Field];
}

macro_rules! api {
    ($request:ident, $name:literal, $min:literal..=$max:literal, [$($field:expr),* $(,)?]) => {
        impl Api for $request {
            const NAME: &'static str = $name;
            const SPOKEN: VersionRange = VersionRange { min: $min, max: $max };
            const ANSWER: &'static [Field] = &[$($field),*];
        }
    };
}

const BOOL: Kind = Kind::Fixed(1);
const INT8: Kind = Kind::Fixed(1);
const INT16: Kind = Kind::Fixed(2);
const INT32: Kind = Kind::Fixed(4);
const INT64: Kind = Kind::Fixed(8);
const UUID: Kind = Kind::Fixed(16);

// Version 0 is understood by every broker, and an answer of it by every client.
api!(
    ApiVersionsRequest,
    "ApiVersions",
    0..=0,
    [since(0, INT16), since(0, Kind::Structs(&[since(0, INT16), since(0, INT16), since(0, INT16)])),]
);

// Before version 4 a metadata request may create the topics it asks for.
api!(
    MetadataRequest,
    "Metadata",
    4..=12,
    [
        since(3, INT32),
        since(0, Kind::Structs(&[since(0, INT32), since(0, Kind::Text), since(0, INT32), since(1, Kind::Text)])),
        since(2, Kind::Text),
        since(1, INT32),
        since(
            0,
            Kind::Structs(&[
                since(0, INT16),
                since(0, Kind::Text),
                since(10, UUID),
                since(1, BOOL),
                since(
                    0,
                    Kind::Structs(&[
                        since(0, INT16),
                        since(0, INT32),
                        since(0, INT32),
                        since(7, INT32),
                        since(0, Kind::Numbers),
                        since(0, Kind::Numbers),
                        since(5, Kind::Numbers),
                    ])
                ),
                since(8, INT32),
            ])
        ),
        between(8, 10, INT32),
    ]
);

api!(
    CreateTopicsRequest,
    "CreateTopics",
    2..=7,
    [
        since(2, INT32),
        since(
            2,
            Kind::Structs(&[
                since(2, Kind::Text),
                since(7, UUID),
                since(2, INT16),
                since(2, Kind::Text),
                since(5, INT32),
                since(5, INT16),
                since(
                    5,
                    Kind::Structs(&[
                        since(5, Kind::Text),
                        since(5, Kind::Text),
                        since(5, BOOL),
                        since(5, INT8),
                        since(5, BOOL),
                    ])
                ),
            ])
        ),
    ]
);

api!(
    DeleteTopicsRequest,
    "DeleteTopics",
    1..=6,
    [
        since(1, INT32),
        since(1, Kind::Structs(&[since(1, Kind::Text), since(6, UUID), since(1, INT16), since(5, Kind::Text)])),
    ]
);

api!(
    DescribeConfigsRequest,
    "DescribeConfigs",
    1..=4,
    [
        since(1, INT32),
        since(
            1,
            Kind::Structs(&[
                since(1, INT16),
                since(1, Kind::Text),
                since(1, INT8),
                since(1, Kind::Text),
                since(
                    1,
                    Kind::Structs(&[
                        since(1, Kind::Text),
                        since(1, Kind::Text),
                        since(1, BOOL),
                        since(1, INT8),
                        since(1, BOOL),
                        since(1, Kind::Structs(&[since(1, Kind::Text), since(1, Kind::Text), since(1, INT8)])),
                        since(3, INT8),
                        since(3, Kind::Text),
                    ])
                ),
            ])
        ),
    ]
);

// Version 2 brought the isolation level.
api!(
    ListOffsetsRequest,
    "ListOffsets",
    2..=7,
    [
        since(2, INT32),
        since(
            1,
            Kind::Structs(&[
                since(1, Kind::Text),
                since(
                    1,
                    Kind::Structs(&[
                        since(1, INT32),
                        since(1, INT16),
                        since(1, INT64),
                        since(1, INT64),
                        since(4, INT32),
                    ])
                ),
            ])
        ),
    ]
);

api!(
    FindCoordinatorRequest,
    "FindCoordinator",
    1..=4,
    [
        since(1, INT32),
        between(0, 3, INT16),
        between(1, 3, Kind::Text),
        between(0, 3, INT32),
        between(0, 3, Kind::Text),
        between(0, 3, INT32),
        since(
            4,
            Kind::Structs(&[
                since(4, Kind::Text),
                since(4, INT32),
                since(4, Kind::Text),
                since(4, INT32),
                since(4, INT16),
                since(4, Kind::Text),
            ])
        ),
    ]
);

api!(
    OffsetCommitRequest,
    "OffsetCommit",
    2..=9,
    [
        since(3, INT32),
        since(2, Kind::Structs(&[since(2, Kind::Text), since(2, Kind::Structs(&[since(2, INT32), since(2, INT16)])),])),
    ]
);

api!(
    OffsetFetchRequest,
    "OffsetFetch",
    2..=9,
    [
        since(3, INT32),
        between(1, 7, Kind::Structs(&[since(1, Kind::Text), since(1, Kind::Structs(COMMITTED))])),
        between(2, 7, INT16),
        since(
            8,
            Kind::Structs(&[
                since(8, Kind::Text),
                since(8, Kind::Structs(&[since(8, Kind::Text), since(8, Kind::Structs(COMMITTED))])),
                since(8, INT16),
            ])
        ),
    ]
);

const COMMITTED: &[Field] = &[since(1, INT32), since(1, INT64), since(5, INT32), since(1, Kind::Text), since(1, INT16)];

api!(
    DeleteGroupsRequest,
    "DeleteGroups",
    0..=2,
    [since(0, INT32), since(0, Kind::Structs(&[since(0, Kind::Text), since(0, INT16)])),]
);
