use std::io;

use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use super::{Failed, Output};

/// The framing of the Java library (xerial): this, two versions of four bytes, then blocks behind their length.
const MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
const VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
const HEADER_LENGTH: usize = MAGIC.len() + VERSIONS.len();

/// The Java library's block size.
const BLOCK_SIZE: usize = 32 << 10;

/// Decompresses a raw block of snappy, or blocks in the framing of the Java library.
pub(super) fn decompress(bytes: &[u8], output: &mut Output) -> Result<(), Failed> {
    if !bytes.starts_with(&MAGIC) {
        return block(bytes, output);
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        // Framed streams may follow each other.
        if rest.starts_with(&MAGIC) {
            rest = rest.get(HEADER_LENGTH..).ok_or_else(|| Failed::corrupt("the header is cut off"))?;
            continue;
        }
        let (&length, after) = rest.split_first_chunk().ok_or_else(|| Failed::corrupt("a length is cut off"))?;
        let length = usize::try_from(i32::from_be_bytes(length)).ok();
        let parts = length.and_then(|length| after.split_at_checked(length));
        let (compressed, after) = parts.ok_or_else(|| Failed::corrupt("a block is longer than its bytes"))?;
        block(compressed, output)?;
        rest = after;
    }
    Ok(())
}

fn block(compressed: &[u8], output: &mut Output) -> Result<(), Failed> {
    if compressed.is_empty() {
        return Ok(());
    }
    let length = decompress_len(compressed).map_err(Failed::corrupt)?;
    // Snappy makes at most 64 bytes of 3; memory is not taken for what is only announced.
    if length / 22 > compressed.len() {
        return Err(Failed::corrupt("a block states a length that its bytes cannot come to"));
    }
    if length > output.room() {
        return Err(Failed::TooLarge);
    }
    let start = output.bytes.len();
    output.bytes.resize(start + length, 0);
    let written = Decoder::new().decompress(compressed, &mut output.bytes[start..]).map_err(Failed::corrupt)?;
    if written == length { Ok(()) } else { Err(Failed::corrupt("a block is shorter than it states")) }
}

/// Compresses in the framing of the Java library, which all clients read.
pub(super) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = Encoder::new();
    let mut output = [MAGIC, VERSIONS].concat();
    for block in bytes.chunks(BLOCK_SIZE) {
        let start = output.len() + 4;
        output.resize(start + max_compress_len(block.len()), 0);
        let length = encoder.compress(block, &mut output[start..])?;
        output[start - 4..start].copy_from_slice(&(length as u32).to_be_bytes());
        output.truncate(start + length);
    }
    Ok(output)
}
