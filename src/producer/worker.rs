use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::broker::{BrokerError, Produce};
use crate::record::{ProducerRecord, TopicPartition};

/// How many records may wait per partition before senders wait.
pub(super) const QUEUE: usize = 1024;

/// The most bytes of keys and values in one batch; a larger record goes alone. Below the broker's default limit.
const BATCH_BYTES: usize = 512 * 1024;

/// One record to send, and where its offset goes.
pub(super) struct Job {
    pub(super) record: ProducerRecord,
    pub(super) reply: oneshot::Sender<Result<i64, BrokerError>>,
}

/// Sends what is queued for one partition, a batch at a time, until all senders are gone.
pub(super) async fn run(port: Arc<dyn Produce>, partition: TopicPartition, mut jobs: mpsc::Receiver<Job>) {
    let mut waiting = None;
    loop {
        let Some(first) = take(&mut waiting, &mut jobs).await else { return };
        let mut bytes = size(&first.record);
        let (mut records, mut replies) = (vec![first.record], vec![first.reply]);
        while let Ok(job) = jobs.try_recv() {
            bytes += size(&job.record);
            if bytes > BATCH_BYTES {
                waiting = Some(job);
                break;
            }
            records.push(job.record);
            replies.push(job.reply);
        }
        send(&*port, &partition, records, replies).await;
    }
}

async fn take(waiting: &mut Option<Job>, jobs: &mut mpsc::Receiver<Job>) -> Option<Job> {
    match waiting.take() {
        Some(job) => Some(job),
        None => jobs.recv().await,
    }
}

fn size(record: &ProducerRecord) -> usize {
    let headers: usize = record.headers.iter().map(|h| h.name.len() + h.value.as_ref().map_or(0, |v| v.len())).sum();
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
        Err(error) if single || error.is_retriable() => {
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
