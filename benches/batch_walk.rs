//! What a record costs from a broker's answer to a handler's eyes: the CRC alone, decoding, and reading each key, value and
//! header; for each codec. One answer holds 5,000 records of about 210 bytes with two headers, in batches of 75.
//!
//! `cargo bench --bench batch_walk`; the throughput is in records.

use std::hint::black_box;

use bezoar::broker::{Compression, decode_answer};
use bezoar::embedded::BatchWriter;
use bezoar::record::{Header, RecordBatch};
use bytes::Bytes;
use divan::Bencher;
use divan::counter::ItemsCount;

const RECORDS: i64 = 5_000;
const PER_BATCH: i64 = 75;
const COMPRESSIONS: [Compression; 5] =
    [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

fn main() {
    divan::main();
}

/// Batches one after the other, as a log holds them.
fn answer(compression: Compression) -> Bytes {
    let mut bytes = Vec::new();
    for base in (0..RECORDS).step_by(PER_BATCH as usize) {
        let mut writer = BatchWriter::new().timestamp(1_790_000_000_000).compression(compression);
        for offset in base..(base + PER_BATCH).min(RECORDS) {
            writer = writer.record(
                Some(format!("k{offset:09}").as_bytes()),
                Some(value(offset).as_bytes()),
                vec![Header::new("trace-id", format!("{offset:016x}")), Header::new("source", "lab")],
            );
        }
        let mut batch = writer.build().to_vec();
        batch[..8].copy_from_slice(&base.to_be_bytes());
        bytes.extend(batch);
    }
    bytes.into()
}

fn value(offset: i64) -> String {
    let mixed = (offset as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!(
        r#"{{"order":{offset},"customer":"{mixed:016x}","items":[{{"sku":"A-{:04}","count":{}}}],"note":"{}"}}"#,
        mixed % 10_000,
        mixed % 7,
        "deliver to the back door; ".repeat(3),
    )
}

fn decode(answer: &Bytes, copy: bool) -> Vec<RecordBatch> {
    decode_answer(answer, 0, Some(&[]), 128 << 20, copy).0
}

#[divan::bench]
fn crc_only(bencher: Bencher<'_, '_>) {
    let answer = answer(Compression::None);
    bencher.counter(ItemsCount::new(RECORDS as usize)).bench(|| crc32c::crc32c(black_box(&answer)));
}

#[divan::bench(args = COMPRESSIONS)]
fn decoded(bencher: Bencher<'_, '_>, compression: Compression) {
    let answer = answer(compression);
    bencher.counter(ItemsCount::new(RECORDS as usize)).bench(|| decode(black_box(&answer), false));
}

#[divan::bench]
fn decoded_and_copied(bencher: Bencher<'_, '_>) {
    let answer = answer(Compression::None);
    bencher.counter(ItemsCount::new(RECORDS as usize)).bench(|| decode(black_box(&answer), true));
}

#[divan::bench]
fn decoded_and_all_read(bencher: Bencher<'_, '_>) {
    let answer = answer(Compression::None);
    bencher.counter(ItemsCount::new(RECORDS as usize)).bench(|| read_all(&decode(black_box(&answer), false)));
}

/// The records alone, decoded before.
#[divan::bench]
fn all_read(bencher: Bencher<'_, '_>) {
    let batches = decode(&answer(Compression::None), false);
    bencher.counter(ItemsCount::new(RECORDS as usize)).bench(|| read_all(black_box(&batches)));
}

/// Looks at the last byte of each part, so that all of them are fetched into the cache.
fn read_all(batches: &[RecordBatch]) -> usize {
    let last = |bytes: Option<&[u8]>| bytes.and_then(<[u8]>::last).copied().map_or(0, usize::from);
    let mut sum = 0;
    for record in batches.iter().flat_map(RecordBatch::iter) {
        sum += last(record.key()) + last(record.value());
        for header in record.headers() {
            sum += last(Some(header.name)) + last(header.value);
        }
    }
    sum
}
