//! Records as they are written, to the byte.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bezoar::broker::NewTopic;
use bezoar::record::{Header, ProducerRecord, TopicPartition};

use crate::fixture::{Fixture, Owned, partition, record, unique};

pub(crate) async fn headers_keep_their_order_their_doubles_and_their_nulls(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    let header_lists = [
        vec![],
        vec![Header::null("trace")],
        vec![Header::new("trace", "")],
        vec![Header::new("z", "1"), Header::new("a", "2"), Header::new("z", "3"), Header::new("a", "2")],
        vec![Header::new("", "a header without a name"), Header::null(""), Header::new("läuft", vec![0, 0xff, 0xfe])],
        (0..300).map(|number| Header::new(format!("h{}", number % 7), number.to_string())).collect(),
        vec![Header::new("large", vec![b'x'; 100_000])],
    ];
    let bytes = [None, Some(vec![]), Some(vec![0]), Some(vec![0xff, 0xfe, 0]), Some(vec![b'x'; 70_000])];
    // -1 is left out: it is how Kafka says that there is none. So are times to come, which it refuses.
    let timestamps = [0, 1, -2, -86_400_001, 1_700_000_000_123];
    let mut written = Vec::new();
    for (number, headers) in header_lists.iter().enumerate() {
        for (key, value) in bytes.iter().zip(bytes.iter().cycle().skip(number)) {
            written.push(ProducerRecord {
                topic: "".into(),
                partition: None,
                key: key.clone().map(Into::into),
                value: value.clone().map(Into::into),
                headers: headers.clone(),
                timestamp: Some(timestamps[written.len() % timestamps.len()]),
            });
        }
    }
    // One by one and all together.
    for record in &written {
        fixture.produce(&partition, vec![record.clone()]).await;
    }
    for some in written.chunks(10) {
        fixture.produce(&partition, some.to_vec()).await;
    }
    let read = fixture.read(&partition, 0).await.records(2 * written.len()).await;
    let expected = written.iter().chain(&written).zip(0..).map(|(record, offset)| Owned {
        offset,
        timestamp: record.timestamp.unwrap(),
        key: record.key.as_deref().map(<[u8]>::to_vec),
        value: record.value.as_deref().map(<[u8]>::to_vec),
        headers: record.headers.clone(),
    });
    for (read, expected) in read.into_iter().zip(expected) {
        assert_eq!(read, expected);
    }
}

pub(crate) async fn a_record_of_five_megabytes_arrives(fixture: &Fixture) {
    let name = unique("large");
    let topic = NewTopic::new(&name, 1).replication(1).config("max.message.bytes", "8000000");
    fixture.ports.admin.create_topic(topic).await.unwrap();
    let partition = partition(&name, 0);
    let large: Vec<u8> = (0..5 << 20).map(|byte: u32| (byte % 251) as u8).collect();
    fixture.produce(&partition, vec![record("before")]).await;
    fixture.produce(&partition, vec![ProducerRecord::to("").key(vec![7; 1_000]).value(large.clone())]).await;
    fixture.produce(&partition, vec![record("after")]).await;
    // Into a feed that it is larger than.
    let reading = fixture.read_over(&fixture.ports, &partition, 0, 1 << 20).await;
    let read = reading.records(3).await;
    let large = Some(large);
    assert!(read[1].value == large && read[1].key.as_ref().is_some_and(|key| key.len() == 1_000));
    assert_eq!(read[2].value.as_deref(), Some(&b"after"[..]));
    assert_eq!(reading.problems(), []);
}

pub(crate) async fn the_time_of_appending_is_told_where_the_topic_says_so(fixture: &Fixture) {
    let partition = log_append_time(fixture).await;
    let written = now();
    for _ in 0..2 {
        let record = || ProducerRecord::to("").value("v").timestamp(5);
        fixture.produce(&partition, vec![record(), record()]).await;
    }
    let read = fixture.read(&partition, 0).await.records(4).await;
    // Clocks may differ, though not by an hour.
    let hour = 3_600_000;
    assert!(read.iter().all(|record| (record.timestamp - written).abs() < hour), "{read:?}");
}

pub(crate) async fn the_producers_time_is_told_as_documented(fixture: &Fixture) {
    let partition = log_append_time(fixture).await;
    fixture.produce(&partition, vec![ProducerRecord::to("").value("v").timestamp(5)]).await;
    assert_eq!(fixture.read(&partition, 0).await.records(1).await[0].timestamp, 5);
}

async fn log_append_time(fixture: &Fixture) -> TopicPartition {
    let name = unique("appended");
    let topic = NewTopic::new(&name, 1).replication(1).config("message.timestamp.type", "LogAppendTime");
    fixture.ports.admin.create_topic(topic).await.unwrap();
    partition(&name, 0)
}

fn now() -> i64 {
    let since: Duration = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis() as i64
}
