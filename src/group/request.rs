use std::future::Future;
use std::sync::Arc;

use super::machine::{Answer, Request};
use crate::broker::{BrokerError, Membership};
use crate::isolation::guard::Guarded;

/// Sends a request. It always ends.
pub(super) async fn send(membership: Arc<dyn Membership>, group: String, request: Request) -> Answer {
    let doing = |what: &str| format!("{what} group {group}");
    match request {
        Request::ConsumerHeartbeat(heartbeat) => {
            let doing = doing("heartbeat of");
            Answer::ConsumerHeartbeat(
                watched(doing, async move { membership.consumer_heartbeat(heartbeat).await }).await,
            )
        }
        Request::Join(join) => {
            let doing = doing("joining");
            Answer::Join(watched(doing, async move { membership.join(join).await }).await)
        }
        Request::Sync(sync) => {
            let doing = doing("asking for the assignment in");
            Answer::Sync(watched(doing, async move { membership.sync(sync).await }).await)
        }
        Request::Heartbeat(member) => {
            let doing = doing("heartbeat of");
            Answer::Heartbeat(watched(doing, async move { membership.heartbeat(group, member).await }).await)
        }
        Request::Leave(member) => {
            let doing = doing("leaving");
            let reason = "the consumer is closed".to_owned();
            Answer::Leave(watched(doing, async move { membership.leave(group, member, reason).await }).await)
        }
    }
}

/// An adapter's panic must not leave the member waiting for an answer for ever.
pub(super) async fn watched<T>(
    doing: String,
    call: impl Future<Output = Result<T, BrokerError>>,
) -> Result<T, BrokerError> {
    Guarded::new(call).await.unwrap_or_else(|report| {
        Err(BrokerError::Malformed { doing, cause: format!("the adapter panicked: {}", report.message) })
    })
}
