use std::collections::HashMap;

use bytes::{Buf, Bytes};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse, MetadataRequest};
use kafka_protocol::protocol::{Request, StrBytes};

use super::api::{Api, decode};

/// The version of ApiVersions from which on the client says which software it is.
const SOFTWARE_SINCE: i16 = 3;

/// Which versions of each API a broker speaks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Versions {
    /// By API key: the lowest and the highest.
    spoken: HashMap<i16, (i16, i16)>,
}

/// What a broker says when it is asked for its versions.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// These.
    Speaks(Versions),
    /// It does not understand the question, and is to be asked in this version of it.
    AskIn(i16),
    /// An error code.
    Refused(i16),
}

/// The question in a version of it.
pub(super) fn question(version: i16) -> ApiVersionsRequest {
    let request = ApiVersionsRequest::default();
    if version < SOFTWARE_SINCE {
        return request;
    }
    request
        .with_client_software_name(StrBytes::from_static_str(env!("CARGO_PKG_NAME")))
        .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")))
}

/// Reads the answer to a question that was asked in version `asked`.
pub(super) fn greeting(frame: Bytes, asked: i16) -> Result<Greeting, String> {
    // A broker that does not know the version asked in answers in version 0, where the code is at the same place.
    let code = frame.get(4..6).map_or(0, |mut code| code.get_i16());
    let misunderstood = code == ResponseError::UnsupportedVersion.code();
    let answer = decode::<ApiVersionsRequest>(frame, if misunderstood { 0 } else { asked })?;
    let versions = Versions::of(&answer);
    if misunderstood && asked > 0 {
        // Kafka 2.4 and later tell which versions of this one API they speak; others say nothing.
        let (_, max) = versions.spoken.get(&ApiVersionsRequest::KEY).copied().unwrap_or((0, 0));
        return Ok(Greeting::AskIn(max.clamp(0, asked - 1)));
    }
    Ok(match answer.error_code {
        0 => Greeting::Speaks(versions),
        code => Greeting::Refused(code),
    })
}

impl Versions {
    fn of(answer: &ApiVersionsResponse) -> Self {
        let spoken = answer.api_keys.iter().map(|api| (api.api_key, (api.min_version, api.max_version)));
        Self { spoken: spoken.collect() }
    }

    /// The highest version that both sides speak; an error says what there is, and what to do.
    pub(super) fn agree<R: Api>(&self) -> Result<i16, String> {
        let ours = R::SPOKEN;
        let Some((min, max)) = self.spoken.get(&R::KEY).copied() else {
            let name = R::NAME;
            return Err(if R::KEY == MetadataRequest::KEY {
                format!("the broker does not offer {name}: is this the port of a controller? Use a broker's")
            } else {
                format!("the broker does not offer {name}; a newer broker does")
            });
        };
        let version = max.min(ours.max);
        if version < min.max(ours.min) {
            return Err(format!(
                "the broker speaks versions {min} to {max} of {}, this client {} to {}; use a broker that has one of these (Kafka 2.1 and later do)",
                R::NAME,
                ours.min,
                ours.max
            ));
        }
        Ok(version)
    }
}

#[cfg(test)]
mod tests;
