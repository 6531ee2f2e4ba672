//! Dead letters read, understood and replayed: what the command `bezoar dlq` does, from code.
//!
//! [`DeadLetters`] lists, groups, counts, shows, follows, replays and discards the [dead letters](DeadLetter) of some topics, whoever
//! wrote them: Bezoar, Spring Kafka, Kafka Connect and [others](Convention). What became of each is marked in a compacted topic
//! beside its own, so that nothing is replayed twice by a second run, on another machine or after an interruption.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use bezoar::broker::{ConnectionSettings, native};
//! use bezoar::policy::Category;
//! use bezoar::replay::{DeadLetters, Filter, ReplayOptions, Selection};
//!
//! let ports = native::connect(ConnectionSettings::new(["localhost:9092"])).await?.ports();
//! let letters = DeadLetters::new(ports, ["orders.dlq.validation"]);
//! for group in &letters.groups(&Filter::new()).await?.groups {
//!     println!("{} x {}: {}", group.count, group.example.letter.error_type, group.example.letter.message);
//! }
//!
//! // One of them by its place, and all of a kind that came in the last hour.
//! let one = letters.show(&"orders.dlq.validation/0/3".parse()?).await?;
//! println!("{}", one.letter.message);
//! let report = letters
//!     .replay(&Selection::Matching(Filter::new().category(Category::Validation)), &ReplayOptions::default(), |progress| {
//!         println!("{}: {:?}", progress.at, progress.outcome);
//!     })
//!     .await?;
//! println!("{} sent, {} failed, {} left", report.success, report.failed, report.skipped);
//! # Ok(())
//! # }
//! ```
//!
//! The repository's `docs/replay.md` says what a replay promises, `docs/dead-letter-formats.md` what is read.

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
mod kept;
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
