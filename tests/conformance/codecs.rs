//! Compressed batches, of our own producer and of Kafka's Java client.

use std::process::Stdio;
use std::time::Duration;

use bezoar::broker::{Compression, Plane};
use bezoar::record::{Header, ProducerRecord};
use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use tokio::process::Command;

use crate::fixture::{Fixture, Owned, partition, settings, unique};
use crate::wire;

const RECORDS: usize = 300;

pub(crate) async fn what_our_producer_compresses_is_read(fixture: &Fixture) {
    let codecs = [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
    our_own(fixture, &codecs).await;
}

pub(crate) async fn gzip_and_snappy_of_the_native_producer_are_read(fixture: &Fixture) {
    our_own(fixture, &[Compression::None, Compression::Gzip, Compression::Snappy]).await;
}

pub(crate) async fn what_java_compresses_is_read(fixture: &Fixture) {
    javas(fixture, true, &["none", "gzip", "snappy", "lz4", "zstd"]).await;
}

pub(crate) async fn gzip_and_snappy_of_java_are_read(fixture: &Fixture) {
    javas(fixture, false, &["none", "gzip", "snappy"]).await;
}

async fn our_own(fixture: &Fixture, codecs: &[Compression]) {
    for &codec in codecs {
        let topic = fixture.topic(1).await;
        let partition = partition(&topic, 0);
        let mut settings = settings(&fixture.address);
        settings.produce.compression = codec;
        let producer = Plane::Native.connect(settings).await.unwrap().produce;
        let written: Vec<_> = (0..RECORDS)
            .map(|number| {
                let value = format!("value {number} {}", "läuft ".repeat(number));
                let record = ProducerRecord::to("").timestamp(1_700_000_000_000 + number as i64).value(value);
                record.key(format!("key {number}")).header("number", number.to_string())
            })
            .collect();
        producer.produce(partition.clone(), written.clone()).await.unwrap();
        assert_eq!(codec_of(fixture, &topic).await, codec as u8, "{codec:?}");
        let read = fixture.read(&partition, 0).await.records(RECORDS).await;
        for (read, written) in read.iter().zip(written) {
            assert_eq!(Some(read.timestamp), written.timestamp, "{codec:?}");
            assert_eq!(read.key.as_deref(), written.key.as_deref(), "{codec:?}");
            assert_eq!(read.value.as_deref(), written.value.as_deref(), "{codec:?}");
            assert_eq!(read.headers, written.headers, "{codec:?}");
        }
    }
}

async fn javas(fixture: &Fixture, all_headers: bool, codecs: &[&str]) {
    let Ok(libs) = std::env::var("KAFKA_LIBS") else {
        println!("skipped: KAFKA_LIBS is not set");
        return;
    };
    let prefix = unique("java");
    for codec in codecs {
        fixture.create(&format!("{prefix}-{codec}"), 1).await;
    }
    let mut command = Command::new("java");
    command.args(["-cp", &format!("{libs}/*"), "tests/conformance/Codecs.java", &fixture.address, &prefix]);
    command.arg(all_headers.to_string()).args(codecs);
    let run = command.stdin(Stdio::null()).kill_on_drop(true).output();
    // A JVM on a loaded machine takes its time.
    let output = tokio::time::timeout(Duration::from_secs(180), run).await.expect("Java ends").unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (number, codec) in (0u8..).zip(codecs) {
        let topic = format!("{prefix}-{codec}");
        assert_eq!(codec_of(fixture, &topic).await, number, "{codec}");
        let read = fixture.read(&partition(&topic, 0), 0).await.records(RECORDS).await;
        assert_eq!(read, (0..RECORDS).map(|number| of_java(number, all_headers)).collect::<Vec<_>>(), "{codec}");
    }
}

/// A record as the Java program writes it.
fn of_java(number: usize, all_headers: bool) -> Owned {
    let mut headers = vec![Header::new("number", number.to_string())];
    if all_headers {
        headers.extend([Header::null("a"), Header::new("number", "")]);
    }
    Owned {
        offset: number as i64,
        timestamp: 1_700_000_000_000 + number as i64,
        key: match number % 3 {
            0 => None,
            1 => Some(Vec::new()),
            _ => Some(format!("key {number}").into_bytes()),
        },
        value: (!number.is_multiple_of(5)).then(|| format!("value {number} {}", "läuft ".repeat(number)).into_bytes()),
        headers,
    }
}

/// The codec of the first batch of a topic's log, by the number that it has in the protocol.
async fn codec_of(fixture: &Fixture, topic: &str) -> u8 {
    let wanted = FetchPartition::default().with_partition(0).with_fetch_offset(0).with_partition_max_bytes(1);
    let topic = FetchTopic::default().with_topic(wire::name(topic)).with_partitions(vec![wanted]);
    let request = FetchRequest::default().with_max_wait_ms(100).with_max_bytes(1).with_topics(vec![topic]);
    let answer = wire::call(&fixture.address, request, 4).await;
    let records = answer.responses[0].partitions[0].records.clone().unwrap();
    // The low bits of the attributes, of which the second byte follows the checksum by one.
    records[22] & 7
}
