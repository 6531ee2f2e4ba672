//! From a record to a handler's message.

use bezoar::record::Record;
use bezoar::{Decoder, Json, Raw, Utf8};
use divan::Bencher;
use divan::counter::ItemsCount;
use futures_util::FutureExt;
use serde::Deserialize;

use super::support::records::{self, Order};

const RECORDS: usize = 1_000;

/// Decodes records of about 100 bytes; the built-in decoders never wait.
fn decode<M, D: Decoder<M>>(bencher: Bencher<'_, '_>, mut decoder: D) {
    let records: Vec<Record> = records::some(RECORDS);
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        for record in &records {
            divan::black_box_drop(decoder.decode(record).now_or_never().and_then(Result::ok).expect("it decodes"));
        }
    });
}

#[divan::bench]
fn raw(bencher: Bencher<'_, '_>) {
    decode::<Record, _>(bencher, Raw);
}

#[divan::bench]
fn utf8(bencher: Bencher<'_, '_>) {
    decode::<String, _>(bencher, Utf8);
}

#[divan::bench]
fn json(bencher: Bencher<'_, '_>) {
    decode::<Order, _>(bencher, Json);
}

/// An order whose items aren't a list: an error, which names the field after a second look.
#[derive(Deserialize)]
struct Misfit {
    #[allow(dead_code)] // decoding fails here
    items: u32,
}

#[divan::bench]
fn json_that_does_not_fit(bencher: Bencher<'_, '_>) {
    let records: Vec<Record> = records::some(RECORDS);
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        for record in &records {
            let decoded: Option<Result<Misfit, _>> = Json.decode(record).now_or_never();
            divan::black_box_drop(decoded.and_then(Result::err).expect("it does not fit"));
        }
    });
}
