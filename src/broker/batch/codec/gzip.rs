use std::io::{self, Write};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::{Failed, Output};

/// Decompresses all members of a gzip stream.
pub(super) fn decompress(bytes: &[u8], output: &mut Output) -> Result<(), Failed> {
    output.read(MultiGzDecoder::new(bytes))
}

/// Compresses into one member.
pub(super) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}
