//! What tests of the native plane share: ports to an embedded broker, records by number, and feeds that somebody empties.

use std::sync::Arc;
use std::time::Duration;

use bezoar::broker::{BrokerError, ConnectionSettings, Feed, Ports, Source, native};
use bezoar::embedded::Broker;
use bezoar::record::{ProducerRecord, TopicPartition};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Far more than anything here takes, even on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn orders(number: i32) -> TopicPartition {
    TopicPartition::new("orders", number)
}

/// A broker with one topic, `orders`, and ports to it.
pub(crate) async fn broker(partitions: i32, change: impl FnOnce(&mut ConnectionSettings)) -> (Broker, Ports) {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", partitions).unwrap();
    let mut settings = ConnectionSettings::new([broker.bootstrap()]);
    change(&mut settings);
    let ports = native::connect(settings).await.unwrap().ports();
    (broker, ports)
}

pub(crate) type Call = JoinHandle<Result<Vec<i64>, BrokerError>>;

/// Produces records with these values, in a call that is made now.
pub(crate) fn produce(ports: &Ports, number: i32, values: std::ops::Range<usize>) -> Call {
    let records = values.map(|value| ProducerRecord::to("").value(value.to_string())).collect();
    let call = ports.produce.produce(orders(number), records);
    tokio::spawn(async move { tokio::time::timeout(PATIENCE, call).await.expect("a call ends") })
}

/// The values in a partition of `orders`, in order.
pub(crate) fn values(broker: &Broker, number: i32) -> Vec<usize> {
    let records = broker.records("orders", number).unwrap();
    records.into_iter().map(|record| String::from_utf8_lossy(&record.value.unwrap()).parse().unwrap()).collect()
}

/// A feed and what tells that something has arrived.
pub(crate) struct Reader {
    pub(crate) feed: Arc<Feed>,
    pub(crate) arrived: Arc<Notify>,
}

impl Reader {
    pub(crate) fn begin(source: &Arc<dyn Source>, partition: &TopicPartition, offset: i64, limit: usize) -> Self {
        let feed = Arc::new(Feed::new(partition.clone(), limit, |_| ()));
        let arrived = Arc::new(Notify::new());
        feed.on_ready({
            let arrived = Arc::clone(&arrived);
            move || arrived.notify_one()
        });
        source.add(partition.clone(), None, offset, Arc::clone(&feed));
        Self { feed, arrived }
    }

    /// The offsets and values of the next batch.
    pub(crate) async fn next(&self) -> Vec<(i64, usize)> {
        let next = async {
            loop {
                if let Some(batch) = self.feed.front() {
                    self.feed.pop_front();
                    let number = |value: &[u8]| String::from_utf8_lossy(value).parse().unwrap();
                    return batch.iter().map(|record| (record.offset(), number(record.value().unwrap()))).collect();
                }
                self.arrived.notified().await;
            }
        };
        let partition = self.feed.partition().clone();
        tokio::time::timeout(PATIENCE, next).await.unwrap_or_else(|_| panic!("nothing arrives of {partition}"))
    }
}
