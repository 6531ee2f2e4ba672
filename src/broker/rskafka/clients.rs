use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rskafka::BackoffConfig;
use rskafka::client::partition::{PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use tokio::sync::Mutex;
use tokio::time::timeout;
use uuid::Uuid;

use super::error::translate;
use crate::broker::native::Native;
use crate::broker::{Admin, BrokerError, ConnectionSettings, ErrorCode};
use crate::record::TopicPartition;

/// Makes clients of partitions. The rskafka client behind them is shared until one of them fails in a way that may be
/// its fault (stale metadata, a connection that hangs); then it is replaced.
pub(super) struct Clients {
    pub(super) settings: ConnectionSettings,
    native: Native,
    shared: Mutex<Option<Arc<Client>>>,
}

/// A client of one partition, and the shared client that it came from.
pub(super) struct Lease {
    pub(super) partition: PartitionClient,
    shared: Arc<Client>,
}

impl Clients {
    pub(super) fn new(settings: ConnectionSettings, native: Native) -> Self {
        Self { settings, native, shared: Mutex::new(None) }
    }

    /// A new client of `partition`, connected to its leader, and the topic's id.
    pub(super) async fn lease(&self, partition: &TopicPartition) -> Result<(Lease, Option<Uuid>), BrokerError> {
        let doing = format!("connecting to the leader of {partition}");
        // rskafka's own metadata requests create topics where the broker allows that: it is not asked about topics
        // that are not there.
        let topic = self.native.topics(vec![partition.topic().to_owned()]).await?.pop().flatten();
        let topic = topic.filter(|topic| (0..topic.partitions).contains(&partition.partition()));
        let Some(topic) = topic else {
            let code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
            return Err(BrokerError::Response { doing, code, message: None });
        };
        let lease = match self.try_lease(&doing, partition).await {
            // The client before may have known the topic from when it had fewer partitions; a new one knows them all.
            Err(BrokerError::Malformed { .. }) => self.try_lease(&doing, partition).await?,
            tried => tried?,
        };
        Ok((lease, topic.id))
    }

    async fn try_lease(&self, doing: &str, partition: &TopicPartition) -> Result<Lease, BrokerError> {
        let within = self.settings.request_timeout;
        let shared = bound(doing, within, self.shared()).await??;
        let building = shared.partition_client(partition.topic(), partition.partition(), UnknownTopicHandling::Error);
        let error = match bound(doing, within, building).await {
            Ok(Ok(client)) => return Ok(Lease { partition: client, shared }),
            Ok(Err(error)) => translate(doing, &error),
            Err(timeout) => timeout,
        };
        // Its cached metadata may be stale, and it would never find that out.
        self.discard(&shared).await;
        Err(error)
    }

    /// Gives up a lease whose connection failed or may hang, and the shared client with it.
    pub(super) async fn give_up(&self, lease: &Lease) {
        self.discard(&lease.shared).await;
    }

    async fn discard(&self, client: &Arc<Client>) {
        let mut shared = self.shared.lock().await;
        if shared.as_ref().is_some_and(|current| Arc::ptr_eq(current, client)) {
            *shared = None;
        }
    }

    async fn shared(&self) -> Result<Arc<Client>, BrokerError> {
        let mut shared = self.shared.lock().await;
        if let Some(client) = &*shared {
            return Ok(Arc::clone(client));
        }
        let settings = &self.settings;
        let client = ClientBuilder::new(settings.bootstrap.clone())
            .client_id(settings.client_id.as_str())
            .max_message_size(settings.max_response_bytes)
            .backoff_config(no_retries())
            .build()
            .await
            .map_err(|error| translate(&format!("connecting to {}", settings.bootstrap.join(", ")), &error))?;
        let client = Arc::new(client);
        *shared = Some(Arc::clone(&client));
        Ok(client)
    }
}

/// rskafka retries without a deadline, silently, and with pauses of minutes; a deadline of zero makes it report the
/// first error instead. The retries are ours.
fn no_retries() -> BackoffConfig {
    BackoffConfig { deadline: Some(Duration::ZERO), ..BackoffConfig::default() }
}

/// Bounds a call of rskafka, which has no deadlines of its own.
pub(super) async fn bound<T>(doing: &str, within: Duration, work: impl Future<Output = T>) -> Result<T, BrokerError> {
    timeout(within, work).await.map_err(|_| BrokerError::Timeout { doing: doing.to_owned(), after: within })
}
