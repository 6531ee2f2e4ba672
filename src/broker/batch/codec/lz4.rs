use std::io::{self, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::{Failed, Output};

/// Decompresses LZ4 frames, one after the other.
pub(super) fn decompress(bytes: &[u8], output: &mut Output) -> Result<(), Failed> {
    let mut decoder = FrameDecoder::new(bytes);
    loop {
        let left = decoder.get_ref().len();
        // Ends at the end of each frame.
        output.read(&mut decoder)?;
        match decoder.get_ref().len() {
            0 => return Ok(()),
            unread if unread == left => return Err(Failed::corrupt("bytes after the last frame")),
            _ => {}
        }
    }
}

/// Compresses into one frame, of the only kind that Kafka's Java client reads: blocks that stand alone.
pub(super) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}
