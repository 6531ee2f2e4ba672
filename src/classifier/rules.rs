use std::borrow::Cow;
use std::io::ErrorKind;

use super::evidence::{Evidence, FailureKind};
use super::facts::Fact;
use super::patterns::{Pattern, without_quoted};
use crate::policy::{Category, ConfigError};

/// Texts that mean poison, whatever types the chain holds.
const POISON: [&str; 4] = ["out of memory", "recursion", "stack overflow", "segmentation fault"];
/// Texts that mean that a service is unavailable or overloaded.
const UNAVAILABLE: [&str; 4] = ["503", "429", "rate limit", "service unavailable"];
/// Texts that mean something passing.
const TRANSIENT: [&str; 5] = ["timeout", "504", "temporarily unavailable", "try again", "connection refused"];
/// How serde_json says that it stopped before anything overflowed. The position is part of it, so that other messages
/// about recursion stay poison. No longer than 32 bytes, which `contains` looks for several times as fast.
const JSON_RECURSION: &str = "recursion limit exceeded at line";

/// The rules for failures about which neither the handler nor the user's classifier said anything.
///
/// Own rules come first, in the order in which they were added. Then the built-in ones, over the whole chain of errors:
/// 1. poison by type (`TryReserveError`, an `io::Error` of kind `OutOfMemory`) or by text ("out of memory", "recursion",
///    "stack overflow", "segmentation fault"); serde_json's "recursion limit exceeded" is validation, since nothing
///    overflowed;
/// 2. other types, the innermost first, as it is the cause: `serde_json::Error`, UTF-8 and parse errors are validation;
///    tokio's `Elapsed` and an `io::Error` that says timed out, refused, reset, aborted, broken pipe, not connected,
///    unreachable or unexpected end are transient;
/// 3. a decode error is validation;
/// 4. text, in any case, numbers as whole words: 503, 429, "rate limit", "service unavailable" are dependency;
///    "timeout", 504, "temporarily unavailable", "try again", "connection refused" are transient. Dependency comes
///    first: "rate limit reached, try again in 20 s" speaks of a service.
///
/// In a decode error an unexpected end means bytes that are too short: validation. The other transient types keep their
/// meaning there (a decoder that asks a schema registry), while texts in quotes are left out of sight and own rules by
/// text are not asked: such messages quote the record.
///
/// ```
/// use bezoar::classifier::Rules;
/// use bezoar::policy::Category;
///
/// let rules = Rules::default()
///     .unavailable_as(Category::Transient) // 503, 429, rate limit
///     .rule("deadlock detected", Category::Transient)
///     .type_rule("orders::OutOfStock", Category::Validation);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    own: Vec<(Matcher, Category)>,
    poison: Vec<Pattern>,
    unavailable: Vec<Pattern>,
    unavailable_as: Category,
    transient: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Matcher {
    Text(Pattern),
    Type(String),
}

impl Default for Rules {
    fn default() -> Self {
        let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(text)).collect();
        Self {
            own: Vec::new(),
            poison: patterns(&POISON),
            unavailable: patterns(&UNAVAILABLE),
            unavailable_as: Category::Dependency,
            transient: patterns(&TRANSIENT),
        }
    }
}

impl Rules {
    /// Adds a rule by text: looked for in the whole message in any case; where it begins or ends with a digit, as a whole
    /// number only.
    pub fn rule(mut self, text: &str, category: Category) -> Self {
        self.own.push((Matcher::Text(Pattern::new(text)), category));
        self
    }

    /// Adds a rule by type: the outermost error's name as reported, or a name registered in
    /// [`ErrorTypes`](super::ErrorTypes) for any error of the chain.
    pub fn type_rule(mut self, name: impl Into<String>, category: Category) -> Self {
        self.own.push((Matcher::Type(name.into()), category));
        self
    }

    /// Sets what 503, 429, "rate limit" and "service unavailable" are; default [`Category::Dependency`].
    pub fn unavailable_as(mut self, category: Category) -> Self {
        self.unavailable_as = category;
        self
    }

    /// Checks the added rules; errors name them as `classifier.rules[<index>]`, in the order of adding.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (index, (matcher, _)) in self.own.iter().enumerate() {
            let (text, what) = match matcher {
                Matcher::Text(pattern) => (pattern.as_str(), "text"),
                Matcher::Type(name) => (name.as_str(), "type"),
            };
            if text.trim().is_empty() {
                return Err(ConfigError::new(
                    format!("classifier.rules[{index}].{what}"),
                    text,
                    "says nothing to look for",
                    format!("set it to the {what} that the rule is about, or remove the rule"),
                ));
            }
        }
        Ok(())
    }

    /// The category of a failure: as stated, else as the user's classifier said, else by the rules. Panics, timeouts,
    /// stalls and crashes are poison whatever else is said.
    pub fn classify(&self, evidence: &Evidence) -> Category {
        let decode = match evidence.kind {
            FailureKind::Decode => true,
            FailureKind::Handler => false,
            FailureKind::Timeout
            | FailureKind::Panic
            | FailureKind::Stall
            | FailureKind::Crash
            | FailureKind::Corrupt => {
                return Category::Poison;
            }
        };
        if let Some(category) = evidence.stated.or(evidence.user) {
            return category;
        }
        let mut text = evidence.message.to_lowercase();
        if decode && text.contains('"') {
            text = without_quoted(&text);
        }
        self.own_rule(evidence, &text)
            .or_else(|| self.poison(evidence, &text))
            .or_else(|| evidence.facts.iter().rev().find_map(|fact| by_type(*fact, decode)))
            .or_else(|| decode.then_some(Category::Validation))
            .or_else(|| self.by_text(&text))
            .unwrap_or(Category::Unknown)
    }

    fn own_rule(&self, evidence: &Evidence, text: &str) -> Option<Category> {
        let applies = |matcher: &Matcher| match matcher {
            Matcher::Text(pattern) => evidence.kind != FailureKind::Decode && pattern.matches(text),
            Matcher::Type(name) => evidence.error_type == *name || evidence.type_names.contains(name),
        };
        self.own.iter().find(|(matcher, _)| applies(matcher)).map(|(_, category)| *category)
    }

    fn poison(&self, evidence: &Evidence, text: &str) -> Option<Category> {
        if evidence.facts.iter().any(|fact| matches!(fact, Fact::Allocation | Fact::Io(ErrorKind::OutOfMemory))) {
            return Some(Category::Poison);
        }
        let json_recursion = text.contains(JSON_RECURSION);
        let text = if json_recursion { Cow::Owned(text.replace(JSON_RECURSION, "")) } else { Cow::Borrowed(text) };
        if self.poison.iter().any(|pattern| pattern.matches(&text)) {
            return Some(Category::Poison);
        }
        json_recursion.then_some(Category::Validation)
    }

    fn by_text(&self, text: &str) -> Option<Category> {
        let found = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(text));
        if found(&self.unavailable) {
            Some(self.unavailable_as)
        } else {
            found(&self.transient).then_some(Category::Transient)
        }
    }
}

fn by_type(fact: Fact, decode: bool) -> Option<Category> {
    match fact {
        Fact::Json | Fact::Utf8 | Fact::Parse => Some(Category::Validation),
        Fact::Elapsed => Some(Category::Transient),
        // Bytes that end too soon, read through a cursor, not a connection that was cut.
        Fact::Io(ErrorKind::UnexpectedEof) if decode => Some(Category::Validation),
        Fact::Io(
            ErrorKind::TimedOut
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::NotConnected
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::UnexpectedEof,
        ) => Some(Category::Transient),
        Fact::Io(_) | Fact::Allocation => None,
    }
}
