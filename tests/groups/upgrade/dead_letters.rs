use std::time::Duration;

use bezoar::dead_letter::{DeadLetterContext, DeadLetterFormat, Profile, Rung};
use bezoar::embedded::Broker;
use bezoar::policy::{Category, DeadLetterTopics};
use bezoar::record::{Header, HeaderRef, ProducerRecord, RecordBatchBuilder, TopicPartition};
use bezoar::replay::{Convention, DeadLetter, Fidelity};
use bezoar::{Consumer, Delivery, Failure, Utf8, handler_fn};

use super::fixture::Letter;
use crate::support::{Client, eventually, hasty};

/// The record that the dead letters in the fixtures stem from.
fn original() -> ProducerRecord {
    let mut record = ProducerRecord::to("orders").key("shop-1").value("{\"id\": 2").header("trace", "4bf9");
    record.headers.push(Header::null("empty"));
    record.timestamp(1_705_314_600_000)
}

#[test]
fn dead_letters_of_version_1_are_read_and_written_as_they_were() {
    for (name, format) in [
        ("dead_letter.json", DeadLetterFormat::default()),
        ("dead_letter_envelope.json", DeadLetterFormat::default().profile(Profile::Plain).profile(Profile::Envelope)),
    ] {
        let stored = Letter::load(name);
        let letter = stored.read();
        let original = original();
        assert_eq!((&letter.key, &letter.value), (&original.key, &original.value), "{name}");
        assert_eq!(letter.headers, original.headers, "{name}");
        assert_eq!((letter.convention, letter.fidelity), (Convention::Bezoar, Fidelity::Exact), "{name}");
        assert_eq!(letter.unreadable, [""; 0], "{name}");
        assert_eq!((letter.origin.to_string().as_str(), letter.origin.timestamp), ("orders/0/1", original.timestamp));
        assert!(letter.origin.topic_id.is_some(), "{name}");
        assert_eq!((letter.group.as_deref(), letter.attempts), (Some("fulfilment"), Some(1)), "{name}");
        assert_eq!((letter.category, letter.message.as_str()), (Category::Validation, "an order must end"), "{name}");
        assert_eq!(letter.consumer_id.as_deref(), Some("fulfilment@host:7"), "{name}");
        assert_eq!((letter.consumer_version.as_deref(), letter.replay_count), (Some("1.0.0"), 0), "{name}");
        assert!(letter.first_failed_at.is_some() && letter.first_failed_at <= letter.last_failed_at, "{name}");

        let written = Letter::of(&write(letter, &format));
        assert_eq!(written, stored, "{name}: version 1 would find something else");
    }
}

/// The dead letter as this version writes it.
fn write(letter: DeadLetter, format: &DeadLetterFormat) -> ProducerRecord {
    let mut batch = RecordBatchBuilder::new(TopicPartition::new("orders", 0), letter.origin.topic_id);
    let headers = letter.headers.iter().map(|header| HeaderRef { name: &header.name, value: header.value.as_deref() });
    batch.push(1, letter.origin.timestamp.unwrap(), letter.key.as_deref(), letter.value.as_deref(), headers);
    let context = DeadLetterContext {
        source: letter.origin.record().unwrap(),
        source_timestamp: letter.origin.timestamp,
        group: letter.group,
        attempts: letter.attempts,
        category: letter.category,
        error_type: letter.error_type,
        message: letter.message,
        backtrace: letter.backtrace,
        first_failed_at: letter.first_failed_at,
        last_failed_at: letter.last_failed_at,
        consumer_id: letter.consumer_id,
        consumer_version: letter.consumer_version,
        replay_count: letter.replay_count,
        fingerprint: letter.fingerprint,
    };
    context.encode(&batch.build(2).get(0).unwrap(), format, Rung::Full, "orders.dlq")
}

/// What this version writes for a failure has the headers of version 1, in their order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_dead_letters_have_the_headers_of_version_1() {
    for (name, profiles) in
        [("dead_letter.json", &[][..]), ("dead_letter_envelope.json", &[Profile::Plain, Profile::Envelope])]
    {
        let broker = Broker::start().await.unwrap();
        broker.create_topic("orders", 1).unwrap();
        let client = Client::connect(&broker.bootstrap()).await;
        let records = vec![ProducerRecord::to("orders").value("good"), original()];
        client.ports.produce.produce(TopicPartition::new("orders", 0), records).await.unwrap();
        let handler = handler_fn(|text: String, _: Delivery| async move {
            if text == "good" { Ok(()) } else { Err(Failure::validation("an order must end")) }
        });
        let format = profiles.iter().fold(DeadLetterFormat::default(), |format, profile| format.profile(*profile));
        let builder = Consumer::builder("fulfilment")
            .bootstrap(&client.bootstrap)
            .policies(hasty())
            .dead_letter_topics(DeadLetterTopics::single())
            .dead_letter_format(format)
            .consumer_id("fulfilment@host:7")
            .commit_interval(Duration::from_millis(20));
        let consumer = builder.topic("orders", Utf8, handler).start().await.unwrap();
        eventually("the dead letter is written", async || broker.committed("fulfilment", "orders", 0) == Some(2)).await;
        consumer.shutdown().await.unwrap();

        let written = client.read("orders.dlq").await.pop().unwrap();
        let record = ProducerRecord {
            key: written.key_bytes(),
            value: written.value_bytes(),
            headers: written.headers().to_vec(),
            ..ProducerRecord::to("orders.dlq")
        };
        let written = Letter::of(&record);
        assert_eq!(written.names(), Letter::load(name).names(), "{name}: {}", serde_json::to_string(&written).unwrap());
    }
}
