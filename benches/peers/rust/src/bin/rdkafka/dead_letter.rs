use std::fmt::Display;

use bezoar_peers::dead_letter as names;
use bezoar_peers::job::Job;
use rdkafka::Message;
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Header, OwnedHeaders};
use rdkafka::producer::{DeliveryFuture, FutureProducer, FutureRecord};

/// Hands the dead letter of a message to the producer: key, value, headers, and its context as headers.
pub fn send(
    producer: &FutureProducer,
    job: &Job,
    message: &BorrowedMessage<'_>,
    attempts: u32,
    error: &dyn Display,
) -> Result<DeliveryFuture, KafkaError> {
    let headers = message.headers().map_or_else(OwnedHeaders::new, |headers| headers.detach());
    let headers = [
        (names::TOPIC, message.topic()),
        (names::PARTITION, &message.partition().to_string()),
        (names::OFFSET, &message.offset().to_string()),
        (names::GROUP, &job.group),
        (names::DELIVERY_COUNT, &attempts.to_string()),
        (names::MESSAGE, &error.to_string()),
    ]
    .into_iter()
    .fold(headers, |headers, (key, value)| headers.insert(Header { key, value: Some(value) }));
    let mut record = FutureRecord::<[u8], [u8]>::to(&job.dead).partition(message.partition()).headers(headers);
    record.key = message.key();
    record.payload = message.payload();
    producer.send_result(record).map_err(|(error, _)| error)
}
