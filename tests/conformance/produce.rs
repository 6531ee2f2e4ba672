//! Producing, and what comes back of it.

use bezoar::broker::{ErrorCode, OffsetSpec};
use bezoar::record::{Header, ProducerRecord};

use crate::fixture::{Fixture, partition, record, records, unique};

pub(crate) async fn records_come_back_byte_for_byte(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let to = || ProducerRecord::to(topic.as_str());
    let written = vec![
        to().timestamp(1_700_000_000_123),
        to().key("").value("").timestamp(-86_400_001),
        to().key(vec![0, 0xff]).value(vec![0xfe, 0]).timestamp(0),
        to().value("v").header("a", "1").header("b", "").header("c", vec![0, 0xff]).timestamp(5),
    ];
    assert_eq!(fixture.produce(&partition, written.clone()).await, [0, 1, 2, 3]);
    let read = fixture.read(&partition, 0).await.records(4).await;
    for (index, (read, written)) in read.iter().zip(&written).enumerate() {
        assert_eq!(read.offset, index as i64);
        assert_eq!(Some(read.timestamp), written.timestamp);
        assert_eq!(read.key.as_deref(), written.key.as_deref());
        assert_eq!(read.value.as_deref(), written.value.as_deref());
        assert_eq!(read.headers, written.headers);
    }
    assert_eq!(read[3].headers[1], Header::new("b", ""));
}

pub(crate) async fn a_batch_keeps_its_order_and_gets_consecutive_offsets(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    assert_eq!(fixture.produce(&partition, records(0..100)).await, (0..100).collect::<Vec<i64>>());
    assert_eq!(fixture.produce(&partition, records(100..150)).await, (100..150).collect::<Vec<i64>>());
    assert!(fixture.produce(&partition, Vec::new()).await.is_empty());
    let read = fixture.read(&partition, 0).await.values(150).await;
    assert_eq!(read, (0..150).map(|value| value.to_string()).collect::<Vec<_>>());
}

pub(crate) async fn concurrent_batches_are_each_kept_together(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let calls = (0..20).map(|_| fixture.ports.produce.produce(partition.clone(), records(0..10)));
    let calls: Vec<_> = calls.map(tokio::spawn).collect();
    let mut offsets = Vec::new();
    for call in calls {
        let batch = call.await.unwrap().unwrap();
        assert!(batch.windows(2).all(|pair| pair[1] == pair[0] + 1), "{batch:?}");
        offsets.extend(batch);
    }
    offsets.sort_unstable();
    assert_eq!(offsets, (0..200).collect::<Vec<i64>>());
}

pub(crate) async fn an_unknown_topic_is_an_error_and_is_not_created(fixture: &Fixture) {
    let name = unique("missing");
    let error = fixture.ports.produce.produce(partition(&name, 0), records(0..1)).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    assert!(error.to_string().contains(&name), "{error}");
    assert_eq!(fixture.ports.admin.topics(vec![name]).await.unwrap(), [None]);
    let topic = fixture.topic(1).await;
    let error = fixture.ports.produce.produce(partition(&topic, 1), records(0..1)).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), "no such partition");
}

pub(crate) async fn a_record_that_is_too_large_is_an_error_with_its_code(fixture: &Fixture) {
    let name = unique("topic");
    let topic = bezoar::broker::NewTopic::new(&name, 1).config("max.message.bytes", "1000");
    fixture.ports.admin.create_topic(topic).await.unwrap();
    let partition = partition(&name, 0);
    let error = fixture.ports.produce.produce(partition.clone(), vec![record(&"x".repeat(2_000))]).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::MESSAGE_TOO_LARGE), "{error}");
    assert!(!error.is_retriable());
    assert_eq!(fixture.produce(&partition, vec![record("small")]).await, [0], "the next one goes through");
    assert_eq!(fixture.ports.admin.offset(partition, OffsetSpec::Latest).await.unwrap(), 1);
}
