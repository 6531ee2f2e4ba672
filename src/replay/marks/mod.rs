//! Replay marks: what became of each dead letter, in the compacted topic `<dead-letter topic>.replays`.
//!
//! A mark's key is the dead letter's own place, `topic/partition/offset`; its value a JSON object ([`Mark`]). The order of the
//! marks in the topic decides between runs: see `Index::apply`. `docs/replay.md` tells users about it.

mod bits;
mod index;
mod log;
mod mark;
mod place;
mod takeover;
mod topic;

pub(crate) use index::{Effect, Index, Known};
pub(crate) use log::{FEED_BYTES, Marks, Origins, Resolved};
pub(crate) use mark::{Lineage, Mark, Outcome, RunId};
pub(crate) use place::{Place, parse_record};
pub(crate) use topic::{SUFFIX, ensure, marks_topic};
