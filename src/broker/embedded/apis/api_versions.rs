//! ApiVersions, versions 0 to 4.
//!
//! - 1: throttle time in the answer.
//! - 3: flexible; the client's software and version in the request, features in the answer.
//! - 4: features whose smallest version is 0 may be told of.
//!
//! A later version is answered with UNSUPPORTED_VERSION in version 0, so that the client can choose another.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};

use super::super::api::Api;
use super::super::core::Call;
use super::super::shape::{Kind, Shape, since};
use super::super::state::State;
use super::OK;

pub(in super::super) static SHAPE: Shape = Shape { flexible: 3, fields: &[since(3, Kind::Text), since(3, Kind::Text)] };

pub(in super::super) fn handle(state: &State, call: &Call<'_>, request: &ApiVersionsRequest) -> ApiVersionsResponse {
    let code = if !Api::ApiVersions.versions().contains(&call.version) {
        ResponseError::UnsupportedVersion.code()
    } else if call.version >= 3
        && !(is_label(&request.client_software_name) && is_label(&request.client_software_version))
    {
        return ApiVersionsResponse::default().with_error_code(ResponseError::InvalidRequest.code());
    } else {
        OK
    };
    let served = Api::ALL.iter().filter(|api| !state.settings.absent.contains(api));
    let apis = served.map(|api| {
        let versions = api.versions();
        ApiVersion::default()
            .with_api_key(api.key())
            .with_min_version(*versions.start())
            .with_max_version(*versions.end())
    });
    ApiVersionsResponse::default().with_error_code(call.errors.whole().unwrap_or(code)).with_api_keys(apis.collect())
}

/// Whether a client may call itself so: letters and digits, with `-` and `.` between them.
fn is_label(name: &str) -> bool {
    let ends = name.chars().next().into_iter().chain(name.chars().last());
    !name.is_empty()
        && ends.into_iter().all(|end| end.is_ascii_alphanumeric())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.'))
}
