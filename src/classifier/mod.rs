//! From a failure to its [`Category`](crate::policy::Category).
//!
//! In two steps. [`Evidence`] is gathered where the failure happened, under the guard that user code runs under, since
//! reading an error runs users' `Display`, `source` and classifier. [`Rules::classify`] then decides on plain data.
//!
//! The order: what the handler stated, then the user's [classifier](UserClassifier), then the [`Rules`], and `unknown`
//! where nothing fits. Panics, timeouts, stalls and crashes are always poison.

mod evidence;
mod facts;
mod patterns;
mod registry;
mod rules;
mod settings;
mod user;

pub use evidence::{Evidence, FailureKind};
pub use facts::Fact;
pub use registry::ErrorTypes;
pub use rules::Rules;
pub use settings::{RuleSetting, RuleSettings};
pub use user::{FailureInfo, UserClassifier};
