//! From a failure to its [`Category`](crate::policy::Category).
//!
//! In two steps. [`Evidence`] is gathered where the failure happened, under the guard that user code runs under, since
//! reading an error runs users' `Display`, `source` and classifier. [`Rules::classify`] then decides on plain data.
//!
//! The order: what the handler stated, then the user's [classifier](UserClassifier), then the [`Rules`], and `unknown`
//! where nothing fits. Panics, timeouts, stalls and crashes are always poison.

mod actor;
mod evidence;
mod facts;
mod message;
mod patterns;
mod publishing;
mod registry;
mod rules;
#[cfg(test)]
mod rules_tests;
mod settings;
mod user;

pub(crate) use actor::ClassifierActor;
pub use evidence::{Evidence, FailureKind};
pub use facts::Fact;
pub(crate) use message::{ClassifierMessage, PublishVerdict, Verdict};
pub use registry::ErrorTypes;
pub use rules::Rules;
pub use settings::{RuleSetting, RuleSettings};
pub use user::{FailureInfo, UserClassifier};
