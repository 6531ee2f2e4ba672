use bytes::Bytes;
use kafka_protocol::messages::ResponseHeader;
use kafka_protocol::messages::{
    ApiVersionsRequest, CreatePartitionsRequest, CreateTopicsRequest, DeleteRecordsRequest, DeleteTopicsRequest,
    DescribeConfigsRequest, FetchRequest, IncrementalAlterConfigsRequest, InitProducerIdRequest, ListOffsetsRequest,
    MetadataRequest, OffsetForLeaderEpochRequest, ProduceRequest, SaslAuthenticateRequest, SaslHandshakeRequest,
};
use kafka_protocol::protocol::{Decodable, HeaderVersion, Request, VersionRange};

use super::shape::{
    self, Field, blob, bool, int8, int16, int32, int64, numbers, structs, structure, tagged, text, texts, uuid,
};

/// A request that we send: the versions that we speak, and the shape of its answers.
pub(super) trait Api: Request {
    /// The name in the protocol.
    const NAME: &'static str;
    /// The versions that we speak.
    const SPOKEN: VersionRange;
    /// The shape of an answer.
    const ANSWER: &'static [Field];

    /// How long the broker wants nothing sent after an answer, in milliseconds.
    fn throttle(answer: &Self::Response) -> i32;
}

/// Decodes the frame of an answer, header included, after a check that it holds as much as it claims to.
pub(super) fn decode<R: Api>(mut frame: Bytes, version: i16) -> Result<R::Response, String> {
    // The header of an answer does not tell: that of ApiVersions is the oldest, so that any client understands it.
    let flexible = R::header_version(version) >= 2;
    ResponseHeader::decode(&mut frame, R::Response::header_version(version)).map_err(|error| error.to_string())?;
    shape::check(&frame, R::ANSWER, version, flexible)
        .map_err(|cause| format!("{} answer, version {version}: {cause}", R::NAME))?;
    R::Response::decode(&mut frame, version).map_err(|error| format!("{} answer, version {version}: {error}", R::NAME))
}

macro_rules! api {
    ($request:ident $name:literal, $min:literal to $max:literal: $($field:expr),* $(,)?) => {
        api! { $request $name, $min to $max, throttled by |answer| answer.throttle_time_ms; $($field),* }
    };
    (
        $request:ident $name:literal, $min:literal to $max:literal,
        throttled by |$answer:ident| $throttle:expr; $($field:expr),* $(,)?
    ) => {
        impl Api for $request {
            const NAME: &'static str = $name;
            const SPOKEN: VersionRange = VersionRange { min: $min, max: $max };
            const ANSWER: &'static [Field] = &[$($field),*];

            fn throttle($answer: &Self::Response) -> i32 {
                $throttle
            }
        }
    };
}

mod groups;

pub(super) use groups::CONSUMER_ASSIGNMENT;

// Each field is written with the first version that has it.

api! { ApiVersionsRequest "ApiVersions", 0 to 4:
    int16(0),
    structs(0, &[int16(0), int16(0), int16(0)]),
    int32(1),
    tagged(3, 0, &structs(3, &[text(3), int16(3), int16(3)])),
    tagged(3, 1, &int64(3)),
    tagged(3, 2, &structs(3, &[text(3), int16(3), int16(3)])),
    tagged(3, 3, &bool(3)),
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
        tagged(5, 0, &int16(5)),
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

api! { CreatePartitionsRequest "CreatePartitions", 0 to 3:
    int32(0),
    structs(0, &[text(0), int16(0), text(0)]),
}

api! { IncrementalAlterConfigsRequest "IncrementalAlterConfigs", 0 to 1:
    int32(0),
    structs(0, &[int16(0), text(0), int8(0), text(0)]),
}

api! { DeleteRecordsRequest "DeleteRecords", 0 to 2:
    int32(0),
    structs(0, &[text(0), structs(0, &[int32(0), int64(0), int16(0)])]),
}

// Version 4 brought record batches of magic 2.
api! { FetchRequest "Fetch", 4 to 17:
    int32(1),
    int16(7),
    int32(7),
    structs(0, &[
        text(0).until(12),
        uuid(13),
        structs(0, &[
            int32(0),
            int16(0),
            int64(0),
            int64(4),
            int64(5),
            structs(4, &[int64(4), int64(4)]),
            int32(11),
            blob(0),
            tagged(12, 0, &structure(12, &[int32(12), int64(12)])),
            tagged(12, 1, &structure(12, &[int32(12), int32(12)])),
            tagged(12, 2, &structure(12, &[int64(12), int32(12)])),
        ]),
    ]),
    tagged(16, 0, &structs(16, &[int32(16), text(16), int32(16), text(16)])),
}

api! { OffsetForLeaderEpochRequest "OffsetForLeaderEpoch", 2 to 4:
    int32(2),
    structs(2, &[text(2), structs(2, &[int16(2), int32(2), int32(2), int64(2)])]),
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

// Version 0 would be followed by bare messages without a header.
api! { SaslHandshakeRequest "SaslHandshake", 1 to 1, throttled by |_answer| 0;
    int16(0),
    texts(0),
}

// Version 1 brought the session's lifetime.
api! { SaslAuthenticateRequest "SaslAuthenticate", 0 to 2, throttled by |_answer| 0;
    int16(0),
    text(0),
    blob(0),
    int64(1),
}

#[cfg(test)]
mod tests;
