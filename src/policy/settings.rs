use std::time::Duration;

use serde::Deserialize;

use super::backoff::{BASE, Backoff, BackoffShape, CAP, MULTIPLIER};
use super::category::Category;
use super::duration;
use super::error::ConfigError;
use super::policies::{Action, Policies, Policy};

/// [`Policies`] as a configuration file writes them; what is left out keeps its default. Durations are texts like
/// `"250ms"`, `"30s"` or `"5m"`.
///
/// ```toml
/// retry_after_cap = "1h"
/// [transient]
/// retries = 8
/// backoff = { base = "500ms", cap = "60s" }
/// [validation]
/// action = "skip"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicySettings {
    /// Changes to the policy for validation failures.
    pub validation: CategorySettings,
    /// Changes to the policy for transient failures.
    pub transient: CategorySettings,
    /// Changes to the policy for dependency failures.
    pub dependency: CategorySettings,
    /// Changes to the policy for poison.
    pub poison: CategorySettings,
    /// Changes to the policy for unclassified failures.
    pub unknown: CategorySettings,
    /// The longest wait that a handler may ask for; default 1 h.
    #[serde(deserialize_with = "duration::optional")]
    pub retry_after_cap: Option<Duration>,
}

/// Changes to one [`Policy`].
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CategorySettings {
    /// Attempts after the first one.
    pub retries: Option<u32>,
    /// Changes to the waits.
    pub backoff: BackoffSettings,
    /// `"dead_letter"`, `"skip"` or `"stop"`.
    pub action: Option<Action>,
    /// Whether an exhausted record is reported as an alert.
    pub alert: Option<bool>,
    /// Whether an exhausted record should wake someone up.
    pub page: Option<bool>,
}

/// Changes to one [`Backoff`]. A value that the kind does not use is an error.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BackoffSettings {
    /// How waits grow; default: as the category has it.
    pub kind: Option<BackoffKind>,
    /// The first wait, or each wait where the kind is fixed; default 1 s.
    #[serde(deserialize_with = "duration::optional")]
    pub base: Option<Duration>,
    /// The factor of exponential waits; default 2.
    pub multiplier: Option<f64>,
    /// The longest wait; default 300 s.
    #[serde(deserialize_with = "duration::optional")]
    pub cap: Option<Duration>,
    /// Whether waits are shortened by a random part, down to half; default yes for waits that grow.
    pub jitter: Option<bool>,
}

/// The kind of [`Backoff`] in a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackoffKind {
    /// Waits that grow by a factor.
    Exponential,
    /// Waits that grow by `base`.
    Linear,
    /// The same wait each time.
    Fixed,
    /// No wait.
    None,
}

impl PolicySettings {
    /// The settings over the default table, checked. Errors name settings as `policies.<category>.…`.
    pub fn build(&self) -> Result<Policies, ConfigError> {
        self.build_over(Policies::default())
    }

    /// The settings over `policies`, checked.
    pub fn build_over(&self, mut policies: Policies) -> Result<Policies, ConfigError> {
        for category in Category::ALL {
            let policy = policies.policy_mut(category);
            self.category(category).apply(policy, &format!("policies.{category}"))?;
        }
        if let Some(cap) = self.retry_after_cap {
            policies = policies.with_retry_after_cap(cap);
        }
        policies.check()?;
        Ok(policies)
    }

    fn category(&self, category: Category) -> &CategorySettings {
        match category {
            Category::Validation => &self.validation,
            Category::Transient => &self.transient,
            Category::Dependency => &self.dependency,
            Category::Poison => &self.poison,
            Category::Unknown => &self.unknown,
        }
    }
}

impl CategorySettings {
    fn apply(&self, policy: &mut Policy, path: &str) -> Result<(), ConfigError> {
        policy.retries = self.retries.unwrap_or(policy.retries);
        policy.action = self.action.unwrap_or(policy.action);
        policy.alert = self.alert.unwrap_or(policy.alert);
        policy.page = self.page.unwrap_or(policy.page);
        policy.backoff = self.backoff.apply(policy.backoff, &format!("{path}.backoff"))?;
        Ok(())
    }
}

impl BackoffSettings {
    /// The changes over `current`; `path` is the setting that they come from, such as `policies.transient.backoff`.
    pub(crate) fn apply(&self, current: Backoff, path: &str) -> Result<Backoff, ConfigError> {
        let (kind, base, multiplier, cap) = match current.shape() {
            BackoffShape::Exponential { base, multiplier, cap } => (BackoffKind::Exponential, base, multiplier, cap),
            BackoffShape::Linear { base, cap } => (BackoffKind::Linear, base, MULTIPLIER, cap),
            BackoffShape::Fixed(delay) if delay.is_zero() => (BackoffKind::None, BASE, MULTIPLIER, CAP),
            BackoffShape::Fixed(delay) => (BackoffKind::Fixed, delay, MULTIPLIER, CAP),
        };
        let kind = self.kind.unwrap_or(kind);
        self.refuse_unused(kind, path)?;
        let base = self.base.unwrap_or(base);
        let cap = self.cap.unwrap_or(cap);
        let built = match kind {
            BackoffKind::Exponential => Backoff::exponential(base, self.multiplier.unwrap_or(multiplier), cap),
            BackoffKind::Linear => Backoff::linear(base, cap),
            BackoffKind::Fixed => Backoff::fixed(base),
            BackoffKind::None => Backoff::none(),
        };
        let kept = if self.kind.is_some() { built.has_jitter() } else { current.has_jitter() };
        Ok(built.jitter(self.jitter.unwrap_or(kept)))
    }

    /// A value that has no effect is a misunderstanding that should not wait for the first outage to be noticed.
    fn refuse_unused(&self, kind: BackoffKind, path: &str) -> Result<(), ConfigError> {
        let unused = |field: &str, value: String| {
            Err(ConfigError::new(
                format!("{path}.{field}"),
                value,
                format!("has no effect on backoff of kind {}", format!("{kind:?}").to_lowercase()),
                format!("remove it, or set {path}.kind to a kind that uses it"),
            ))
        };
        let (uses_base, uses_multiplier, uses_cap) = match kind {
            BackoffKind::Exponential => (true, true, true),
            BackoffKind::Linear => (true, false, true),
            BackoffKind::Fixed => (true, false, false),
            BackoffKind::None => (false, false, false),
        };
        match self {
            Self { base: Some(base), .. } if !uses_base => unused("base", duration::text(*base)),
            Self { multiplier: Some(multiplier), .. } if !uses_multiplier => {
                unused("multiplier", multiplier.to_string())
            }
            Self { cap: Some(cap), .. } if !uses_cap => unused("cap", duration::text(*cap)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policies(text: &str) -> PolicySettings {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_is_left_out_keeps_its_default() {
        assert_eq!(policies("").build(), Ok(Policies::default()));
        let built = policies(
            "[transient]\nretries = 8\nbackoff = { base = \"500ms\", jitter = false }\n\
             [unknown]\nbackoff = { kind = \"linear\", base = \"2s\" }\naction = \"stop\"\n\
             [dependency]\nbackoff = { kind = \"none\" }\nalert = false\n",
        );
        let built = built.build().unwrap();
        let transient = Backoff::exponential(Duration::from_millis(500), 2.0, CAP).jitter(false);
        let expected = Policies::default()
            .with(Category::Transient, |policy| policy.retries(8).backoff(transient))
            .with(Category::Unknown, |policy| {
                policy.backoff(Backoff::linear(Duration::from_secs(2), CAP)).action(Action::Stop)
            })
            .with(Category::Dependency, |policy| policy.backoff(Backoff::none()).alert(false));
        assert_eq!(built, expected);
    }

    #[test]
    fn errors_name_setting_value_and_remedy() {
        let error = |text| policies(text).build().unwrap_err().to_string();
        assert_eq!(
            error("[transient]\nbackoff = { cap = \"10ms\" }"),
            "policies.transient.backoff.cap = \"10ms\" is below base (1s): set it to 1s or more"
        );
        assert_eq!(
            error("[dependency]\nbackoff = { multiplier = 3.0 }"),
            "policies.dependency.backoff.multiplier = \"3\" has no effect on backoff of kind linear: \
             remove it, or set policies.dependency.backoff.kind to a kind that uses it"
        );
        assert!(error("[unknown]\nretries = 1000001").starts_with("policies.unknown.retries = 1000001 "));
    }

    #[test]
    fn unknown_fields_and_bad_durations_are_refused() {
        let error = |text| toml::from_str::<PolicySettings>(text).unwrap_err().to_string();
        assert!(error("[transient]\nretires = 8").contains("unknown field `retires`"));
        assert!(error("[transient]\nbackoff = { base = \"fast\" }").contains("\"fast\" is not a duration"));
        assert!(error("[transient]\naction = \"drop\"").contains("unknown variant `drop`"));
    }
}
