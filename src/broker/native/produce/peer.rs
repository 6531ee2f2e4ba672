use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::poll;
use kafka_protocol::messages::ProduceResponse;
use std::task::Poll;
use tokio::sync::mpsc;
use tokio::task::unconstrained;

use super::super::call::Call;
use super::super::cluster::{Cluster, Purpose};
use super::driver::Input;
use super::fate::Fate;
use super::line::{Body, Parcel};
use super::{encoder, request};
use crate::broker::BrokerError;
use crate::record::{ProducerRecord, TopicPartition};

/// One batch of a request, and which line it is of.
pub(super) struct Item {
    pub(super) line: usize,
    pub(super) partition: TopicPartition,
    pub(super) doing: Arc<str>,
    pub(super) parcel: Parcel<ProducerRecord>,
}

/// What came of an item.
pub(super) struct Settled {
    pub(super) line: usize,
    pub(super) batch: u64,
    pub(super) body: Body<ProducerRecord>,
    pub(super) fate: Fate,
}

/// Sends the requests for one broker in their order, each without waiting for the answer to the one before.
pub(super) async fn run(
    cluster: Arc<Cluster>,
    broker: i32,
    mut requests: mpsc::UnboundedReceiver<Vec<Item>>,
    inputs: mpsc::Sender<Input>,
) {
    let timeout = cluster.settings.request_timeout;
    let compression = cluster.settings.produce.compression;
    while let Some(mut items) = requests.recv().await {
        let doing: Arc<str> = describe(&items).into();
        let connection =
            match cluster.broker_for(broker, Purpose::Produce, &Call::new(Arc::clone(&doing), timeout)).await {
                Ok(connection) => connection,
                Err(error) => {
                    let settled = items.into_iter().map(|item| not_sent(item, &error)).collect();
                    if inputs.send(Input::Answered { broker, settled }).await.is_err() {
                        return;
                    }
                    continue;
                }
            };
        let batches: Vec<_> = items
            .iter_mut()
            .map(|item| {
                let bytes = encoder::bytes_of(&mut item.parcel.body, item.parcel.stamp, now_millis(), compression);
                (item.partition.clone(), bytes)
            })
            .collect();
        let call = Call::new(doing, timeout);
        // The broker should say that replicas are slow before we give up waiting for it.
        let request = request::build(&batches, millis(timeout * 9 / 10));
        drop(batches);
        let exchange = {
            let call = call.clone();
            async move { connection.call(&call, |_| request).await }
        };
        // The first poll puts the request into the connection's queue: so requests keep their order, whichever task
        // waits for the answer.
        let mut exchange = Box::pin(unconstrained(exchange));
        let answered = poll!(exchange.as_mut());
        let inputs = inputs.clone();
        tokio::spawn(async move {
            let answer = match answered {
                Poll::Ready(answer) => answer,
                Poll::Pending => exchange.await,
            };
            let settled = settle(items, &answer, &call);
            // Fails only where the producer is gone, and its callers with it.
            let _ = inputs.send(Input::Answered { broker, settled }).await;
        });
    }
}

fn describe(items: &[Item]) -> String {
    match items {
        [only] => only.doing.to_string(),
        [first, others @ ..] => format!("{} and {} more partitions", first.doing, others.len()),
        [] => String::new(),
    }
}

fn not_sent(item: Item, error: &BrokerError) -> Settled {
    Settled { line: item.line, batch: item.parcel.batch, body: item.parcel.body, fate: Fate::NotYet(error.clone()) }
}

fn settle(items: Vec<Item>, answer: &Result<ProduceResponse, BrokerError>, call: &Call) -> Vec<Settled> {
    let fates = match answer {
        Ok(answer) => {
            let partitions: Vec<_> =
                items.iter().map(|item| (item.partition.clone(), Arc::clone(&item.doing))).collect();
            request::fates(answer, &partitions, call)
        }
        Err(error) => {
            let fate = match error {
                BrokerError::Unsupported { .. } => Fate::Refused(error.clone()),
                _ => Fate::Unclear(error.clone()),
            };
            vec![fate; items.len()]
        }
    };
    let settled = items.into_iter().zip(fates);
    settled
        .map(|(item, fate)| Settled { line: item.line, batch: item.parcel.batch, body: item.parcel.body, fate })
        .collect()
}

fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}

/// The wall clock in milliseconds since the Unix epoch.
fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
