use std::io::Read;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::{Failed, Output};

/// The least window that a decoder must accept a block of the largest size with.
const SMALLEST_WINDOW: usize = 1 << 17;
const FRAME: u32 = 0xfd2f_b528;
/// 16 kinds of frames to skip; the length follows.
const SKIPPABLE: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;

/// Decompresses Zstandard frames, one after the other.
pub(super) fn decompress(bytes: &[u8], output: &mut Output) -> Result<(), Failed> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (&magic, after) = rest.split_first_chunk().ok_or_else(|| Failed::corrupt("a frame is cut off"))?;
        match u32::from_le_bytes(magic) {
            FRAME => rest = frame(magic, after, output)?,
            kind if SKIPPABLE.contains(&kind) => {
                rest = skip(after).ok_or_else(|| Failed::corrupt("a frame to skip is cut off"))?;
            }
            other => return Err(Failed::Corrupt(format!("a frame begins with {other:08x}"))),
        }
    }
    Ok(())
}

fn skip(bytes: &[u8]) -> Option<&[u8]> {
    let (&length, after) = bytes.split_first_chunk()?;
    after.get(usize::try_from(u32::from_le_bytes(length)).ok()?..)
}

/// Decompresses the frame that `bytes` are the rest of, and returns what follows it.
fn frame<'a>(magic: [u8; 4], bytes: &'a [u8], output: &mut Output) -> Result<&'a [u8], Failed> {
    let (head, rest) = bytes.split_first_chunk().ok_or_else(|| Failed::corrupt("a frame is cut off"))?;
    let head = bounded(*head, output.room());
    let mut source = (&magic[..]).chain(&head[..]).chain(rest);
    let mut decoder = FrameDecoder::new();
    // The window is already bounded by what it may hold.
    decoder.set_max_window_size(u64::MAX);
    decoder.init(&mut source).map_err(Failed::corrupt)?;
    // A frame of a single segment has no window: the decoder keeps as much as the size says.
    if decoder.content_size() > output.room() as u64 {
        return Err(Failed::TooLarge);
    }
    let mut finished = false;
    while !finished {
        finished = decoder.decode_blocks(&mut source, BlockDecodingStrategy::UptoBlocks(1)).map_err(Failed::corrupt)?;
        if decoder.can_collect() > output.room() {
            return Err(Failed::TooLarge);
        }
        decoder.collect_to_writer(&mut *output).map_err(Failed::corrupt)?;
    }
    Ok(source.into_inner().1)
}

/// The first two bytes of a frame's header after its magic, with a window no larger than the whole output may be: nothing
/// reaches further back, and the decoder keeps as much as the window says (producers at the highest level say 128 MiB).
fn bounded([descriptor, window]: [u8; 2], room: usize) -> [u8; 2] {
    const SINGLE_SEGMENT: u8 = 1 << 5;
    if descriptor & SINGLE_SEGMENT != 0 {
        // There is no window, but the size of the content.
        return [descriptor, window];
    }
    // The upper five bits are the power of two above 1 KiB, the lower three add eighths.
    let enough = room.max(SMALLEST_WINDOW).next_power_of_two().ilog2() as u8 - 10;
    [descriptor, window.min(enough << 3)]
}

/// Compresses into one frame.
pub(super) fn compress(bytes: &[u8]) -> Vec<u8> {
    // The one level that the encoder has; about the ratio of zstd's first.
    compress_to_vec(bytes, CompressionLevel::Fastest)
}
