//! Dead letters read, understood and replayed.

#[cfg(test)]
mod collect_tests;
mod convention;
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
pub(crate) mod marks;
mod newest;
mod options;
pub(crate) mod reader;
pub(crate) mod reading;
mod report;
pub(crate) mod run;
mod scan;
mod show;
mod sight;
mod stats;

pub use convention::{Convention, UnknownConvention};
pub use discard::DiscardReport;
pub use each::Scanned;
pub use entry::{Entry, State};
pub use error::ReplayError;
pub use filter::{Filter, States};
pub use fix::{Fix, Fixed};
pub use follow::Follow;
pub use groups::{Group, Groups};
pub use letter::{DeadLetter, Fidelity, Origin};
pub use letters::{DeadLetters, Selection};
pub use listing::Listing;
pub use options::{ReplayOptions, ReplayTimestamp};
pub use report::{Outcome, Progress, ReplayReport, Skip, SkipCounts};
pub use stats::TopicStats;
