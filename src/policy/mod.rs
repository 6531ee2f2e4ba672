//! What a failed record gets: retries, waits, an end, and the dead-letter topic it goes to.
//!
//! Everything here is plain data and pure functions. [`Policies`] is the table with a [`Policy`] per [`Category`];
//! [`Policies::decide`] says what happens after a failed attempt; [`DeadLetterTopics`] names the topics.
//!
//! | category | retries | backoff | alert | page |
//! |---|---|---|---|---|
//! | validation | 0 | – | no | no |
//! | transient | 5 | exponential: 1 s, doubled, at most 300 s | yes | no |
//! | dependency | 10 | linear: 1 s × attempt, at most 300 s | yes | no |
//! | poison | 0 | – | yes | yes |
//! | unknown | 3 | exponential: 1 s, doubled, at most 300 s | yes | no |
//!
//! ```
//! use std::time::Duration;
//! use bezoar::policy::{Action, Backoff, Category, Decision, Policies};
//!
//! let policies = Policies::default()
//!     .with(Category::Transient, |policy| policy.backoff(Backoff::fixed(Duration::from_millis(50))).retries(2))
//!     .with(Category::Validation, |policy| policy.action(Action::Skip));
//! let random = 0.5;
//! assert_eq!(
//!     policies.decide(Category::Transient, 2, None, random),
//!     Decision::Retry { after: Duration::from_millis(50) }
//! );
//! assert_eq!(policies.decide(Category::Transient, 3, None, random), Decision::Exhausted(Action::DeadLetter));
//! assert_eq!(policies.decide(Category::Validation, 1, None, random), Decision::Exhausted(Action::Skip));
//! ```

mod backoff;
mod category;
pub(crate) mod duration;
mod error;
mod policies;
mod settings;
mod topic_settings;
mod topics;

pub use backoff::{Backoff, BackoffShape};
pub use category::{Category, UnknownCategory};
pub use error::ConfigError;
pub use policies::{Action, Decision, Policies, Policy, RETRIES_LIMIT};
pub use settings::{BackoffKind, BackoffSettings, CategorySettings, PolicySettings};
pub use topic_settings::{TopicPreset, TopicSettings};
pub use topics::{DeadLetterTopics, valid_topic_name};
