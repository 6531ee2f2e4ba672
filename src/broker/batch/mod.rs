//! Record batches of magic 2 as raw bytes: checked, read without loss, and written.
//!
//! [`decode`] turns what a broker answered to a fetch into [`RecordBatch`](crate::record::RecordBatch)es; [`scan`] only says
//! where the next fetch begins. [`encode`] and [`stamp`] make the batches that a producer sends.

mod aborted;
mod codec;
mod damage;
mod decode;
mod encode;
mod fields;
mod header;
#[cfg(feature = "testing")]
mod probe;
#[cfg(feature = "embedded")]
mod records;
mod run;
mod scan;
#[cfg(feature = "embedded")]
mod stored;
#[cfg(test)]
mod tests;
mod walk;
#[cfg(feature = "embedded")]
mod writer;

pub(crate) use aborted::AbortedTransaction;
pub use codec::Compression;
pub(crate) use damage::{Damage, DamageKind};
pub(crate) use decode::{Decoding, decode};
pub(crate) use encode::{NOBODY, encode, size_bound, stamp};
#[cfg(feature = "embedded")]
pub(crate) use header::{BatchError, BatchHeader};
#[cfg(feature = "testing")]
pub use probe::decode_answer;
#[cfg(feature = "embedded")]
pub use records::StoredRecord;
#[cfg(feature = "embedded")]
pub(crate) use records::raw_records;
pub(crate) use run::Share;
pub(crate) use scan::scan;
#[cfg(feature = "embedded")]
pub use writer::BatchWriter;
