use kafka_protocol::ResponseError;
use kafka_protocol::messages::InitProducerIdRequest;

use super::super::call::{Call, Failed};
use super::super::cluster::Cluster;
use crate::broker::BrokerError;

const REMEDY: &str = "grant IdempotentWrite on the cluster or Write on a topic (Kafka 2.8 and later), or set `idempotence: \
                      false` in the produce settings, which allows duplicates after lost answers";

/// Asks for a producer id that nobody had before.
pub(super) async fn new_id(cluster: &Cluster) -> Result<i64, BrokerError> {
    let call = Call::new("asking for a producer id", cluster.settings.request_timeout);
    call.retry(async || {
        let connection = cluster.any(&call).await?;
        let answer = connection.call(&call, |_| InitProducerIdRequest::default().with_transactional_id(None)).await;
        let answer = answer.map_err(|error| Failed::from(with_remedy(error)))?;
        match answer.error_code {
            0 => Ok(*answer.producer_id),
            code => Err(Failed::by_code(&call, code, None)),
        }
    })
    .await
    .map_err(with_remedy)
}

/// Says what to do where the broker will never give an id.
fn with_remedy(error: BrokerError) -> BrokerError {
    let no_right = [ResponseError::ClusterAuthorizationFailed.code(), ResponseError::TopicAuthorizationFailed.code()];
    match error {
        BrokerError::Response { doing, code, .. } if no_right.contains(&code.0) => {
            BrokerError::Response { doing, code, message: Some(REMEDY.to_owned()) }
        }
        BrokerError::Unsupported { doing, remedy } if !remedy.contains(REMEDY) => {
            BrokerError::Unsupported { doing, remedy: format!("{remedy}, or {REMEDY}") }
        }
        other => other,
    }
}
