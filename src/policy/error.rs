use std::fmt;

/// A setting that cannot be used, found before anything starts.
///
/// Displays as `policies.transient.backoff.cap = "10ms" is below base (1s): set it to 1s or more`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting} = {value} {problem}: {remedy}")]
#[non_exhaustive]
pub struct ConfigError {
    /// The setting's full path, such as `policies.transient.backoff.cap`.
    pub setting: String,
    /// The value found; texts in quotes.
    pub value: String,
    /// What is wrong with the value, as it continues the sentence "`setting` = `value` …".
    pub problem: String,
    /// What would be right.
    pub remedy: String,
}

impl ConfigError {
    /// Describes what is wrong with `value` of `setting`. The value is shown as `Debug` prints it: texts in quotes with
    /// control characters escaped, numbers as they are.
    pub fn new(
        setting: impl Into<String>,
        value: impl fmt::Debug,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { setting: setting.into(), value: format!("{value:?}"), problem: problem.into(), remedy: remedy.into() }
    }
}
