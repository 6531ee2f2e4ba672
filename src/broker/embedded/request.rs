use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiVersionsRequest, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};

use super::api::{Api, Body};
use super::groups::Client;
use super::shape::HEADER;

/// A decoded request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) api: Api,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    pub(crate) client: Client,
    pub(crate) body: Body,
}

/// Why bytes are not a request that can be answered; Kafka closes the connection then.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadRequest {
    #[error("frame of {0} bytes is too short for a request header")]
    TooShort(usize),
    #[error("API key {0} is not served")]
    UnknownApi(i16),
    #[error("{api} version {version} is not served")]
    UnsupportedVersion { api: Api, version: i16 },
    #[error("{api} version {version} is malformed: {cause}")]
    Malformed { api: Api, version: i16, cause: String },
}

impl Request {
    /// Decodes a frame, without the length before it; where it came from is for the caller to fill in.
    ///
    /// An ApiVersions request of a version from the future is understood as far as its header, since its answer
    /// (UNSUPPORTED_VERSION and what is served) is how clients find a version that both know.
    pub(crate) fn decode(frame: Bytes) -> Result<Self, BadRequest> {
        let [k0, k1, v0, v1, c0, c1, c2, c3] = *frame.first_chunk().ok_or(BadRequest::TooShort(frame.len()))?;
        let key = i16::from_be_bytes([k0, k1]);
        let version = i16::from_be_bytes([v0, v1]);
        let correlation_id = i32::from_be_bytes([c0, c1, c2, c3]);
        let api = Api::from_key(key).ok_or(BadRequest::UnknownApi(key))?;
        if !api.versions().contains(&version) {
            if api == Api::ApiVersions {
                let body = Body::ApiVersions(ApiVersionsRequest::default());
                return Ok(Self { api, version, correlation_id, client: Client::default(), body });
            }
            return Err(BadRequest::UnsupportedVersion { api, version });
        }
        // The decoder returns errors for all that we know of; a panic must not take the broker along all the same.
        let (client_id, body) = catch_unwind(AssertUnwindSafe(|| decode_body(api, version, frame)))
            .unwrap_or_else(|_| Err("the decoder panicked".to_owned()))
            .map_err(|cause| BadRequest::Malformed { api, version, cause })?;
        let client = Client { id: client_id, ..Client::default() };
        Ok(Self { api, version, correlation_id, client, body })
    }

    /// The version that the answer is written in: 0 where the one asked for is not served.
    pub(crate) fn answer_version(&self) -> i16 {
        if self.api.versions().contains(&self.version) { self.version } else { 0 }
    }
}

fn decode_body(api: Api, version: i16, mut frame: Bytes) -> Result<(StrBytes, Body), String> {
    let header_version = api.header_version(version);
    if !HEADER.fits(&frame, header_version) {
        return Err("lengths of the header do not fit the frame".to_owned());
    }
    let header = RequestHeader::decode(&mut frame, header_version).map_err(|error| format!("header: {error}"))?;
    if !api.shape().fits(&frame, version) {
        return Err("lengths do not fit the frame".to_owned());
    }
    let body = api.decode(&mut frame, version)?;
    // A copy: the id may be kept for longer than the frame should be.
    let client_id = header.client_id.as_ref().map_or_else(String::new, |id| id.as_str().to_owned());
    Ok((StrBytes::from_string(client_id), body))
}

/// Encodes an answer with the length before it.
pub(crate) fn encode_answer<R: Encodable + HeaderVersion>(
    answer: &R,
    version: i16,
    correlation_id: i32,
) -> Result<Bytes, String> {
    let mut buffer = BytesMut::with_capacity(256);
    buffer.extend_from_slice(&[0; 4]);
    ResponseHeader::default()
        .with_correlation_id(correlation_id)
        .encode(&mut buffer, R::header_version(version))
        .and_then(|()| answer.encode(&mut buffer, version))
        .map_err(|error| error.to_string())?;
    let length = i32::try_from(buffer.len() - 4).map_err(|_| "answer larger than 2 GiB".to_owned())?;
    buffer[..4].copy_from_slice(&length.to_be_bytes());
    Ok(buffer.freeze())
}
