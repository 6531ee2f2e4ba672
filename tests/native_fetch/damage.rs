//! Batches that cannot be read: fetched again, and then handed over as they are, or reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bezoar::broker::{BrokerError, SourceProblem};
use bezoar::embedded::BatchWriter;
use bytes::BytesMut;

use crate::reader::{Reading, append, broker, numbers, orders};
use crate::spy::Spy;

const MARK: &[u8] = b"<target>";

/// Changes a byte of the marked record in each of the first answers that hold it; returns how many did.
fn flip(spy: &Spy, times: usize) -> Arc<AtomicUsize> {
    let met = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&met);
    spy.tamper(move |frame: &mut BytesMut| {
        let Some(place) = frame.windows(MARK.len()).position(|window| window == MARK) else { return };
        if counter.fetch_add(1, Ordering::SeqCst) < times {
            frame[place] ^= 1;
        }
    });
    met
}

#[tokio::test]
async fn damage_on_the_way_is_fetched_again_and_not_noticed() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), numbers(0..3));
    append(&broker, &orders(0), [MARK]);
    append(&broker, &orders(0), numbers(4..8));
    let met = flip(&spy, 3);
    let reading = Reading::begin(&source, &broker, &orders(0), 0);
    let values = reading.values(8, 0).await;
    assert_eq!((values[3].as_bytes(), &values[4..]), (MARK, &numbers(4..8)[..]));
    assert_eq!(met.load(Ordering::SeqCst), 4);
    assert_eq!(reading.problems(), []);
}

#[tokio::test]
async fn damage_in_the_log_is_handed_over_raw_and_passed() {
    let broker = broker().await;
    for version in [11, 17] {
        let spy = Spy::on(&broker).most_fetch(version);
        let source = spy.source(|_| {}).await;
        let start = broker.end_offset("orders", 0).unwrap();
        append(&broker, &orders(0), numbers(0..3));
        append(&broker, &orders(0), [MARK]);
        append(&broker, &orders(0), numbers(4..8));
        let met = flip(&spy, usize::MAX);
        let reading = Reading::begin(&source, &broker, &orders(0), start);
        assert_eq!(reading.values(3, start).await, numbers(0..3));
        let damaged = reading.batch().await;
        assert!(damaged.damage().is_some_and(|reason| reason.contains("CRC")), "{:?}", damaged.damage());
        assert_eq!((damaged.len(), damaged.next_offset()), (1, start + 4));
        let record = damaged.get(0).unwrap();
        assert_eq!(record.offset(), start + 3);
        assert!(record.value().unwrap().windows(7).any(|window| window == &MARK[1..]), "all of its bytes");
        assert_eq!(reading.values(4, start + 4).await, numbers(4..8));
        assert_eq!(met.load(Ordering::SeqCst), 4, "once, and three times more");
        assert_eq!(reading.problems(), []);
    }
}

#[tokio::test]
async fn damage_disturbs_no_other_partition() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), [MARK]);
    append(&broker, &orders(1), numbers(0..8));
    flip(&spy, usize::MAX);
    let damaged = Reading::begin(&source, &broker, &orders(0), 0);
    let other = Reading::begin(&source, &broker, &orders(1), 0);
    assert_eq!(other.values(8, 0).await, numbers(0..8));
    assert!(damaged.batch().await.damage().is_some());
    append(&broker, &orders(0), ["behind"]);
    assert_eq!(damaged.values(1, 1).await, ["behind"]);
}

#[tokio::test]
async fn an_unknown_codec_stops_the_reading_behind_what_is_before_it() {
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|_| {}).await;
    append(&broker, &orders(0), numbers(0..3));
    let unknown = BatchWriter::new().record(None, Some(b"x"), vec![]).attributes(7).build();
    broker.append_raw("orders", 0, unknown).unwrap();
    append(&broker, &orders(0), numbers(4..5));
    let reading = Reading::begin(&source, &broker, &orders(0), 0);
    assert_eq!(reading.values(3, 0).await, numbers(0..3));
    let problem = reading.stopped().await;
    let SourceProblem::Failed(BrokerError::Unsupported { doing, remedy }) = &problem else { panic!("{problem:?}") };
    assert!(doing.contains("orders/0 at offset 3"), "{doing}");
    assert!(remedy.contains("offset"), "says what to do: {remedy}");
    assert!(reading.feed.front().is_none());
}

#[tokio::test]
async fn a_batch_that_decompresses_to_too_much_is_handed_over_raw() {
    use std::io::Write;
    let broker = broker().await;
    let spy = Spy::on(&broker);
    let source = spy.source(|settings| settings.max_decompressed_bytes = 10_000).await;
    // A batch of one record of a million zeros, gzipped.
    let plain = BatchWriter::new().record(None, Some(&vec![0; 1_000_000]), vec![]).build();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain[61..]).unwrap();
    let mut batch = [&plain[..61], &gzip.finish().unwrap()].concat();
    let length = batch.len() as i32 - 12;
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    batch[22] |= 1;
    let crc = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    broker.append_raw("orders", 0, batch.into()).unwrap();
    append(&broker, &orders(0), ["behind"]);
    let reading = Reading::begin(&source, &broker, &orders(0), 0);
    let large = reading.batch().await;
    assert!(large.damage().is_some(), "{large:?}");
    assert!(large.cost() < 20_000);
    assert_eq!(reading.values(1, 1).await, ["behind"]);
}
