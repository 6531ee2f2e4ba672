use std::sync::Arc;

use kafka_protocol::ResponseError;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::broker::{BrokerError, Produce};
use crate::record::{ProducerRecord, TopicPartition};

/// The most bytes of records in one call of the port; a larger record goes alone. Below the broker's default limit.
const BATCH_BYTES: usize = 512 * 1024;

/// One record to send, and where its offset goes.
pub(super) struct Job {
    pub(super) record: ProducerRecord,
    /// How much of the buffer it takes until it is answered.
    pub(super) bytes: u32,
    pub(super) reply: oneshot::Sender<Result<i64, BrokerError>>,
}

/// What workers share.
pub(super) struct Context {
    pub(super) port: Arc<dyn Produce>,
    pub(super) room: Arc<Semaphore>,
    pub(super) runtime: Handle,
}

impl Context {
    /// Starts the worker of a partition and returns its queue, which is bounded by the room that senders must have.
    pub(super) fn start(self, partition: TopicPartition) -> mpsc::UnboundedSender<Job> {
        let (queue, jobs) = mpsc::unbounded_channel();
        self.runtime.clone().spawn(self.run(partition, jobs));
        queue
    }

    /// Sends what is queued for one partition, a batch at a time, until all senders are gone. The next batch gathers
    /// meanwhile. One at a time, since a batch that is refused is sent again record by record, in its place.
    async fn run(self, partition: TopicPartition, mut jobs: mpsc::UnboundedReceiver<Job>) {
        let mut waiting = None;
        loop {
            let first = match waiting.take() {
                Some(job) => job,
                None => match jobs.recv().await {
                    Some(job) => job,
                    None => return,
                },
            };
            let mut bytes = first.bytes as usize;
            let (mut records, mut replies) = (vec![first.record], vec![first.reply]);
            while let Ok(job) = jobs.try_recv() {
                if bytes + job.bytes as usize > BATCH_BYTES {
                    waiting = Some(job);
                    break;
                }
                bytes += job.bytes as usize;
                records.push(job.record);
                replies.push(job.reply);
            }
            send(&*self.port, &partition, records, replies).await;
            self.room.add_permits(bytes);
        }
    }
}

/// How many bytes a record takes, what surrounds it included.
pub(super) fn size(record: &ProducerRecord) -> usize {
    let headers: usize =
        record.headers.iter().map(|h| h.name.len() + h.value.as_ref().map_or(0, |v| v.len()) + 80).sum();
    record.key.as_ref().map_or(0, |k| k.len()) + record.value.as_ref().map_or(0, |v| v.len()) + headers + 32
}

async fn send(
    port: &dyn Produce,
    partition: &TopicPartition,
    records: Vec<ProducerRecord>,
    replies: Vec<oneshot::Sender<Result<i64, BrokerError>>>,
) {
    let single = records.len() == 1;
    let copies = if single { Vec::new() } else { records.clone() };
    match port.produce(partition.clone(), records).await {
        // A sender that no longer waits is no error.
        Ok(offsets) => replies.into_iter().zip(offsets).for_each(|(reply, offset)| drop(reply.send(Ok(offset)))),
        Err(error) if single || !is_about_records(&error) => {
            replies.into_iter().for_each(|reply| drop(reply.send(Err(error.clone()))));
        }
        // One refused record fails its whole batch: find which.
        Err(_) => {
            for (record, reply) in copies.into_iter().zip(replies) {
                let result = port.produce(partition.clone(), vec![record]).await;
                let offset = result.and_then(|offsets| {
                    offsets.first().copied().ok_or_else(|| BrokerError::Malformed {
                        doing: format!("producing to {partition}"),
                        cause: "no offset in the answer".to_owned(),
                    })
                });
                drop(reply.send(offset));
            }
        }
    }
}

/// Whether a batch was refused for what one of its records is. After any other error its records may have been appended, or each
/// of them would be refused.
fn is_about_records(error: &BrokerError) -> bool {
    use ResponseError as E;
    match error {
        BrokerError::Response { code, .. } => matches!(
            ResponseError::try_from_code(code.0),
            Some(
                E::MessageTooLarge
                    | E::RecordListTooLarge
                    | E::InvalidRecord
                    | E::InvalidTimestamp
                    | E::UnsupportedForMessageFormat
            )
        ),
        // The adapter cannot write it.
        BrokerError::Unwritable { .. } | BrokerError::RequestTooLarge { .. } => true,
        _ => false,
    }
}
