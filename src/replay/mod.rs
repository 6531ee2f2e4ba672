//! Dead letters read, understood and replayed.

mod discard;
mod entry;
mod error;
mod filter;
mod fix;
mod groups;
mod letter;
mod letters;
mod listing;
pub(crate) mod marks;
mod options;
pub(crate) mod reading;
mod report;
mod stats;

pub use discard::DiscardReport;
pub use entry::{Entry, State};
pub use error::ReplayError;
pub use filter::{Filter, States};
pub use fix::{Fix, Fixed};
pub use groups::Group;
pub use letter::{Convention, DeadLetter, Fidelity, Origin};
pub use letters::{DeadLetters, Selection};
pub use listing::Listing;
pub use options::ReplayOptions;
pub use report::{Outcome, Progress, ReplayReport, Skip};
pub use stats::TopicStats;
