use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::broker::batch::codec::{CodecError, compress, decompress};

const LIMIT: usize = 1 << 20;

fn too_large(codec: i16, bomb: &[u8]) {
    assert_eq!(decompress(codec, bomb, LIMIT), Err(CodecError::TooLarge(LIMIT)));
}

fn compressed(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    compress(compression, bytes).expect("smaller")
}

#[test]
fn bombs_end_at_the_bound() {
    let began = Instant::now();
    let before = memory();
    let zeros = vec![0; 4 << 20];
    for compression in &COMPRESSIONS[1..] {
        let part = compressed(*compression, &zeros);
        too_large(compression.codec(), &part);
        // A gigabyte and more.
        too_large(compression.codec(), &part.repeat(300));
    }
    // Blocks of 128 KiB out of four bytes each, in frames whose window, or size, is as large as can be.
    let blocks = [0x02, 0, 0x10, 0].repeat(1 << 16);
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    too_large(4, &[&magic[..], &[0, 0xff], &blocks].concat());
    too_large(4, &[&magic[..], &[0xe0], &[0, 0, 0, 0, 0, 1, 0, 0], &blocks].concat());
    // Frames that hold nothing take time, not memory.
    let nothing = [&magic[..], &[0, 0x58], &[1, 0, 0]].concat().repeat(10_000);
    assert_eq!(decompress(4, &nothing, LIMIT), Ok(vec![]));
    // Announced and not there.
    let announced = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0];
    assert!(matches!(decompress(2, &announced, usize::MAX >> 1), Err(CodecError::Corrupt("snappy", _))));
    if let (Some(before), Some(after)) = (before, memory()) {
        assert!(after - before < 200 << 20, "the most memory used rose from {before} to {after} bytes");
    }
    assert!(began.elapsed() < Duration::from_secs(120));
}

/// The most memory that this process ever used, in bytes, where the system tells.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

#[test]
fn output_of_just_the_bound_is_allowed() {
    let bytes: Vec<u8> = (0..LIMIT).map(|index| (index / 100) as u8).collect();
    for compression in &COMPRESSIONS[1..] {
        let small = compressed(*compression, &bytes);
        assert_eq!(decompress(compression.codec(), &small, LIMIT), Ok(bytes.clone()));
        assert_eq!(decompress(compression.codec(), &small, LIMIT - 1), Err(CodecError::TooLarge(LIMIT - 1)));
    }
}

#[test]
fn members_frames_and_streams_may_follow_each_other() {
    for compression in &COMPRESSIONS[1..] {
        let parts = [b"a".repeat(100_000), b"b".repeat(500)];
        let small: Vec<u8> = parts.iter().flat_map(|part| compressed(*compression, part)).collect();
        assert_eq!(decompress(compression.codec(), &small, LIMIT), Ok(parts.concat()), "{compression:?}");
    }
}

#[test]
fn snappy_is_read_with_and_without_the_framing_of_java() {
    let bytes = b"record".repeat(1000);
    let raw = snap::raw::Encoder::new().compress_vec(&bytes).unwrap();
    assert_eq!(decompress(2, &raw, LIMIT), Ok(bytes.clone()));
    let framed = compressed(Compression::Snappy, &bytes);
    assert_eq!(framed[..16], *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01");
    assert_eq!(framed[16..20], (raw.len() as u32).to_be_bytes());
    assert_eq!(framed[20..], raw);
}

#[test]
fn zstd_frames_to_skip_are_skipped() {
    let bytes = b"record".repeat(1000);
    let skip = [0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let frames = [&skip[..], &compressed(Compression::Zstd, &bytes), &skip].concat();
    assert_eq!(decompress(4, &frames, LIMIT), Ok(bytes));
    assert!(matches!(decompress(4, &skip[..10], LIMIT), Err(CodecError::Corrupt("zstd", _))));
}

proptest! {
    #[test]
    fn anything_is_decompressed_without_a_panic(
        codec in 1i16..5,
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        magic: bool,
    ) {
        let compression = COMPRESSIONS[codec as usize];
        let mut bytes = if magic { compressed(compression, &[&bytes[..], &[0; 2000]].concat()) } else { bytes };
        for (at, byte) in changes {
            let length = bytes.len().max(1);
            if let Some(changed) = bytes.get_mut(at % length) {
                *changed = byte;
            }
        }
        if let Ok(output) = decompress(codec, &bytes, 1000) {
            prop_assert!(output.len() <= 1000);
        }
    }
}
