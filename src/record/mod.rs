//! Records as they cross the broker ports: batches that borrow from one shared buffer, and records to be produced.
//!
//! A [`RecordBatch`] keeps one reference-counted buffer; a [`Record`] is a cheap view of one entry in it. Nothing is
//! copied, reordered or dropped: keys and values tell null from empty, headers keep order, duplicates and nulls.

mod batch;
mod builder;
mod headers;
mod position;
mod produced;
mod span;
mod trace;
mod trace_state;
pub(crate) mod varint;

pub use batch::{Record, RecordBatch};
pub use builder::RecordBatchBuilder;
pub(crate) use headers::encode_headers;
pub use headers::{Header, HeaderRef, Headers, HeadersIter};
pub use position::{NotAPlace, RecordId, TopicPartition};
pub use produced::ProducerRecord;
pub(crate) use span::{LARGEST_BUFFER, Slice, Span};
pub use trace::{SpanId, TraceContext, TraceId};
