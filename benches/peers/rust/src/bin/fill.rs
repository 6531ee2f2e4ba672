//! Fills a topic: `fill PLAN JOB key=value...`, where PLAN is `good`, `storm` or `mixed`. Prints what a consumer of it
//! must count. It writes through librdkafka, so that the topics owe nothing to Bezoar.

use std::time::Duration;

use bezoar_peers::Result;
use bezoar_peers::job::{Job, PARTITIONS};
use bezoar_peers::plan::{self, Plan};
use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

fn main() -> Result<()> {
    let job = Job::from_args()?;
    let plan = Plan::parse(&job.form).ok_or("the plan is one of good, storm, mixed")?;
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &job.bootstrap)
        .set("acks", "all")
        .set("enable.idempotence", "true")
        // Batches of about 500 records: what a busy producer makes.
        .set("batch.num.messages", "500")
        .set("linger.ms", "100")
        .create()?;
    let mut value = String::new();
    for index in 0..job.records {
        plan::write_value(&mut value, index, plan.fate(index));
        let own = plan::headers(index);
        let headers = own.iter().fold(OwnedHeaders::new_with_capacity(own.len()), |headers, (key, value)| {
            headers.insert(Header { key, value: Some(value) })
        });
        let partition = (index % PARTITIONS as u64) as i32;
        let key = plan::key(index);
        send(&producer, BaseRecord::to(&job.topic).partition(partition).key(&key).payload(&value).headers(headers))?;
        if index % 1_024 == 0 {
            producer.poll(Duration::ZERO);
        }
    }
    producer.flush(Duration::from_secs(120))?;
    let expected = plan.expected(job.records);
    println!(
        "RESULT records={} bytes={} sum={} decode={} refused={} retries={} disorder=0",
        expected.records, expected.bytes, expected.sum, expected.decode, expected.refused, expected.retries
    );
    Ok(())
}

fn send(producer: &BaseProducer, mut record: BaseRecord<'_, String, String>) -> Result<()> {
    loop {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                producer.poll(Duration::from_millis(10));
                record = back;
            }
            Err((error, _)) => return Err(error.into()),
        }
    }
}
