use std::sync::Arc;

use kafka_protocol::messages::FindCoordinatorRequest;

use super::address::address;
use super::api::Api;
use super::call::{Call, Failed};
use super::cluster::{Cluster, Purpose};
use super::connection::Connection;
use super::offsets::text;
use crate::broker::{BrokerError, ErrorCode};

/// The version of FindCoordinator from which on it asks for several keys at once.
const KEYS_SINCE: i16 = 4;

/// A connection for `purpose` to the group's coordinator.
pub(super) async fn coordinator(
    cluster: &Cluster,
    call: &Call,
    group: &str,
    purpose: Purpose,
) -> Result<Arc<Connection>, Failed> {
    if let Some(address) = cluster.coordinator(group) {
        return connected(cluster, call, group, &address, purpose).await;
    }
    let request = |version| {
        let request = FindCoordinatorRequest::default();
        if version >= KEYS_SINCE {
            request.with_coordinator_keys(vec![text(group)])
        } else {
            request.with_key(text(group))
        }
    };
    let answer = cluster.any(call).await?.call(call, request).await?;
    let (code, message, host, port) = match answer.coordinators.first() {
        Some(found) => (found.error_code, &found.error_message, &found.host, found.port),
        None => (answer.error_code, &answer.error_message, &answer.host, answer.port),
    };
    if code != 0 {
        return Err(Failed::by_code(call, code, message.as_ref().map(|text| text.to_string())));
    }
    let address = address(host, port);
    cluster.set_coordinator(group, Some(address.clone()));
    connected(cluster, call, group, &address, purpose).await
}

async fn connected(
    cluster: &Cluster,
    call: &Call,
    group: &str,
    address: &str,
    purpose: Purpose,
) -> Result<Arc<Connection>, Failed> {
    let result = cluster.at(address, purpose, call).await;
    if result.is_err() {
        // It may have moved to a broker that can be reached.
        cluster.set_coordinator(group, None);
    }
    Ok(result?)
}

/// Sorts an error code of the group; one about the coordinator makes the next round look for it again.
pub(super) fn group_failed(cluster: &Cluster, call: &Call, group: &str, code: i16) -> Failed {
    note_code(cluster, group, code);
    Failed::by_code(call, code, None)
}

/// Forgets the coordinator where a code says that it is another one.
fn note_code(cluster: &Cluster, group: &str, code: i16) {
    if ErrorCode(code).refreshes_coordinator() {
        cluster.set_coordinator(group, None);
    }
}

/// One request to the group's coordinator, which is not repeated whatever happens.
pub(super) struct Once<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) call: &'a Call,
    pub(super) group: &'a str,
    pub(super) purpose: Purpose,
}

impl Once<'_> {
    /// Sends the request that `build` makes for the version agreed on, and waits for its answer.
    pub(super) async fn send<R: Api>(
        &self,
        build: impl FnOnce(i16) -> Result<R, BrokerError>,
    ) -> Result<R::Response, BrokerError> {
        let Self { cluster, call, group, purpose } = *self;
        let connection = coordinator(cluster, call, group, purpose).await.map_err(Failed::into_error)?;
        let version = connection.version::<R>(call)?;
        let result = connection.call_version(call, version, &build(version)?).await;
        if matches!(result, Err(BrokerError::Connection { .. } | BrokerError::Timeout { .. })) {
            // It may be gone, and another in its place.
            cluster.set_coordinator(group, None);
        }
        if purpose == Purpose::Group && matches!(result, Err(BrokerError::Timeout { .. })) {
            // Nothing waits on such a connection: the next heartbeat must not go the same way.
            connection.close("a request of the group was not answered in time");
        }
        result
    }

    /// An error code as a result.
    pub(super) fn accepted(&self, code: i16, message: Option<String>) -> Result<(), BrokerError> {
        note_code(self.cluster, self.group, code);
        if code == 0 { Ok(()) } else { Err(self.call.response(code, message)) }
    }
}
