//! Dead letters read, understood and replayed.

mod discard;
mod duplicates;
mod each;
mod entry;
mod error;
mod facts;
mod filter;
#[cfg(test)]
mod filter_tests;
mod fix;
mod follow;
mod groups;
mod letter;
mod letters;
mod listing;
mod marks;
mod options;
pub(crate) mod reading;
mod report;
mod scan;
mod show;
mod sight;
mod stats;
mod wrapped;

pub use discard::DiscardReport;
pub use each::Scanned;
pub use entry::{Entry, State};
pub use error::ReplayError;
pub use filter::{Filter, States};
pub use fix::{Fix, Fixed};
pub use follow::Follow;
pub use groups::{Group, Groups};
pub use letter::{Convention, DeadLetter, Fidelity, Origin};
pub use letters::{DeadLetters, Selection};
pub use listing::Listing;
pub use options::ReplayOptions;
pub use report::{Outcome, Progress, ReplayReport, Skip};
pub use stats::TopicStats;
