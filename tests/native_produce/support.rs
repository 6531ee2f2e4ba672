use std::time::Duration;

use bezoar::broker::{BrokerError, ConnectionSettings, ErrorCode, Ports, native};
use bezoar::embedded::Broker;
use bezoar::record::{ProducerRecord, TopicPartition};
use tokio::task::JoinHandle;

/// Far more than anything here takes, even on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) const NOT_LEADER: ErrorCode = ErrorCode(6);
pub(crate) const REQUEST_TIMED_OUT: ErrorCode = ErrorCode(7);

pub(crate) type Call = JoinHandle<Result<Vec<i64>, BrokerError>>;

/// A broker with one topic, `orders`, and ports to it.
pub(crate) async fn orders(partitions: i32, change: impl FnOnce(&mut ConnectionSettings)) -> (Broker, Ports) {
    let broker = Broker::start().await.unwrap();
    broker.create_topic("orders", partitions).unwrap();
    let ports = connect(&broker.bootstrap(), change).await;
    (broker, ports)
}

pub(crate) async fn connect(address: &str, change: impl FnOnce(&mut ConnectionSettings)) -> Ports {
    let mut settings = ConnectionSettings::new([address]);
    change(&mut settings);
    native::connect(settings).await.unwrap().ports()
}

pub(crate) fn partition(number: i32) -> TopicPartition {
    TopicPartition::new("orders", number)
}

pub(crate) fn record(value: impl ToString) -> ProducerRecord {
    ProducerRecord::to("").value(value.to_string())
}

/// Makes a call now, whether or not its result is waited for.
pub(crate) fn call(ports: &Ports, partition: TopicPartition, records: Vec<ProducerRecord>) -> Call {
    let call = ports.produce.produce(partition, records);
    tokio::spawn(async move { tokio::time::timeout(PATIENCE, call).await.expect("a call ends") })
}

/// Calls of `per_call` records each with the values from 0 on, one after the other.
pub(crate) fn calls(ports: &Ports, number: i32, calls: usize, per_call: usize) -> Vec<Call> {
    let records = |index: usize| (index * per_call..(index + 1) * per_call).map(record).collect();
    (0..calls).map(|index| call(ports, partition(number), records(index))).collect()
}

pub(crate) async fn all(calls: Vec<Call>) -> Vec<Result<Vec<i64>, BrokerError>> {
    let mut results = Vec::with_capacity(calls.len());
    for call in calls {
        results.push(call.await.unwrap());
    }
    results
}

/// The values in a partition of `orders`, in order.
pub(crate) fn values(broker: &Broker, number: i32) -> Vec<usize> {
    let records = broker.records("orders", number).unwrap();
    records.into_iter().map(|record| String::from_utf8_lossy(&record.value.unwrap()).parse().unwrap()).collect()
}

/// Asserts that all calls succeeded and the partition holds the values from 0 on, each once and in order, where the calls were
/// told.
pub(crate) fn assert_exactly_once(broker: &Broker, number: i32, results: &[Result<Vec<i64>, BrokerError>]) {
    let offsets: Vec<i64> = results.iter().flat_map(|result| result.clone().unwrap()).collect();
    assert_eq!(offsets, (0..offsets.len() as i64).collect::<Vec<_>>());
    assert_eq!(values(broker, number), (0..offsets.len()).collect::<Vec<_>>());
}
