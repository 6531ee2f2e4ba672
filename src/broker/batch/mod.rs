//! Record batches of magic 2 as raw bytes: checked, read without loss, and written.

mod header;
mod records;
mod varint;
mod writer;

pub(crate) use header::{BatchError, BatchHeader};
pub use records::StoredRecord;
pub(crate) use records::raw_records;
pub use writer::BatchWriter;
