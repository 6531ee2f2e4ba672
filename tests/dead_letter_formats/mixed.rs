//! Records that have come through dead-letter topics of several frameworks, or through ours with profiles.

use bezoar::dead_letter::{DeadLetterContext, DeadLetterFormat, Profile, Rung, names};
use bezoar::policy::Category;
use bezoar::record::{Header, HeaderRef, ProducerRecord, Record, RecordBatchBuilder, TopicPartition};
use bezoar::replay::{Convention, DeadLetter, Fidelity};

use crate::spring::{exception, originals};
use crate::support::{text, texts};

/// The record at `topic/3/17` with these headers, as it is fetched.
fn fetched(topic: &str, headers: &[Header]) -> Record {
    let mut batch = RecordBatchBuilder::new(TopicPartition::new(topic, 3), None);
    let headers = headers.iter().map(|header| HeaderRef { name: &header.name, value: header.value.as_deref() });
    batch.push(17, 1_705_314_600_000, Some(b"key"), Some(b"value"), headers);
    batch.build(18).get(0).unwrap()
}

/// Its dead letter.
fn dead_letter(record: &Record, profiles: &[Profile]) -> ProducerRecord {
    let context = DeadLetterContext {
        source: record.id(),
        source_timestamp: Some(record.timestamp()),
        group: Some("billing".into()),
        attempts: Some(1),
        category: Category::Validation,
        error_type: "OrderError".into(),
        message: "no items".into(),
        backtrace: Some("no items".into()),
        first_failed_at: None,
        last_failed_at: None,
        consumer_id: None,
        consumer_version: None,
        replay_count: 0,
        fingerprint: "0123456789abcdef".into(),
    };
    let format = profiles.iter().fold(DeadLetterFormat::default(), |format, profile| format.profile(*profile));
    context.encode(record, &format, Rung::Full, "orders.dlq")
}

fn read(record: ProducerRecord) -> DeadLetter {
    DeadLetter::read(record.key, record.value, record.headers)
}

fn named<'a>(headers: &'a [Header], prefix: &str) -> Vec<&'a Header> {
    headers.iter().filter(|header| header.name.starts_with(prefix.as_bytes())).collect()
}

/// Byte for byte what Spring writes, since its own tools read it.
#[test]
fn the_profile_spring_is_exact() {
    let letter = dead_letter(&fetched("orders", &[]), &[Profile::Spring]);
    let mut expected = originals("orders");
    expected.extend(texts(&[
        ("kafka_dlt-exception-fqcn", "OrderError"),
        ("kafka_dlt-exception-message", "no items"),
        ("kafka_dlt-exception-stacktrace", "no items"),
    ]));
    assert_eq!(named(&letter.headers, "kafka_"), expected.iter().collect::<Vec<_>>());
}

#[test]
fn the_profile_connect_is_exact() {
    let letter = dead_letter(&fetched("orders", &[]), &[Profile::Connect]);
    let expected = texts(&[
        ("__connect.errors.topic", "orders"),
        ("__connect.errors.partition", "3"),
        ("__connect.errors.offset", "17"),
        ("__connect.errors.connector.name", "billing"),
        ("__connect.errors.task.id", "3"),
        ("__connect.errors.stage", "TASK_PUT"),
        ("__connect.errors.class.name", "bezoar::Consumer"),
        ("__connect.errors.exception.class.name", "OrderError"),
        ("__connect.errors.exception.message", "no items"),
        ("__connect.errors.exception.stacktrace", "no items"),
    ]);
    assert_eq!(named(&letter.headers, "__connect."), expected.iter().collect::<Vec<_>>());
}

/// The original here is the record in Spring's dead-letter topic, with its headers.
#[test]
fn springs_dead_letter_that_failed_again_with_us() {
    let headers = [vec![text("trace", "1")], originals("orders"), exception()].concat();
    let letter = read(dead_letter(&fetched("orders.DLT", &headers), &[]));
    assert_eq!((letter.convention, letter.origin.to_string().as_str()), (Convention::Bezoar, "orders.DLT/3/17"));
    assert_eq!((letter.error_type.as_str(), letter.headers), ("OrderError", headers));
}

#[test]
fn our_dead_letter_that_failed_again_with_spring() {
    let ours = dead_letter(&fetched("orders", &[text("trace", "1")]), &[]);
    let mut headers = ours.headers.clone();
    headers.extend(originals("orders.dlq"));
    headers.extend(exception());
    let letter = DeadLetter::read(ours.key, ours.value, headers);
    assert_eq!((letter.convention, letter.origin.to_string().as_str()), (Convention::Spring, "orders.dlq/3/17"));
    assert_eq!(letter.error_type, "java.lang.IllegalStateException");
    // What the record in our dead-letter topic had, apart from what its next replay writes anew.
    let kept: Vec<_> = ours.headers.into_iter().filter(|header| header.name != names::REPLAY_COUNT).collect();
    assert_eq!(letter.headers, kept);
}

/// The profile's names are reserved where it is written, and only there.
#[test]
fn what_came_with_the_record_survives_unless_its_profile_is_written() {
    let springs = [originals("orders"), exception()].concat();
    let connects = texts(&[("__connect.errors.topic", "orders"), ("__connect.errors.partition", "3")]);
    let record = fetched("orders.DLT", &[springs.clone(), connects.clone()].concat());
    let written = dead_letter(&record, &[Profile::Spring, Profile::Plain]);
    assert_eq!(named(&written.headers, "kafka_dlt-original-topic"), [&text("kafka_dlt-original-topic", "orders.DLT")]);
    assert!(named(&written.headers, "kafka_dlt-exception-cause").is_empty(), "not of this failure");
    assert_eq!(named(&written.headers, "__connect."), connects.iter().collect::<Vec<_>>());
    let letter = read(written);
    assert_eq!((letter.convention, letter.headers), (Convention::Bezoar, connects));
}

#[test]
fn what_a_replay_added_is_told_and_is_no_header_of_the_original() {
    let replay = "8c1f9c3e-7a0b-4a5e-9d52-1f1c0f8f1c11";
    let lineage = texts(&[
        (names::REPLAY_COUNT, "2"),
        (names::REPLAY_OF, "orders.dlq/0/5"),
        (names::REPLAY_ID, "8c1f9c3e-7a0b-4a5e-9d52-1f1c0f8f1c11"),
    ]);
    let headers = [vec![text("trace", "1")], lineage.clone()].concat();
    let springs = ProducerRecord {
        headers: [headers.clone(), originals("orders"), exception()].concat(),
        ..ProducerRecord::to("orders.DLT")
    };
    let mut ours = dead_letter(&fetched("orders", &headers), &[Profile::Envelope]);
    // The count is written anew: by the consumer that knows it.
    ours.headers.retain(|header| header.name != names::REPLAY_COUNT);
    ours.headers.push(text(names::REPLAY_COUNT, "2"));
    for record in [springs, ours] {
        let letter = read(record);
        assert_eq!((letter.replay_count, letter.replay_of.as_deref()), (2, Some("orders.dlq/0/5")));
        assert_eq!(letter.replay_id.map(|id| id.to_string()).as_deref(), Some(replay));
        assert_eq!(letter.headers, [text("trace", "1")]);
    }
    // What is no dead letter stays as it is.
    let letter = DeadLetter::read(None, None, headers.clone());
    assert_eq!((letter.convention, letter.headers), (Convention::Unrecognized, headers));
}

#[test]
fn a_value_that_should_be_an_envelope_and_is_none_is_lossy() {
    let mut record = dead_letter(&fetched("orders", &[]), &[Profile::Envelope]);
    record.value = Some("{".into());
    let letter = read(record);
    assert_eq!((letter.convention, letter.fidelity), (Convention::Bezoar, Fidelity::Lossy));
    assert_eq!(letter.origin.to_string(), "orders/3/17");
    assert_eq!(letter.unreadable, ["value: it is no envelope, though the header bezoar.envelope says so"]);
}

#[test]
fn what_is_broken_in_ours_is_left_out_and_told() {
    let broken = [
        (names::TOPIC, None, "\"\" is no topic's name"),
        (names::OFFSET, Some("x"), "\"x\" is no number from 0 on"),
        (names::DELIVERY_COUNT, Some("-1"), "\"-1\" is no number of attempts"),
        (names::CATEGORY, Some("odd"), "\"odd\" is no category"),
        (names::SOURCE_TIMESTAMP, Some("noon"), "\"noon\" is no time"),
        (names::SOURCE_TOPIC_ID, Some("7"), "\"7\" is no topic's id"),
    ];
    for (name, value, problem) in broken {
        let mut record = dead_letter(&fetched("orders", &[]), &[]);
        record.headers.retain(|header| header.name != name);
        record.headers.push(text(name, value.unwrap_or_default()));
        let letter = read(record);
        assert_eq!((letter.convention, letter.error_type.as_str()), (Convention::Bezoar, "OrderError"));
        assert_eq!(letter.unreadable, [format!("{name}: {problem}")]);
        assert_eq!(letter.origin.partition, Some(3));
    }
}

/// Names with a meaning of their own are found where nothing else is known only.
#[test]
fn names_that_anybody_uses_do_not_hide_a_convention() {
    let plain = texts(&[("error", "E"), ("source", "elsewhere/0/1"), ("x-retry-count", "1"), ("original_offset", "1")]);
    let letter = read(dead_letter(&fetched("orders", &plain), &[]));
    assert_eq!((letter.convention, letter.headers), (Convention::Bezoar, plain));
}
