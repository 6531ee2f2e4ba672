use std::fmt;
use std::time::Duration;

use super::facts::Fact;
use super::registry::ErrorTypes;
use crate::dead_letter::backtrace::render_failure;
use crate::handler::Failure;
use crate::handler::chain::{Chain, errors};
use crate::policy::Category;

/// How a delivery failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The decoder returned an error.
    Decode,
    /// The handler returned an error.
    Handler,
    /// Decoding or handling awaited longer than the poison timeout.
    Timeout,
    /// Decoding or handling panicked.
    Panic,
    /// Decoding or handling blocked its thread longer than the stall limit.
    Stall,
    /// The process died while the record was in flight.
    Crash,
    /// The record batch could not be read: no delivery was tried.
    Corrupt,
}

impl FailureKind {
    /// The name in lower case; also the reported error type of the kinds that have no error.
    pub const fn as_str(self) -> &'static str {
        match self {
            FailureKind::Decode => "decode",
            FailureKind::Handler => "handler",
            FailureKind::Timeout => "timeout",
            FailureKind::Panic => "panic",
            FailureKind::Stall => "stall",
            FailureKind::Crash => "crash",
            FailureKind::Corrupt => "corrupt",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What is known about a failed delivery, as plain data: gathered where it failed, judged elsewhere.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// How the delivery failed.
    pub kind: FailureKind,
    /// The category that the handler stated.
    pub stated: Option<Category>,
    /// What the user's classifier said, where it was asked and answered.
    pub user: Option<Category>,
    /// The dependency that the handler named.
    pub dependency: Option<String>,
    /// The wait that the handler asked for.
    pub retry_after: Option<Duration>,
    /// The error type to report: the name of the first registered type in the chain, else the outermost error's.
    pub error_type: String,
    /// Names of all types in the chain that are known by name: the outermost error's, and registered ones.
    pub type_names: Vec<String>,
    /// The whole chain in one line of text: "outer: cause: cause".
    pub message: String,
    /// What the built-in rules know about the types in the chain, outermost first.
    pub facts: Vec<Fact>,
    /// For errors the chain, one cause per line, and the backtrace captured where the failure was made, if enabled. For
    /// panics the thread, the place and the stack.
    pub backtrace: Option<String>,
    /// Where it panicked, as `file:line:column`.
    pub location: Option<String>,
}

impl Evidence {
    /// Gathers what a failure says. Runs users' code (`Display`, `source`): call it under the panic guard. Text is cut
    /// at 64 KiB, chains after 64 causes.
    pub fn from_failure(kind: FailureKind, failure: &Failure, types: &ErrorTypes) -> Self {
        let chain = Chain::of(failure);
        let registered = || errors(failure.error()).filter_map(|error| types.name_of(error));
        let outer = failure.type_name();
        let error_type = failure.named_type().or_else(|| registered().next()).unwrap_or(outer).to_owned();
        let mut backtrace = chain.lines;
        if let Some(captured) = failure.backtrace() {
            backtrace.push_str(&format!("\n{}", render_failure(captured)));
        }
        Self {
            stated: failure.stated_category(),
            dependency: failure.dependency_name().map(Into::into),
            retry_after: failure.asked_delay(),
            type_names: std::iter::once(outer).chain(registered()).map(Into::into).collect(),
            facts: errors(failure.error()).filter_map(Fact::of).collect(),
            backtrace: Some(backtrace),
            ..Self::bare(kind, error_type, chain.message)
        }
    }

    /// Decoding or handling awaited longer than `limit`.
    pub fn timeout(limit: Duration) -> Self {
        Self::untyped(FailureKind::Timeout, format!("processing timed out after {limit:?}"))
    }

    /// Decoding or handling panicked with `message` at `location` (`file:line:column`) on the thread so named.
    pub fn panic(message: &str, location: Option<String>, thread: Option<&str>, backtrace: Option<&str>) -> Self {
        let place = location.as_deref().unwrap_or("an unknown place");
        let thread = thread.unwrap_or("<unnamed>");
        let stack = backtrace.map(|stack| format!("\n{stack}")).unwrap_or_default();
        Self {
            backtrace: Some(format!("thread '{thread}' panicked at {place}:\n{message}{stack}")),
            location: location.clone(),
            ..Self::untyped(FailureKind::Panic, format!("panicked at {place}: {message}"))
        }
    }

    /// Decoding or handling blocked its thread for longer than `limit`.
    pub fn stall(limit: Duration) -> Self {
        Self::untyped(FailureKind::Stall, format!("processing blocked its thread for longer than {limit:?}"))
    }

    /// The process died `deaths` times with the record in flight.
    pub fn crash(deaths: u32) -> Self {
        let times = if deaths == 1 { "once".into() } else { format!("{deaths} times") };
        Self::untyped(FailureKind::Crash, format!("the process died {times} while processing it"))
    }

    /// The offsets from `from` up to `to` (exclusive) cannot be read, for this reason.
    pub fn corrupt((from, to): (i64, i64), reason: &str) -> Self {
        let last = to.saturating_sub(1).max(from);
        Self::untyped(FailureKind::Corrupt, format!("offsets {from} to {last} cannot be read: {reason}"))
    }

    fn untyped(kind: FailureKind, message: String) -> Self {
        Self::bare(kind, kind.as_str().into(), message)
    }

    fn bare(kind: FailureKind, error_type: String, message: String) -> Self {
        Self {
            kind,
            stated: None,
            user: None,
            dependency: None,
            retry_after: None,
            error_type,
            type_names: Vec::new(),
            message,
            facts: Vec::new(),
            backtrace: None,
            location: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("reading\nthe order")]
    struct Outer(#[source] Box<dyn Error + Send + Sync>);

    fn of(failure: Failure, types: &ErrorTypes) -> Evidence {
        Evidence::from_failure(FailureKind::Handler, &failure, types)
    }

    fn json() -> serde_json::Error {
        serde_json::from_str::<u32>("x").unwrap_err()
    }

    #[test]
    fn the_error_type_is_a_registered_one_or_the_outermost() {
        let types = ErrorTypes::default();
        assert_eq!(of(json().into(), &types).error_type, "serde_json::Error");
        assert_eq!(of(Outer(json().into()).into(), &types).error_type, "serde_json::Error");
        assert_eq!(of(io::Error::other(Outer(json().into())).into(), &types).error_type, "serde_json::Error");
        assert!(of(Outer("x".into()).into(), &types).error_type.ends_with("::Outer"));
        assert_eq!(of(Failure::new("x"), &types).error_type, "Failure");
        assert_eq!(of(Failure::new(Outer(json().into())).error_type("Order"), &types).error_type, "Order");
        let own = ErrorTypes::empty().register::<Outer>("Old").register::<Outer>("Reading");
        let evidence = of(Outer(json().into()).into(), &own);
        assert_eq!(evidence.error_type, "Reading");
        assert!(evidence.type_names.contains(&"Reading".to_owned()));
    }

    #[test]
    fn what_the_handler_said_is_carried() {
        let failure = Failure::dependency("inventory").caused_by(json()).retry_after(Duration::from_secs(2));
        let evidence = of(failure, &ErrorTypes::default());
        assert_eq!(evidence.stated, Some(Category::Dependency));
        assert_eq!(evidence.dependency.as_deref(), Some("inventory"));
        assert_eq!(evidence.retry_after, Some(Duration::from_secs(2)));
        assert_eq!(evidence.message, format!("dependency inventory failed: {}", json()));
        assert_eq!(evidence.facts, [Fact::Json]);
    }

    #[test]
    fn the_backtrace_holds_one_cause_per_line() {
        let evidence = of(Outer(json().into()).into(), &ErrorTypes::default());
        assert_eq!(evidence.message, format!("reading\nthe order: {}", json()));
        let backtrace = evidence.backtrace.unwrap();
        let lines: Vec<&str> = backtrace.lines().take(2).collect();
        assert_eq!(lines, ["reading the order", &format!("caused by: {}", json())]);
    }

    #[test]
    fn a_panic_names_thread_and_place() {
        let panic = Evidence::panic("boom", Some("src/a.rs:1:2".into()), Some("lane-0"), Some("0: f"));
        assert_eq!(panic.backtrace.as_deref(), Some("thread 'lane-0' panicked at src/a.rs:1:2:\nboom\n0: f"));
        assert_eq!(panic.location.as_deref(), Some("src/a.rs:1:2"));
        assert_eq!(Evidence::panic("boom", None, None, None).message, "panicked at an unknown place: boom");
    }
}
