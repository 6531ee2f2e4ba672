//! The codecs of record batches, in pure Rust. Each stops as soon as the output passes its bound: a few bytes can be made to
//! decompress to gigabytes.

mod compression;
mod gzip;
mod lz4;
mod snappy;
mod zstd;

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use compression::Compression;

/// Why bytes were not decompressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CodecError {
    #[error(
        "the records decompress to more than {0} bytes; raise the most that a batch may decompress to \
         (max_decompressed_bytes), if they are to be read"
    )]
    TooLarge(usize),
    #[error("the records cannot be decompressed with {0}: {1}")]
    Corrupt(&'static str, String),
    #[error("the records are compressed with codec {0}, which is not known")]
    Unknown(i16),
}

/// Decompresses all of the bytes into the output, or stops at its limit.
type Decoder = fn(&[u8], &mut Output) -> Result<(), Failed>;

/// Decompresses `bytes` to at most `limit` bytes, as the codec of that number in a batch's attributes says.
pub(crate) fn decompress(codec: i16, bytes: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    let (name, decoder): (_, Decoder) = match codec {
        1 => ("gzip", gzip::decompress),
        2 => ("snappy", snappy::decompress),
        3 => ("lz4", lz4::decompress),
        4 => ("zstd", zstd::decompress),
        other => return Err(CodecError::Unknown(other)),
    };
    let mut output = Output { bytes: Vec::new(), limit };
    // The decoders are not ours and the bytes anybody's: a panic in them must not end the reader.
    let decompressed = catch_unwind(AssertUnwindSafe(|| decoder(bytes, &mut output)))
        .unwrap_or_else(|_| Err(Failed::Corrupt("the decoder panicked".to_owned())));
    match decompressed {
        Ok(()) => Ok(output.trimmed()),
        Err(Failed::TooLarge) => Err(CodecError::TooLarge(limit)),
        Err(Failed::Corrupt(cause)) => Err(CodecError::Corrupt(name, cause)),
    }
}

/// Compresses `bytes`; `None` if they are not to be, or can't be made smaller than they are.
pub(super) fn compress(compression: Compression, bytes: &[u8]) -> Option<Vec<u8>> {
    let compressed = match compression {
        Compression::None => return None,
        Compression::Gzip => gzip::compress(bytes),
        Compression::Snappy => snappy::compress(bytes),
        Compression::Lz4 => lz4::compress(bytes),
        Compression::Zstd => Ok(zstd::compress(bytes)),
    };
    // Writing to memory cannot fail; if it ever did, the records would be sent as they are.
    compressed.ok().filter(|compressed| compressed.len() < bytes.len())
}

/// Why a decoder stopped.
#[derive(Debug)]
enum Failed {
    TooLarge,
    Corrupt(String),
}

impl Failed {
    fn corrupt(cause: impl ToString) -> Self {
        Self::Corrupt(cause.to_string())
    }
}

/// Decompressed bytes, up to a limit.
struct Output {
    bytes: Vec<u8>,
    limit: usize,
}

impl Output {
    /// How many bytes there is room for.
    fn room(&self) -> usize {
        self.limit - self.bytes.len()
    }

    /// Reads `source` to its end.
    fn read(&mut self, source: impl Read) -> Result<(), Failed> {
        let room = self.room();
        // One byte more tells output that is too large from output that just fits.
        match source.take(room as u64 + 1).read_to_end(&mut self.bytes) {
            Ok(read) if read <= room => Ok(()),
            Ok(_) => Err(Failed::TooLarge),
            Err(error) => Err(Failed::corrupt(error)),
        }
    }

    /// The bytes, in not much more memory than they need.
    fn trimmed(mut self) -> Vec<u8> {
        if self.bytes.capacity() - self.bytes.len() > self.bytes.len() / 4 {
            self.bytes.shrink_to_fit();
        }
        self.bytes
    }
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.room() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
