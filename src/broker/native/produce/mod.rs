//! Producing: idempotent, in batches, with acknowledgements of all in-sync replicas.
//!
//! A call takes its place in the line of its partition when it is made. [`line`] decides what is sent when, and what an answer
//! means; [`driver`] is the one task that moves lines, asks for metadata and producer ids, and keeps time; [`peer`] sends the
//! requests for one broker.

mod driver;
mod encoder;
mod fate;
mod identity;
mod line;
mod peer;
mod request;
mod slot;
mod troubles;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use self::driver::Driver;
use self::line::Call;
use self::troubles::Troubles;
use super::cluster::Cluster;
use crate::broker::batch::size_bound;
use crate::broker::{BoxFuture, BrokerError, ErrorCode, Produce};
use crate::record::{ProducerRecord, TopicPartition};

/// Brokers close the connection of a request above `socket.request.max.bytes` (100 MiB by default) without an answer, so that a
/// batch of that size would be sent again and again: it is refused here. The rest is for what surrounds a batch.
const LARGEST_BATCH: usize = (100 << 20) - (64 << 10);

/// What a call is answered through.
type Reply = oneshot::Sender<Result<i64, BrokerError>>;

/// The producer. Its task ends when it is dropped, and fails what waits.
pub(super) struct Producer {
    /// Holds no more than one entry for each call.
    calls: mpsc::UnboundedSender<(TopicPartition, Call<ProducerRecord, Reply>)>,
    delivery_timeout: std::time::Duration,
    troubles: Arc<Troubles>,
}

impl Producer {
    pub(super) fn new(cluster: Arc<Cluster>, runtime: Handle) -> Self {
        let (calls, queue) = mpsc::unbounded_channel();
        let delivery_timeout = cluster.settings.produce.delivery_timeout;
        let troubles = Arc::new(Troubles::default());
        runtime.spawn(Driver::new(cluster, Arc::clone(&troubles)).run(queue));
        Self { calls, delivery_timeout, troubles }
    }
}

impl Produce for Producer {
    /// Records of a call whose future is dropped may be appended all the same.
    fn produce(
        &self,
        partition: TopicPartition,
        records: Vec<ProducerRecord>,
    ) -> BoxFuture<Result<Vec<i64>, BrokerError>> {
        let doing = format!("producing to {partition}");
        let count = records.len() as i64;
        let bytes = records.iter().map(size_bound).sum();
        if count == 0 {
            return Box::pin(async { Ok(Vec::new()) });
        }
        if bytes > LARGEST_BATCH {
            let message = format!("{count} records of {bytes} bytes; a batch may have {LARGEST_BATCH} at most");
            let error = BrokerError::Response { doing, code: ErrorCode::MESSAGE_TOO_LARGE, message: Some(message) };
            return Box::pin(async { Err(error) });
        }
        let (reply, answer) = oneshot::channel();
        let enqueued = Instant::now();
        let call = Call { records, bytes, enqueued, deadline: enqueued + self.delivery_timeout, reply };
        // Fails only where the task is gone, and the answer with it.
        let _ = self.calls.send((partition, call));
        Box::pin(async move {
            match answer.await {
                Ok(Ok(-1)) => Ok(vec![-1; count as usize]),
                Ok(Ok(base)) => Ok((base..base + count).collect()),
                Ok(Err(error)) => Err(error),
                Err(_) => Err(BrokerError::Closed { doing }),
            }
        })
    }

    fn trouble(&self, partition: &TopicPartition) -> Option<BrokerError> {
        self.troubles.of(partition)
    }
}
