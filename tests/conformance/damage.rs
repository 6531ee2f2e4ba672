//! Batches that are not what they say: fetched again, and then handed over as they are.

use std::time::Duration;

use bezoar::broker::{BrokerError, Compression, SourceProblem};
use bezoar::embedded::{Api, BatchWriter, Fault, FaultOn};
use bytes::Bytes;

use crate::fixture::{Fixture, Reading, partition, record, records};
use crate::tampering;

/// Where the checksum lies in a batch, and what it covers.
const CRC: usize = 17;
const COVERED: usize = 21;

type Damage = (&'static str, fn(FaultOn) -> Fault);

/// Ways in which the first batch of an answer can be damaged.
fn damages() -> Vec<Damage> {
    vec![
        ("a wrong checksum", FaultOn::wrong_crc),
        ("fewer records than none", |on| on.record_count(-1)),
        ("more records than bytes", |on| on.record_count(i32::MAX)),
        ("a record too many", |on| on.record_count(4)),
        ("a record too few", |on| on.record_count(2)),
        ("a batch shorter than its header", |on| on.batch_length(10)),
    ]
}

pub(crate) async fn embedded_damage_on_the_way_is_not_noticed(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    for (what, damage) in damages() {
        for times in [1, 3] {
            let topic = fixture.topic(1).await;
            fixture.produce(&partition(&topic, 0), records(0..3)).await;
            let fault = broker.inject(damage(Fault::on(Api::Fetch).topic(&topic).times(times)));
            fixture.produce(&partition(&topic, 0), records(3..6)).await;
            let reading = fixture.read(&partition(&topic, 0), 0).await;
            assert_eq!(reading.values(6).await, ["0", "1", "2", "3", "4", "5"], "{what}");
            assert_eq!(fault.fired(), times, "{what}");
            assert_eq!(reading.problems(), [], "{what}");
        }
    }
}

pub(crate) async fn embedded_damage_that_stays_is_handed_over_raw_and_passed(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    let three = (0..3).fold(BatchWriter::new(), |batch, _| batch.record(Some(b"key"), Some(b"value"), vec![])).build();
    broker.append_raw(&topic, 0, BatchWriter::new().record(None, Some(b"before"), vec![]).build()).unwrap();
    let reading = fixture.read(&partition(&topic, 0), 0).await;
    assert_eq!(reading.values(1).await, ["before"]);
    let fault = broker.inject(Fault::on(Api::Fetch).topic(&topic).forever().wrong_crc());
    broker.append_raw(&topic, 0, three.clone()).unwrap();
    let raw = damaged(&reading, 1, 4).await;
    fault.remove();
    assert_eq!((raw.len(), &raw[COVERED..]), (three.len(), &three[COVERED..]));
    assert_eq!(raw[CRC], !three[CRC], "as it came");
    assert!((4..20).contains(&fault.fired()), "{} fetches", fault.fired());
    fixture.produce(&partition(&topic, 0), records(4..6)).await;
    assert_eq!(reading.values(2).await, ["4", "5"]);
    assert_eq!(reading.problems(), []);
}

pub(crate) async fn embedded_what_cannot_be_decompressed_is_handed_over_raw_and_passed(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    for codec in 1..=4 {
        let topic = fixture.topic(1).await;
        fixture.produce(&partition(&topic, 0), records(0..2)).await;
        // It says that it is compressed, and is not; the checksum is right.
        let garbage =
            BatchWriter::new().record(None, Some(b"x"), vec![]).last_offset_delta(7).attributes(codec).build();
        broker.append_raw(&topic, 0, garbage.clone()).unwrap();
        fixture.produce(&partition(&topic, 0), records(2..3)).await;
        let reading = fixture.read(&partition(&topic, 0), 0).await;
        assert_eq!(reading.values(2).await, ["0", "1"]);
        let raw = damaged(&reading, 2, 10).await;
        assert_eq!(raw[CRC..], garbage[CRC..], "codec {codec}");
        assert_eq!(reading.values(1).await, ["2"], "codec {codec}");
        // Who begins in the middle of it is told of the rest.
        let reading = fixture.read(&partition(&topic, 0), 6).await;
        damaged(&reading, 6, 10).await;
        assert_eq!(reading.values(1).await, ["2"], "codec {codec}");
        assert_eq!(reading.problems(), []);
    }
}

pub(crate) async fn embedded_a_decompression_bomb_is_handed_over_raw_and_passed(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let topic = fixture.topic(1).await;
        let bomb = BatchWriter::new().record(None, Some(&vec![0; 4 << 20]), vec![]).compression(codec).build();
        assert!(bomb.len() < 1 << 20, "{codec:?}");
        broker.append_raw(&topic, 0, bomb.clone()).unwrap();
        fixture.produce(&partition(&topic, 0), records(1..2)).await;
        let ports = fixture.with(|settings| settings.max_decompressed_bytes = 1 << 20).await;
        let reading = fixture.read_over(&ports, &partition(&topic, 0), 0, 64 << 20).await;
        let raw = damaged(&reading, 0, 1).await;
        assert_eq!(raw[CRC..], bomb[CRC..], "{codec:?}");
        assert_eq!(reading.values(1).await, ["1"]);
        // With leave to be as large as that it is read.
        let reading = fixture.read(&partition(&topic, 0), 0).await;
        assert_eq!(reading.records(1).await[0].value.as_ref().map(Vec::len), Some(4 << 20), "{codec:?}");
    }
}

/// The raw bytes of the next batch, which must stand for the damaged offsets from `offset` up to `next`.
async fn damaged(reading: &Reading, offset: i64, next: i64) -> Bytes {
    let batch = reading.batch().await;
    let reason = batch.damage().unwrap_or_else(|| panic!("{batch:?} is not damaged"));
    assert!(!reason.is_empty());
    let record = batch.get(0).unwrap();
    assert_eq!((batch.len(), record.offset(), batch.next_offset()), (1, offset, next), "{reason}");
    record.value_bytes().unwrap()
}

pub(crate) async fn old_message_formats_stop_the_reading_with_a_remedy(fixture: &Fixture) {
    const MARK: &[u8] = b"<of old>";
    let topic = fixture.topic(1).await;
    fixture.produce(&partition(&topic, 0), records(0..2)).await;
    fixture.produce(&partition(&topic, 0), vec![record(std::str::from_utf8(MARK).unwrap())]).await;
    for magic in [0, 1] {
        let ports = tampering::native(fixture, move |answer: &mut [u8]| {
            let Some(mark) = answer.windows(MARK.len()).position(|window| window == MARK) else { return };
            // Before the value stand the record's length, attributes, timestamp, offset, and the lengths of key and value.
            let header = mark - 6 - 61;
            answer[header + 16] = magic;
        })
        .await;
        let reading = fixture.read_over(&ports, &partition(&topic, 0), 0, 1 << 20).await;
        let (read, problem) = reading.drained().await;
        assert_eq!(read.len(), 2);
        let SourceProblem::Failed(error @ BrokerError::Unsupported { .. }) = problem else { panic!("{problem:?}") };
        let text = error.to_string();
        assert!(text.contains(&format!("{topic}/0 at offset 2")), "{text}");
        assert!(text.contains("0.11") && text.contains("copy the topic"), "{text}");
    }
}

/// A log whose damage has no end that could be told is not read on, and not asked for again and again.
pub(crate) async fn embedded_damage_without_an_end_stops_the_reading(fixture: &Fixture) {
    let Some(broker) = &fixture.embedded else { return };
    let topic = fixture.topic(1).await;
    fixture.produce(&partition(&topic, 0), records(0..2)).await;
    let fault = broker.inject(Fault::on(Api::Fetch).topic(&topic).forever().batch_length(-1));
    let reading = fixture.read(&partition(&topic, 0), 0).await;
    let (read, problem) = reading.drained().await;
    assert_eq!(read, []);
    assert!(matches!(&problem, SourceProblem::Failed(BrokerError::Malformed { .. })), "{problem:?}");
    let fired = fault.fired();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(fault.fired(), fired);
    assert!(fired < 20, "{fired}");
}
