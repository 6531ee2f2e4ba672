mod codecs;
mod damage;
mod decoding;
mod java;
mod peers;
mod round_trip;
mod transactions;

use bytes::Bytes;

use super::decode::Decoded;
use super::*;
use crate::record::{Record, RecordBatch, TopicPartition};

const COMPRESSIONS: [Compression; 5] =
    [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

fn orders() -> TopicPartition {
    TopicPartition::new("orders", 3)
}

/// Decodes from `from` on, with defaults.
fn decode_from(records: &Bytes, from: i64) -> Decoded {
    decode_with(records, |decoding| decoding.from = from)
}

fn decode_with(records: &Bytes, set: impl FnOnce(&mut Decoding<'_>)) -> Decoded {
    let partition = orders();
    let mut decoding = Decoding {
        partition: &partition,
        topic_id: None,
        from: 0,
        aborted: None,
        max_decompressed: 1 << 20,
        room: usize::MAX,
        share: Share { of: 0 },
    };
    set(&mut decoding);
    decode(records, decoding)
}

/// The batches one after the other, each with its base offset set as a broker of leader epoch 5 does.
fn log(batches: &[(i64, BatchWriter)]) -> Bytes {
    let mut bytes = Vec::new();
    for (base_offset, writer) in batches {
        let mut batch = writer.clone().build().to_vec();
        let mut header = BatchHeader::check(&batch).unwrap();
        header.set_base(&mut batch, *base_offset, 5);
        bytes.extend(batch);
    }
    bytes.into()
}

/// A batch of `count` records whose keys are `key0`, `key1` and so on, and whose values are 100 bytes.
fn batch(count: usize) -> BatchWriter {
    (0..count).fold(BatchWriter::new(), |batch, index| {
        batch.record(Some(format!("key{index}").as_bytes()), Some(&[b'v'; 100]), Vec::new())
    })
}

fn records(decoded: &Decoded) -> Vec<Record> {
    decoded.batches.iter().flat_map(RecordBatch::iter).collect()
}

fn offsets(decoded: &Decoded) -> Vec<i64> {
    records(decoded).iter().map(Record::offset).collect()
}

/// Renews the CRC after a change to the only batch in `batch`.
fn repair(batch: &mut [u8]) {
    let crc = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
}
