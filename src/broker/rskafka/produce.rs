use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rskafka::client::partition::Compression;
use rskafka::record::Record;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::clients::{Clients, Lease, bound};
use super::convert;
use super::error::translate;
use crate::broker::{BoxFuture, BrokerError, ErrorCode, Produce};
use crate::record::{ProducerRecord, TopicPartition};

/// The pause after a first failure, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Produces over one client per partition, kept until it fails.
pub(super) struct Producer {
    shared: Arc<Shared>,
    runtime: Handle,
}

struct Shared {
    clients: Arc<Clients>,
    leases: Mutex<HashMap<TopicPartition, Arc<Lease>>>,
}

impl Producer {
    pub(super) fn new(clients: Arc<Clients>, runtime: Handle) -> Self {
        Self { shared: Arc::new(Shared { clients, leases: Mutex::default() }), runtime }
    }
}

impl Produce for Producer {
    fn produce(
        &self,
        partition: TopicPartition,
        records: Vec<ProducerRecord>,
    ) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        let shared = Arc::clone(&self.shared);
        let doing = format!("producing {} records to {partition}", records.len());
        // On its own runtime, and to its end even if the caller is dropped: a request cut short would spoil the
        // connection for others.
        let task = self.runtime.spawn({
            let doing = doing.clone();
            async move { shared.produce(&doing, &partition, &records).await }
        });
        Box::pin(async move { task.await.unwrap_or(Err(BrokerError::Closed { doing })) })
    }
}

impl Shared {
    /// Tries until the request timeout; the last error is the one returned.
    async fn produce(
        &self,
        doing: &str,
        partition: &TopicPartition,
        records: &[ProducerRecord],
    ) -> Result<Vec<i64>, BrokerError> {
        let deadline = Instant::now() + self.clients.settings.request_timeout;
        let mut pause = FIRST_PAUSE;
        loop {
            let converted = records.iter().map(|record| convert::record(doing, record));
            let converted = converted.collect::<Result<Vec<_>, _>>()?;
            let left = deadline.saturating_duration_since(Instant::now());
            let error = match bound(doing, left, self.lease(partition)).await.flatten() {
                Ok(lease) => match self.send(doing, partition, &lease, converted, left).await {
                    Ok(offsets) => return Ok(offsets),
                    Err(error) => error,
                },
                // That the topic does not exist is sure here; a leader that says so may just not know of it yet.
                Err(error) if error.code() == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => return Err(error),
                Err(error) => error,
            };
            if !error.is_retriable() || Instant::now() + pause >= deadline {
                return Err(error);
            }
            tracing::debug!(%partition, %error, ?pause, "producing fails for now");
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn lease(&self, partition: &TopicPartition) -> Result<Arc<Lease>, BrokerError> {
        let cached = self.lock().get(partition).cloned();
        if let Some(lease) = cached {
            return Ok(lease);
        }
        let (lease, _) = self.clients.lease(partition).await?;
        let lease = Arc::new(lease);
        self.lock().insert(partition.clone(), Arc::clone(&lease));
        Ok(lease)
    }

    async fn send(
        &self,
        doing: &str,
        partition: &TopicPartition,
        lease: &Arc<Lease>,
        records: Vec<Record>,
        left: Duration,
    ) -> Result<Vec<i64>, BrokerError> {
        let sending = lease.partition.produce(records, Compression::NoCompression);
        let error = match bound(doing, left, sending).await {
            Ok(Ok(offsets)) => return Ok(offsets),
            Ok(Err(error)) => translate(doing, &error),
            Err(timeout) => timeout,
        };
        let refused = matches!(error, BrokerError::Response { .. }) && !error.is_retriable();
        if !refused {
            // The leader may have moved, or the connection may hang.
            self.forget(partition, lease);
            self.clients.give_up(lease).await;
        }
        Err(error)
    }

    /// Drops a client, unless another call has replaced it already.
    fn forget(&self, partition: &TopicPartition, lease: &Arc<Lease>) {
        let mut leases = self.lock();
        if leases.get(partition).is_some_and(|current| Arc::ptr_eq(current, lease)) {
            leases.remove(partition);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TopicPartition, Arc<Lease>>> {
        // Held for single, consistent changes only.
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
