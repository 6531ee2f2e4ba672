//! What the rskafka adapter cannot do, and how it says so.

use bezoar::broker::{BrokerError, SourceProblem};
use bezoar::embedded::BatchWriter;
use bezoar::record::{Header, ProducerRecord};
use bytes::Bytes;

use crate::fixture::{Fixture, Reading, partition, records};
use crate::wire;

/// Waits for the end of the reading, and returns what it says.
async fn failure(reading: &Reading) -> String {
    let failed = |problem: &SourceProblem| matches!(problem, SourceProblem::Failed(_));
    let problems = reading.until(|problems| problems.iter().any(failed)).await;
    let [SourceProblem::Failed(error @ BrokerError::Unsupported { .. })] = &problems[..] else {
        panic!("{problems:?}")
    };
    error.to_string()
}

pub(crate) async fn a_null_header_stops_the_reading_after_what_is_before_it(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..3)).await;
    fixture.produce(&partition, records(3..5)).await;
    let batch = BatchWriter::new().record(None, Some(b"x"), vec![Header::null("trace")]).build();
    assert_eq!(wire::produce(&fixture.address, &topic, None, batch).await, 5);
    let reading = fixture.read(&partition, 0).await;
    assert_eq!(reading.values(5).await, ["0", "1", "2", "3", "4"]);
    let text = failure(&reading).await;
    assert!(text.contains(&format!("{topic}/0 at offset 5")), "{text}");
    assert!(text.contains("native adapter") && text.contains("docs/limits.md"), "{text}");
}

pub(crate) async fn an_unknown_compression_stops_the_reading_with_a_remedy(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let partition = partition(&topic, 0);
    fixture.produce(&partition, records(0..1)).await;
    assert_eq!(wire::produce(&fixture.address, &topic, None, lz4_batch()).await, 1);
    let reading = fixture.read(&partition, 0).await;
    assert_eq!(reading.values(1).await, ["0"]);
    let text = failure(&reading).await;
    assert!(text.contains(&format!("{topic}/0 at offset 1")) && text.contains("Lz4"), "{text}");
}

/// A batch compressed with lz4: a frame of one stored block, as a producer may send it.
fn lz4_batch() -> Bytes {
    const HEADER: usize = 61;
    let mut batch =
        BatchWriter::new().timestamp(1_700_000_000_000).record(None, Some(b"x"), vec![]).attributes(3).build().to_vec();
    let records = batch.split_off(HEADER);
    // Magic, version 1 with independent blocks of up to 64 KiB, and the checksum that belongs to these two bytes.
    batch.extend([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
    batch.extend((records.len() as u32 | 1 << 31).to_le_bytes());
    batch.extend(records);
    batch.extend(0u32.to_le_bytes());
    // The length counts what follows it, the checksum covers what follows that.
    let length = batch.len() as u32 - 12;
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    let checksum = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&checksum.to_be_bytes());
    batch.into()
}

pub(crate) async fn headers_that_cannot_be_written_are_named(fixture: &Fixture) {
    let topic = fixture.topic(1).await;
    let mut with_null = ProducerRecord::to("");
    with_null.headers.push(Header::null("trace"));
    let twice = ProducerRecord::to("").header("trace", "1").header("trace", "2");
    for record in [with_null, twice] {
        let error = fixture.ports.produce.produce(partition(&topic, 0), vec![record]).await.unwrap_err();
        assert!(matches!(error, BrokerError::Unwritable { .. }), "{error}");
        assert!(error.to_string().contains("\"trace\"") && !error.is_retriable(), "{error}");
    }
}
