use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::backoff::{BASE, Backoff, CAP, MULTIPLIER};
use super::category::Category;
use super::duration;
use super::error::ConfigError;

/// What happens to a record whose retries are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is published to its dead-letter topic, and the partition goes on.
    #[default]
    DeadLetter,
    /// It is counted, logged and passed over: the one way in which a record can be lost.
    Skip,
    /// The consumer stops cleanly with an error, the record unsettled.
    Stop,
}

/// The most retries that a policy may have.
pub const RETRIES_LIMIT: u32 = 1_000_000;

/// What a failure of one category gets.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Policy {
    /// Attempts after the first one; at most [`RETRIES_LIMIT`].
    pub retries: u32,
    /// The wait before each retry.
    pub backoff: Backoff,
    /// What happens when the retries are used up.
    pub action: Action,
    /// Whether that is reported as an alert.
    pub alert: bool,
    /// Whether that should wake someone up.
    pub page: bool,
}

impl Policy {
    const fn new(retries: u32, backoff: Backoff, alert: bool, page: bool) -> Self {
        Self { retries, backoff, action: Action::DeadLetter, alert, page }
    }

    /// Sets the number of attempts after the first one.
    pub const fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets the waits.
    pub const fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets what happens when the retries are used up.
    pub const fn action(mut self, action: Action) -> Self {
        self.action = action;
        self
    }

    /// Sets whether an exhausted record is reported as an alert.
    pub const fn alert(mut self, alert: bool) -> Self {
        self.alert = alert;
        self
    }

    /// Sets whether an exhausted record should wake someone up.
    pub const fn page(mut self, page: bool) -> Self {
        self.page = page;
        self
    }
}

/// What to do after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Deliver the same record again after a wait.
    Retry {
        /// The wait.
        after: Duration,
    },
    /// No attempt is left.
    Exhausted(Action),
}

/// The policy of each category. The default is the table in the [module's documentation](super).
#[derive(Debug, Clone, PartialEq)]
pub struct Policies {
    validation: Policy,
    transient: Policy,
    dependency: Policy,
    poison: Policy,
    unknown: Policy,
    retry_after_cap: Duration,
}

impl Default for Policies {
    fn default() -> Self {
        let exponential = Backoff::exponential(BASE, MULTIPLIER, CAP);
        Self {
            validation: Policy::new(0, exponential, false, false),
            transient: Policy::new(5, exponential, true, false),
            dependency: Policy::new(10, Backoff::linear(BASE, CAP), true, false),
            poison: Policy::new(0, exponential, true, true),
            unknown: Policy::new(3, exponential, true, false),
            retry_after_cap: Duration::from_secs(3600),
        }
    }
}

impl Policies {
    /// The policy of `category`.
    pub const fn policy(&self, category: Category) -> &Policy {
        match category {
            Category::Validation => &self.validation,
            Category::Transient => &self.transient,
            Category::Dependency => &self.dependency,
            Category::Poison => &self.poison,
            Category::Unknown => &self.unknown,
        }
    }

    /// The policy of `category`, to be changed.
    pub const fn policy_mut(&mut self, category: Category) -> &mut Policy {
        match category {
            Category::Validation => &mut self.validation,
            Category::Transient => &mut self.transient,
            Category::Dependency => &mut self.dependency,
            Category::Poison => &mut self.poison,
            Category::Unknown => &mut self.unknown,
        }
    }

    /// Changes the policy of `category`.
    pub fn with(mut self, category: Category, change: impl FnOnce(Policy) -> Policy) -> Self {
        let policy = self.policy_mut(category);
        *policy = change(*policy);
        self
    }

    /// Changes all five policies; for waits short enough for a demonstration or a test, say.
    pub fn with_each(mut self, mut change: impl FnMut(Category, Policy) -> Policy) -> Self {
        for category in Category::ALL {
            let policy = self.policy_mut(category);
            *policy = change(category, *policy);
        }
        self
    }

    /// The longest wait that a handler may ask for with `Failure::retry_after`; what it asks beyond is cut to this.
    /// Default 1 h, so that no record holds its partition for ever.
    pub const fn retry_after_cap(&self) -> Duration {
        self.retry_after_cap
    }

    /// Sets [`retry_after_cap`](Self::retry_after_cap).
    pub const fn with_retry_after_cap(mut self, cap: Duration) -> Self {
        self.retry_after_cap = cap;
        self
    }

    /// Decides after attempt number `attempt` (1-based) failed. A `retry_after` that the handler asked for takes the
    /// place of the backoff and counts against the category's retries like any other. `random` lies in 0..=1.
    pub fn decide(&self, category: Category, attempt: u32, retry_after: Option<Duration>, random: f64) -> Decision {
        let policy = self.policy(category);
        let attempt = attempt.max(1);
        if attempt > policy.retries {
            return Decision::Exhausted(policy.action);
        }
        let after = match retry_after {
            Some(asked) => asked.min(self.retry_after_cap),
            None => policy.backoff.delay(attempt, random),
        };
        Decision::Retry { after }
    }

    /// Checks all values; errors name settings as `policies.<category>.…`.
    pub fn check(&self) -> Result<(), ConfigError> {
        for category in Category::ALL {
            let policy = self.policy(category);
            if policy.retries > RETRIES_LIMIT {
                return Err(ConfigError::new(
                    format!("policies.{category}.retries"),
                    policy.retries,
                    "would hold the partition as good as for ever",
                    format!("set it to {RETRIES_LIMIT} or less"),
                ));
            }
            policy.backoff.check(&format!("policies.{category}.backoff"))?;
        }
        if self.retry_after_cap.is_zero() {
            return Err(ConfigError::new(
                "policies.retry_after_cap",
                duration::text(self.retry_after_cap),
                "would ignore what handlers ask for",
                "set it above zero, such as 1h",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_default_table() {
        let policies = Policies::default();
        let rows: Vec<_> = Category::ALL
            .into_iter()
            .map(|category| policies.policy(category))
            .map(|policy| (policy.retries, policy.alert, policy.page, policy.action))
            .collect();
        assert_eq!(
            rows,
            [
                (0, false, false, Action::DeadLetter),
                (5, true, false, Action::DeadLetter),
                (10, true, false, Action::DeadLetter),
                (0, true, true, Action::DeadLetter),
                (3, true, false, Action::DeadLetter),
            ]
        );
        assert_eq!(policies.policy(Category::Transient).backoff, Backoff::exponential(BASE, 2.0, CAP));
        assert_eq!(policies.policy(Category::Dependency).backoff, Backoff::linear(BASE, CAP));
        assert_eq!(policies.policy(Category::Unknown).backoff, Backoff::exponential(BASE, 2.0, CAP));
        assert_eq!(policies.check(), Ok(()));
    }

    #[test]
    fn retry_after_counts_against_the_retries_and_is_bounded() {
        let policies = Policies::default();
        let asked = Some(Duration::from_secs(7));
        assert_eq!(policies.decide(Category::Transient, 5, asked, 1.0), Decision::Retry { after: asked.unwrap() });
        assert_eq!(policies.decide(Category::Transient, 6, asked, 1.0), Decision::Exhausted(Action::DeadLetter));
        assert_eq!(policies.decide(Category::Validation, 1, asked, 1.0), Decision::Exhausted(Action::DeadLetter));
        assert_eq!(
            policies.decide(Category::Unknown, 1, Some(Duration::MAX), 0.0),
            Decision::Retry { after: policies.retry_after_cap() }
        );
    }

    #[test]
    fn a_bad_table_names_setting_value_and_remedy() {
        let error = |policies: Policies| policies.check().unwrap_err().to_string();
        let backoff =
            |backoff: Backoff| Policies::default().with(Category::Transient, |policy| policy.backoff(backoff));
        let (ms, s) = (Duration::from_millis(10), Duration::from_secs(1));
        assert_eq!(
            error(backoff(Backoff::exponential(s, 2.0, ms))),
            "policies.transient.backoff.cap = \"10ms\" is below base (1s): set it to 1s or more"
        );
        assert_eq!(
            error(backoff(Backoff::exponential(s, f64::NAN, s))),
            "policies.transient.backoff.multiplier = NaN would make waits shrink or is no number: \
             set it to 1 or more, such as 2"
        );
        assert!(
            error(backoff(Backoff::linear(Duration::ZERO, s))).starts_with("policies.transient.backoff.base = \"0ns\"")
        );
        assert!(
            error(Policies::default().with(Category::Poison, |policy| policy.retries(2_000_000)))
                .starts_with("policies.poison.retries = 2000000")
        );
        assert!(
            error(Policies::default().with_retry_after_cap(Duration::ZERO)).starts_with("policies.retry_after_cap")
        );
        assert_eq!(backoff(Backoff::none()).check(), Ok(()));
    }

    proptest! {
        #[test]
        fn every_category_ends_after_its_retries(index in 0..5usize, attempt in any::<u32>(), random in 0.0..=1.0f64, asked in prop::option::of(any::<u64>())) {
            let policies = Policies::default();
            let category = Category::ALL[index];
            let decision = policies.decide(category, attempt, asked.map(Duration::from_nanos), random);
            let exhausted = matches!(decision, Decision::Exhausted(_));
            prop_assert_eq!(exhausted, attempt.max(1) > policies.policy(category).retries);
        }
    }
}
