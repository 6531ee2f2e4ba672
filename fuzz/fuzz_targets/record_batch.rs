//! Answers to fetches of any content are decoded, or refused, without a panic: offsets ascend, nothing below what was
//! asked for comes, batches that are whole are read whole, and no more memory is used than allowed.

#![no_main]

use bezoar::broker::{Compression, decode_answer};
use bezoar::embedded::BatchWriter;
use bezoar::record::{Header, Record, RecordBatch};
use bytes::Bytes;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

/// More than what the fuzzer sends comes to uncompressed, and little for what it can be made to decompress to.
const MAX_DECOMPRESSED: usize = 1 << 16;

#[derive(Debug, Arbitrary)]
struct Input {
    parts: Vec<Part>,
    from: u16,
    aborted: Option<Vec<(i8, u16)>>,
}

#[derive(Debug, Arbitrary)]
enum Part {
    /// Bytes at random.
    Bytes(Vec<u8>),
    /// A batch, with some bytes changed, and made consistent again or not.
    Batch { records: Vec<Content>, codec: u8, producer: i8, attributes: u8, changes: Vec<(u16, u8)>, repair: bool },
    /// A batch whose records are bytes at random, compressed or as if they were.
    Body { count: u8, codec: u8, bytes: Vec<u8> },
    /// A transaction marker.
    Marker { producer: i8, committed: bool },
}

#[derive(Debug, Arbitrary)]
struct Content {
    step: u8,
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Part {
    /// Its bytes, at `base`, and how many offsets they cover if nothing was changed.
    fn build(&self, base: i64) -> (Vec<u8>, i64) {
        let (bytes, covered) = match self {
            Self::Bytes(bytes) => return (bytes.clone(), 0),
            Self::Batch { records, codec, producer, attributes, .. } => {
                let mut writer =
                    BatchWriter::new().producer(i64::from(*producer), 0, 0).compression(compression(*codec));
                let mut delta = -1;
                for record in records {
                    delta += 1 + i32::from(record.step);
                    let header = |(name, value): &(Vec<u8>, Option<Vec<u8>>)| Header {
                        name: name.clone().into(),
                        value: value.clone().map(Bytes::from),
                    };
                    let headers = record.headers.iter().map(header).collect();
                    let (key, value) = (record.key.as_deref(), record.value.as_deref());
                    writer = writer.timestamp(record.timestamp).record_at(delta, key, value, headers);
                }
                // Time type, transactional, control, delete horizon.
                let writer = writer.attributes(i16::from(attributes & 0x78));
                (writer.build().to_vec(), i64::from(delta.max(0)) + 1)
            }
            Self::Body { count, codec, bytes } => {
                let empty = BatchWriter::new().attributes(i16::from(codec & 7)).last_offset_delta(255).build();
                let mut batch = [&empty[..], bytes].concat();
                batch[60] = *count;
                repair(&mut batch);
                (batch, 256)
            }
            Self::Marker { producer, committed } => {
                (BatchWriter::marker(i64::from(*producer), 0, *committed).build().to_vec(), 1)
            }
        };
        let mut bytes = bytes;
        bytes[..8].copy_from_slice(&base.to_be_bytes());
        if let Self::Batch { changes, repair: repaired, .. } = self {
            for (at, byte) in changes {
                let at = usize::from(*at) % bytes.len();
                bytes[at] = *byte;
            }
            if *repaired {
                repair(&mut bytes);
            }
        }
        (bytes, covered)
    }

    fn is_whole(&self) -> bool {
        matches!(self, Self::Batch { changes, .. } if changes.is_empty()) || matches!(self, Self::Marker { .. })
    }
}

fn compression(codec: u8) -> Compression {
    let all = [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
    all[usize::from(codec) % all.len()]
}

/// Gives a batch the length, the format version and the checksum that chance would never find.
fn repair(batch: &mut [u8]) {
    let length = batch.len() as u32 - 12;
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    batch[16] = 2;
    let checksum = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&checksum.to_be_bytes());
}

/// Reads every part of every record.
fn read(batches: &[RecordBatch]) -> Vec<(i64, i64, Option<Bytes>, Option<Bytes>, Vec<Header>)> {
    let parts = |record: Record| {
        assert!(record.headers().len() <= MAX_DECOMPRESSED);
        (record.offset(), record.timestamp(), record.key_bytes(), record.value_bytes(), record.headers().to_vec())
    };
    batches.iter().flat_map(RecordBatch::iter).map(parts).collect()
}

fuzz_target!(|input: Input| {
    let mut bytes = Vec::new();
    let mut base = 0;
    for part in &input.parts {
        let (part, covered) = part.build(base);
        bytes.extend(part);
        base += covered;
    }
    let bytes = Bytes::from(bytes);
    let from = i64::from(input.from);
    let aborted: Option<Vec<(i64, i64)>> =
        input.aborted.as_ref().map(|list| list.iter().map(|&(id, first)| (id.into(), first.into())).collect());

    let (batches, next_offset) = decode_answer(&bytes, from, aborted.as_deref(), MAX_DECOMPRESSED, false);
    let records = read(&batches);
    assert!(records.is_sorted_by(|left, right| left.0 < right.0));
    assert!(records.iter().all(|record| (from..next_offset).contains(&record.0)));
    assert!(batches.is_sorted_by(|left, right| left.next_offset() < right.next_offset()));
    assert!(batches.last().is_none_or(|last| last.next_offset() == next_offset));

    if input.parts.iter().all(Part::is_whole) {
        assert_eq!(next_offset, base.max(from), "everything was read");
    }

    let (copied, copied_to) = decode_answer(&bytes, from, aborted.as_deref(), MAX_DECOMPRESSED, true);
    assert_eq!((read(&copied), copied_to), (records, next_offset));
    let held: usize = copied.iter().map(RecordBatch::cost).sum();
    let most = input.parts.len() * MAX_DECOMPRESSED + bytes.len();
    assert!(held <= most * 8, "{held} bytes held for {} sent", bytes.len());
});
