use bytes::Bytes;
use kafka_protocol::messages::ResponseHeader;
use kafka_protocol::messages::{
    ApiVersionsRequest, CreateTopicsRequest, DeleteGroupsRequest, DeleteTopicsRequest, DescribeConfigsRequest,
    FindCoordinatorRequest, InitProducerIdRequest, ListGroupsRequest, ListOffsetsRequest, MetadataRequest,
    OffsetCommitRequest, OffsetFetchRequest, ProduceRequest,
};
use kafka_protocol::protocol::{Decodable, HeaderVersion, Request, VersionRange};

use super::shape::{self, Field, bool, int8, int16, int32, int64, numbers, structs, tagged, text, uuid};

/// A request that we send: the versions that we speak, and the shape of its answers.
pub(super) trait Api: Request {
    /// The name in the protocol.
    const NAME: &'static str;
    /// The versions that we speak.
    const SPOKEN: VersionRange;
    /// The shape of an answer.
    const ANSWER: &'static [Field];
}

/// Decodes the frame of an answer, header included, after a check that it holds as much as it claims to.
pub(super) fn decode<R: Api>(mut frame: Bytes, version: i16) -> Result<R::Response, String> {
    let header_version = R::Response::header_version(version);
    let flexible = header_version >= 1;
    ResponseHeader::decode(&mut frame, header_version).map_err(|error| error.to_string())?;
    shape::check(&frame, R::ANSWER, version, flexible)
        .map_err(|cause| format!("{} answer, version {version}: {cause}", R::NAME))?;
    R::Response::decode(&mut frame, version).map_err(|error| format!("{} answer, version {version}: {error}", R::NAME))
}

macro_rules! api {
    ($request:ident $name:literal, $min:literal to $max:literal: $($field:expr),* $(,)?) => {
        impl Api for $request {
            const NAME: &'static str = $name;
            const SPOKEN: VersionRange = VersionRange { min: $min, max: $max };
            const ANSWER: &'static [Field] = &[$($field),*];
        }
    };
}

// Each field is written with the first version that has it.

// Version 0 is understood by every broker, and an answer of it by every client.
api! { ApiVersionsRequest "ApiVersions", 0 to 0:
    int16(0),
    structs(0, &[int16(0), int16(0), int16(0)]),
}

// Before version 4 a metadata request may create the topics it asks for.
api! { MetadataRequest "Metadata", 4 to 12:
    int32(3),
    structs(0, &[int32(0), text(0), int32(0), text(1)]),
    text(2),
    int32(1),
    structs(0, &[
        int16(0),
        text(0),
        uuid(10),
        bool(1),
        structs(0, &[int16(0), int32(0), int32(0), int32(7), numbers(0), numbers(0), numbers(5)]),
        int32(8),
    ]),
    int32(8).until(10),
}

api! { CreateTopicsRequest "CreateTopics", 2 to 7:
    int32(2),
    structs(2, &[
        text(2),
        uuid(7),
        int16(2),
        text(2),
        int32(5),
        int16(5),
        structs(5, &[text(5), text(5), bool(5), int8(5), bool(5)]),
        tagged(5, 0, 2),
    ]),
}

api! { DeleteTopicsRequest "DeleteTopics", 1 to 6:
    int32(1),
    structs(1, &[text(1), uuid(6), int16(1), text(5)]),
}

api! { DescribeConfigsRequest "DescribeConfigs", 1 to 4:
    int32(1),
    structs(1, &[
        int16(1),
        text(1),
        int8(1),
        text(1),
        structs(1, &[
            text(1),
            text(1),
            bool(1),
            int8(1),
            bool(1),
            structs(1, &[text(1), text(1), int8(1)]),
            int8(3),
            text(3),
        ]),
    ]),
}

// Version 2 brought the isolation level.
api! { ListOffsetsRequest "ListOffsets", 2 to 7:
    int32(2),
    structs(1, &[text(1), structs(1, &[int32(1), int16(1), int64(1), int64(1), int32(4)])]),
}

api! { FindCoordinatorRequest "FindCoordinator", 1 to 4:
    int32(1),
    int16(0).until(3),
    text(1).until(3),
    int32(0).until(3),
    text(0).until(3),
    int32(0).until(3),
    structs(4, &[text(4), int32(4), text(4), int32(4), int16(4), text(4)]),
}

api! { OffsetCommitRequest "OffsetCommit", 2 to 9:
    int32(3),
    structs(2, &[text(2), structs(2, &[int32(2), int16(2)])]),
}

api! { OffsetFetchRequest "OffsetFetch", 2 to 9:
    int32(3),
    structs(1, &[text(1), structs(1, COMMITTED)]).until(7),
    int16(2).until(7),
    structs(8, &[text(8), structs(8, &[text(8), structs(8, COMMITTED)]), int16(8)]),
}

const COMMITTED: &[Field] = &[int32(1), int64(1), int32(5), text(1), int16(1)];

api! { DeleteGroupsRequest "DeleteGroups", 0 to 2:
    int32(0),
    structs(0, &[text(0), int16(0)]),
}

api! { ListGroupsRequest "ListGroups", 0 to 2:
    int32(1),
    int16(0),
    structs(0, &[text(0), text(0)]),
}

// Batches of magic 2 since version 3. Version 10 brought the current leader in tagged fields, which metadata tells too.
api! { ProduceRequest "Produce", 3 to 9:
    structs(0, &[
        text(0),
        structs(0, &[
            int32(0),
            int16(0),
            int64(0),
            int64(2),
            int64(5),
            structs(8, &[int32(8), text(8)]),
            text(8),
        ]),
    ]),
    int32(1),
}

api! { InitProducerIdRequest "InitProducerId", 0 to 4:
    int32(0),
    int16(0),
    int64(0),
    int16(0),
}

#[cfg(test)]
mod tests;
